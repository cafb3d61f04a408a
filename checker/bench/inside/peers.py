"""Other implementations of the same work: PyTorch's, each pinned by name, and the reference.

Attention's tensors have the shape (heads, N, d).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch.nn.attention import SDPBackend, sdpa_kernel

try:  # in PyTorch since 2.5
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
except ImportError:
    flex_attention = None  # type: ignore[assignment]

Tensors = dict[str, torch.Tensor]
Function = Callable[..., torch.Tensor]
Run = Callable[[], Any]
EAGER, COMPILED, FLEX, EFFICIENT = "torch eager", "torch.compile", "FlexAttention", "SDPA efficient"
ALONE = frozenset((EAGER, COMPILED))  # they make all scores at once
QKV = ("q_ptr", "k_ptr", "v_ptr")
P = 0.1  # of peers' own dropout
SDPA = {"SDPA flash": SDPBackend.FLASH_ATTENTION, "SDPA cuDNN": SDPBackend.CUDNN_ATTENTION}


@dataclass(frozen=True)
class Work:
    """The work of a puzzle's kernels, done by others."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    functions: Mapping[str, Function]  # by name: what is timed, the reference first; COMPILED is not yet compiled
    exact: int  # so many rows or heads, the first, are compared with a reference
    alone: frozenset[str] = frozenset()  # all scores at once: by far not as fast, and too large for two at a time
    backward: bool = False  # of attention
    whole: frozenset[str] = frozenset()  # inputs of which every row or head of the output needs all
    at_once: bool = False  # every row of the output needs all of all inputs: the reference makes all of it

    def run(self, function: Function, t: Tensors) -> Run:
        """Return what calls a function with some tensors, or its gradient."""
        inputs = [t[name].detach() for name in self.inputs]
        if not self.backward:
            return lambda: function(*inputs)
        inputs = [x.clone().requires_grad_() for x in inputs]
        o = function(*inputs)
        return lambda: torch.autograd.grad(o, inputs, t["do_ptr"], retain_graph=True)

    def complete(self, t: Tensors, scalars: Mapping[str, float]) -> None:
        """Make O and LSE, which the backward pass starts from. `scalars`: what the first kernel gets."""
        if self.backward:
            o, lse = self.flash(t, causal=True)
            t["o_ptr"], t["lse_ptr"] = o.contiguous(), lse.contiguous()

    def flash(self, t: Tensors, causal: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """O and LSE, made by SDPA flash without dropout."""
        with torch.no_grad(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            inputs = (t[name][None] for name in self.inputs)
            o, lse, *_ = torch.ops.aten._scaled_dot_product_flash_attention(*inputs, 0.0, causal)
        return o[0], lse[0]

    def reference(self, t: Tensors, scalars: Mapping[str, float]) -> Tensors:
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


@triton.jit  # type: ignore[untyped-decorator]
def _factors_kernel(z_ptr, first, count, p, seed, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z_ptr + at, tl.where(tl.rand(seed, first + at) >= p, 1.0 / (1.0 - p), 0.0), mask=at < count)


@dataclass(frozen=True)
class Dropout(Work):
    """Attention with dropout: forward, or dK and dV, where peers make dQ as well.

    Peers draw other numbers. They are timed, and the reference is none of them.
    """

    def complete(self, t: Tensors, scalars: Mapping[str, float]) -> None:
        """Make LSE, which knows no dropout, and delta: with dropout in the heads that are compared only."""
        if not self.backward:
            return
        o, lse = self.flash(t, causal=False)
        t["lse_ptr"] = lse.contiguous()
        t["delta_ptr"] = (o.float() * t["do_ptr"].float()).sum(-1)
        for head in range(self.exact):
            right = _with_factors([t[name][head].float() for name in self.inputs], _factors(t, scalars, head))
            t["delta_ptr"][head] = (right * t["do_ptr"][head].float()).sum(-1)

    def reference(self, t: Tensors, scalars: Mapping[str, float]) -> Tensors:
        """Right values of the first heads, in fp32, of the numbers that the kernels draw."""
        made: dict[str, list[torch.Tensor]] = {name: [] for name in self.outputs}
        for head in range(self.exact):
            inputs = [t[name][head].detach().float().requires_grad_() for name in self.inputs]
            o = _with_factors(inputs, _factors(t, scalars, head))
            if self.backward:
                found = torch.autograd.grad(o, inputs[1:], t["do_ptr"][head].float())
            else:
                found = (o.detach(),)
            for name, values in zip(self.outputs, found, strict=True):
                made[name].append(values)
        return {name: torch.stack(values) for name, values in made.items()}


def _factors(t: Tensors, scalars: Mapping[str, float], head: int) -> torch.Tensor:
    """Z of one head."""
    n_q, n_k = t["q_ptr"].shape[1], t["k_ptr"].shape[1]
    z = torch.empty((n_q, n_k), dtype=torch.float32, device="cuda")
    grid = (triton.cdiv(z.numel(), 1024),)
    _factors_kernel[grid](z, head * z.numel(), z.numel(), scalars["p"], scalars["seed"], BLOCK=1024)
    return z


def _with_factors(inputs: list[torch.Tensor], z: torch.Tensor) -> torch.Tensor:
    """Return one head of attention whose weights are multiplied by Z."""
    q, k, v = inputs
    return (torch.softmax(q @ k.T * q.shape[-1] ** -0.5, dim=-1) * z) @ v


def _at_once(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    bias: torch.Tensor | None = None,
    *,
    causal: bool = False,
    dropped: float = 0.0,
) -> torch.Tensor:
    """Attention as it is written on the board: all scores at once."""
    s = q @ k.transpose(1, 2) * q.shape[-1] ** -0.5
    if bias is not None:
        s = s + bias
    if causal:
        n = s.shape[-1]
        s = s.masked_fill(torch.ones(n, n, dtype=torch.bool, device=s.device).triu(1), -float("inf"))
    weights = torch.softmax(s, dim=-1)
    return (F.dropout(weights, dropped) if dropped else weights) @ v


def _sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, backend: SDPBackend, **options: Any) -> torch.Tensor:
    with sdpa_kernel(backend):
        return F.scaled_dot_product_attention(q[None], k[None], v[None], **options)[0]


def _attention(*outputs: str, causal: bool, backward: bool = False) -> Work:
    functions = dict.fromkeys((EAGER, COMPILED), partial(_at_once, causal=causal))
    functions |= {name: partial(_sdpa, is_causal=causal, backend=backend) for name, backend in SDPA.items()}
    return Work(QKV, outputs, functions, 2, ALONE, backward)


def _efficient(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return the one kernel of SDPA that takes a bias: as a mask that is added, of full size, but not in memory."""
    mask = bias[None].expand(1, len(q), q.shape[1], k.shape[1])
    return _sdpa(q, k, v, SDPBackend.EFFICIENT_ATTENTION, attn_mask=mask)


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
    functions: dict[str, Function] = dict.fromkeys((EAGER, COMPILED), partial(_at_once, causal=causal))
    if not causal:  # a mask and `is_causal` exclude each other
        functions[EFFICIENT] = _efficient
    if flex_attention is not None:
        functions[FLEX] = partial(_flex, causal=causal)
    return Work((*QKV, "bias_ptr"), ("o_ptr",), functions, 2, ALONE)


def _bias_gradient(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    bias: torch.Tensor,
    do: torch.Tensor,
    lse: torch.Tensor,
    delta: torch.Tensor,
) -> torch.Tensor:
    """Return the sum of dS over the heads, one head after the other."""
    total = torch.zeros(bias.shape, dtype=torch.float32, device=bias.device)
    for head in range(len(q)):
        s = (q[head] @ k[head].T).float() * q.shape[-1] ** -0.5 + bias
        p = torch.exp(s - lse[head][:, None])
        total += p * ((do[head] @ v[head].T).float() - delta[head][:, None])
    return total


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.matmul(a, b.T)


_DROPPED: Mapping[str, Function] = {
    **dict.fromkeys((EAGER, COMPILED), partial(_at_once, dropped=P)),
    "SDPA flash": partial(_sdpa, backend=SDPBackend.FLASH_ATTENTION, dropout_p=P),
}
WORKS: Mapping[str, Work] = {
    "softmax": Work(("x_ptr",), ("y_ptr",), dict.fromkeys((EAGER, COMPILED), partial(torch.softmax, dim=1)), exact=64),
    "product of matrices": Work(
        ("a_ptr", "b_ptr"), ("c_ptr",), {"torch.matmul": _product}, exact=64, whole=frozenset(("b_ptr",))
    ),
    "attention": _attention("o_ptr", causal=False),
    "causal attention": _attention("o_ptr", causal=True),
    "attention with dropout": Dropout(QKV, ("o_ptr",), _DROPPED, 2, ALONE),
    "attention with dropout, dK and dV": Dropout(QKV, ("dk_ptr", "dv_ptr"), _DROPPED, 2, ALONE, backward=True),
    "attention of a single query": _attention("o_ptr", causal=False),
    "causal attention, backward": _attention("dq_ptr", "dk_ptr", "dv_ptr", causal=True, backward=True),
    "attention with a bias": _with_bias(causal=False),
    "causal attention with a bias": _with_bias(causal=True),
    "gradient of a bias": Work(
        (*QKV, "bias_ptr", "do_ptr", "lse_ptr", "delta_ptr"),
        ("dbias_ptr",),
        {EAGER: _bias_gradient},
        exact=0,
        alone=frozenset((EAGER,)),
        at_once=True,
    ),
}
