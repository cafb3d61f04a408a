"""What people use: PyTorch's implementations of the same work, each pinned by name, and the reference.

Attention's tensors have the shape (heads, N, d).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

Tensors = dict[str, torch.Tensor]
Function = Callable[..., torch.Tensor]
Run = Callable[[], Any]
EAGER, COMPILED = "torch eager", "torch.compile"
SDPA = {"SDPA flash": SDPBackend.FLASH_ATTENTION, "SDPA cuDNN": SDPBackend.CUDNN_ATTENTION}
EXACT_HEADS = 2  # the first ones, which are compared with a reference in fp32
EXACT_ROWS = 64  # of a softmax


class Softmax:
    """Softmax of rows."""

    alone: frozenset[str] = frozenset()

    def functions(self) -> Mapping[str, Function]:
        """By name: what is timed. COMPILED is not yet compiled."""
        return {EAGER: self._softmax, COMPILED: self._softmax}

    def run(self, function: Function, t: Tensors) -> Run:
        """What calls a function with some tensors."""
        return lambda: function(t["x_ptr"])

    def complete(self, t: Tensors) -> None:
        """Make the inputs that are computed from others."""

    def reference(self, t: Tensors) -> Tensors:
        """Right values of the first rows, in fp64."""
        return {"y_ptr": self._softmax(t["x_ptr"][:EXACT_ROWS].double())}

    @staticmethod
    def _softmax(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=1)


@dataclass(frozen=True)
class Attention:
    """Attention, or its backward pass."""

    causal: bool = False
    backward: bool = False
    # All scores at once: by far not as fast, and there may not be memory for two of them.
    alone = frozenset((EAGER, COMPILED))

    def functions(self) -> Mapping[str, Function]:
        """By name: what is timed. COMPILED is not yet compiled."""
        materialised = {EAGER: self._materialised, COMPILED: self._materialised}
        return {**materialised, **{name: self._sdpa(backend) for name, backend in SDPA.items()}}

    def run(self, function: Function, t: Tensors) -> Run:
        """What calls a function with some tensors, or its gradient."""
        q, k, v = (t[name].detach() for name in ("q_ptr", "k_ptr", "v_ptr"))
        if not self.backward:
            return lambda: function(q, k, v)
        inputs = tuple(x.requires_grad_() for x in (q.clone(), k.clone(), v.clone()))
        o = function(*inputs)
        return lambda: torch.autograd.grad(o, inputs, t["do_ptr"], retain_graph=True)

    def complete(self, t: Tensors) -> None:
        """Make O and LSE, which the backward pass starts from."""
        if self.backward:
            with torch.no_grad(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                o, lse, *_ = torch.ops.aten._scaled_dot_product_flash_attention(
                    t["q_ptr"][None], t["k_ptr"][None], t["v_ptr"][None], 0.0, self.causal
                )
            t["o_ptr"], t["lse_ptr"] = o[0].contiguous(), lse[0].contiguous()

    def reference(self, t: Tensors) -> Tensors:
        """Right values of the first heads, in fp32."""
        q, k, v = (t[name][:EXACT_HEADS].float().requires_grad_() for name in ("q_ptr", "k_ptr", "v_ptr"))
        heads = range(len(q))
        o = torch.cat([self._materialised(q[h : h + 1], k[h : h + 1], v[h : h + 1]) for h in heads])
        if not self.backward:
            return {"o_ptr": o.detach()}
        gradients = torch.autograd.grad(o, (q, k, v), t["do_ptr"][:EXACT_HEADS].float())
        return dict(zip(("dq_ptr", "dk_ptr", "dv_ptr"), gradients, strict=True))

    def _materialised(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Attention as it is written on the board."""
        s = q @ k.transpose(1, 2) * q.shape[-1] ** -0.5
        if self.causal:
            n = s.shape[-1]
            s = s.masked_fill(torch.ones(n, n, dtype=torch.bool, device=s.device).triu(1), -float("inf"))
        return torch.softmax(s, dim=-1) @ v

    def _sdpa(self, backend: SDPBackend) -> Function:
        def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=self.causal)[0]

        return attention


WORKS: Mapping[str, Softmax | Attention] = {
    "softmax": Softmax(),
    "attention": Attention(),
    "causal attention": Attention(causal=True),
    "causal attention, backward": Attention(causal=True, backward=True),
}
