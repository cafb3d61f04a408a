"""What people use: PyTorch's implementations of the same work, each pinned by name, and the reference.

Attention's tensors have the shape (heads, N, d).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

Tensors = dict[str, torch.Tensor]
Function = Callable[..., torch.Tensor]
Run = Callable[[], Any]
EAGER, COMPILED = "torch eager", "torch.compile"
SDPA = {"SDPA flash": SDPBackend.FLASH_ATTENTION, "SDPA cuDNN": SDPBackend.CUDNN_ATTENTION}


@dataclass(frozen=True)
class Work:
    """What a puzzle's kernels compute, done by others."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    functions: Mapping[str, Function]  # by name: what is timed, the reference first; COMPILED is not yet compiled
    exact: int  # so many rows or heads, the first, are compared with a reference
    alone: frozenset[str] = frozenset()  # all scores at once: by far not as fast, and too large for two at a time
    backward: bool = False  # of causal attention
    whole: frozenset[str] = frozenset()  # inputs of which every row or head of the output needs all

    def run(self, function: Function, t: Tensors) -> Run:
        """What calls a function with some tensors, or its gradient."""
        inputs = [t[name].detach() for name in self.inputs]
        if not self.backward:
            return lambda: function(*inputs)
        inputs = [x.clone().requires_grad_() for x in inputs]
        o = function(*inputs)
        return lambda: torch.autograd.grad(o, inputs, t["do_ptr"], retain_graph=True)

    def complete(self, t: Tensors) -> None:
        """Make O and LSE, which the backward pass starts from."""
        if self.backward:
            with torch.no_grad(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                o, lse, *_ = torch.ops.aten._scaled_dot_product_flash_attention(
                    *(t[name][None] for name in self.inputs), 0.0, True
                )
            t["o_ptr"], t["lse_ptr"] = o[0].contiguous(), lse[0].contiguous()

    def reference(self, t: Tensors) -> Tensors:
        """Right values of the first rows or heads, in fp32; one after the other, or there may not be memory."""
        right, *_ = self.functions.values()
        cut = {name: t[name] if name in self.whole else t[name][: self.exact] for name in self.inputs}
        inputs = [x.detach().float().requires_grad_() for x in cut.values()]
        count = min(len(x) for name, x in cut.items() if name not in self.whole)
        parts = [[x] * count if name in self.whole else torch.split(x, 1) for name, x in zip(cut, inputs, strict=True)]
        o = torch.cat([right(*one) for one in zip(*parts, strict=True)])
        if not self.backward:
            return {self.outputs[0]: o.detach()}
        gradients = torch.autograd.grad(o, inputs, t["do_ptr"][: self.exact].float())
        return dict(zip(self.outputs, gradients, strict=True))


def _materialised(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """Attention as it is written on the board: all scores at once."""
    s = q @ k.transpose(1, 2) * q.shape[-1] ** -0.5
    if causal:
        n = s.shape[-1]
        s = s.masked_fill(torch.ones(n, n, dtype=torch.bool, device=s.device).triu(1), -float("inf"))
    return torch.softmax(s, dim=-1) @ v


def _sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, backend: SDPBackend) -> torch.Tensor:
    with sdpa_kernel(backend):
        return F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal)[0]


def _attention(*outputs: str, causal: bool, backward: bool = False) -> Work:
    functions = dict.fromkeys((EAGER, COMPILED), partial(_materialised, causal=causal))
    functions |= {name: partial(_sdpa, causal=causal, backend=backend) for name, backend in SDPA.items()}
    return Work(("q_ptr", "k_ptr", "v_ptr"), outputs, functions, 2, frozenset((EAGER, COMPILED)), backward)


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.matmul(a, b.T)


WORKS: Mapping[str, Work] = {
    "softmax": Work(("x_ptr",), ("y_ptr",), dict.fromkeys((EAGER, COMPILED), partial(torch.softmax, dim=1)), exact=64),
    "product of matrices": Work(
        ("a_ptr", "b_ptr"), ("c_ptr",), {"torch.matmul": _product}, exact=64, whole=frozenset(("b_ptr",))
    ),
    "attention": _attention("o_ptr", causal=False),
    "causal attention": _attention("o_ptr", causal=True),
    "attention of a single query": _attention("o_ptr", causal=False),
    "causal attention, backward": _attention("dq_ptr", "dk_ptr", "dv_ptr", causal=True, backward=True),
}
