"""What people use: PyTorch's implementations of the same work, each pinned by name, and the reference.

Attention's tensors have the shape (heads, N, d).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

try:  # in PyTorch since 2.5
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
except ImportError:
    flex_attention = None  # type: ignore[assignment]

Tensors = dict[str, torch.Tensor]
Function = Callable[..., torch.Tensor]
Run = Callable[[], Any]
EAGER, COMPILED, FLEX, EFFICIENT = "torch eager", "torch.compile", "FlexAttention", "SDPA efficient"
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
    at_once: bool = False  # every row of the output needs all of all inputs: the reference makes all of it

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
        if self.at_once:
            return {self.outputs[0]: right(*(t[name].float() for name in self.inputs))}
        cut = {name: t[name] if name in self.whole else t[name][: self.exact] for name in self.inputs}
        inputs = [x.detach().float().requires_grad_() for x in cut.values()]
        count = max(len(x) for name, x in cut.items() if name not in self.whole)
        shared = [name in self.whole or len(x) == 1 for name, x in cut.items()]
        parts = [[x] * count if all_of else torch.split(x, 1) for all_of, x in zip(shared, inputs, strict=True)]
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


def _biased(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor, causal: bool) -> torch.Tensor:
    """Attention with a bias as it is written on the board; of the first heads, if the bias has more."""
    s = q @ k.transpose(1, 2) * q.shape[-1] ** -0.5 + bias
    if causal:
        n = s.shape[-1]
        s = s.masked_fill(torch.ones(n, n, dtype=torch.bool, device=s.device).triu(1), -float("inf"))
    return torch.softmax(s, dim=-1) @ v


def _efficient(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The one kernel of SDPA that takes a bias: as a mask that is added, of full size, but not in memory."""
    mask = bias[None].expand(1, len(q), q.shape[1], k.shape[1])
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        return F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask)[0]


@cache
def _flex_compiled() -> Function:
    return torch.compile(flex_attention, dynamic=False)


@cache
def _causal_mask(n: int) -> Any:
    return create_block_mask(lambda b, h, query, key: query >= key, None, None, n, n)


def _flex(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor, causal: bool) -> torch.Tensor:
    """PyTorch's compiler makes a kernel of its own for this bias. What one number is for all of is not indexed."""
    heads, rows, columns = (int(extent > 1) for extent in bias.shape)

    def biased(score: Any, b: Any, h: Any, query: Any, key: Any) -> Any:
        return score + bias[h * heads, query * rows, key * columns]

    mask = _causal_mask(q.shape[1]) if causal else None
    return _flex_compiled()(q[None], k[None], v[None], score_mod=biased, block_mask=mask)[0]


def _with_bias(causal: bool) -> Work:
    functions: dict[str, Function] = dict.fromkeys((EAGER, COMPILED), partial(_biased, causal=causal))
    if not causal:  # a mask and `is_causal` exclude each other
        functions[EFFICIENT] = _efficient
    if flex_attention is not None:
        functions[FLEX] = partial(_flex, causal=causal)
    inputs, alone = ("q_ptr", "k_ptr", "v_ptr", "bias_ptr"), frozenset((EAGER, COMPILED))
    return Work(inputs, ("o_ptr",), functions, 2, alone)


def _bias_gradient(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    bias: torch.Tensor,
    do: torch.Tensor,
    lse: torch.Tensor,
    delta: torch.Tensor,
) -> torch.Tensor:
    """The sum of dS over the heads, one head after the other."""
    total = torch.zeros(bias.shape, dtype=torch.float32, device=bias.device)
    for head in range(len(q)):
        s = (q[head] @ k[head].T).float() * q.shape[-1] ** -0.5 + bias
        p = torch.exp(s - lse[head][:, None])
        total += p * ((do[head] @ v[head].T).float() - delta[head][:, None])
    return total


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.matmul(a, b.T)


WORKS: Mapping[str, Work] = {
    "softmax": Work(("x_ptr",), ("y_ptr",), dict.fromkeys((EAGER, COMPILED), partial(torch.softmax, dim=1)), exact=64),
    "product of matrices": Work(
        ("a_ptr", "b_ptr"), ("c_ptr",), {"torch.matmul": _product}, exact=64, whole=frozenset(("b_ptr",))
    ),
    "attention": _attention("o_ptr", causal=False),
    "causal attention": _attention("o_ptr", causal=True),
    "causal attention, backward": _attention("dq_ptr", "dk_ptr", "dv_ptr", causal=True, backward=True),
    "attention with a bias": _with_bias(causal=False),
    "causal attention with a bias": _with_bias(causal=True),
    "gradient of a bias": Work(
        ("q_ptr", "k_ptr", "v_ptr", "bias_ptr", "do_ptr", "lse_ptr", "delta_ptr"),
        ("dbias_ptr",),
        {EAGER: _bias_gradient},
        exact=0,
        alone=frozenset((EAGER,)),
        at_once=True,
    ),
}
