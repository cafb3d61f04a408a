"""What people use: PyTorch's implementations of the same work, each pinned by name, and the reference.

The only module besides the child that needs torch. Attention's tensors have the shape (heads, N, d).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from checker.course.puzzle import Work

Tensors = Mapping[str, torch.Tensor]
Run = Callable[[], Any]
SDPA = {"SDPA flash": SDPBackend.FLASH_ATTENTION, "SDPA cuDNN": SDPBackend.CUDNN_ATTENTION}
COMPILED = "torch.compile"
EXACT_HEADS = 2  # the first ones, which are compared with a reference in fp32
EXACT_ROWS = 64  # of a softmax


def makers(work: Work) -> dict[str, Callable[[Tensors], Run]]:
    """By name: a function that prepares an implementation for some tensors and returns what is to be timed."""
    if work is Work.SOFTMAX:
        return {
            "torch eager": lambda t: lambda: torch.softmax(t["x_ptr"], dim=1),
            COMPILED: _compiled_softmax,
        }
    causal = work is not Work.ATTENTION
    made: dict[str, Callable[[Tensors], Run]] = {
        "torch eager": lambda t: _run(work, t, _materialised(causal)),
        COMPILED: lambda t: _run(work, t, torch.compile(_materialised(causal), dynamic=False)),
    }
    for name, backend in SDPA.items():
        made[name] = lambda t, backend=backend: _run(work, t, _sdpa(backend, causal))  # type: ignore[misc]
    return made


def _compiled_softmax(t: Tensors) -> Run:
    compiled = torch.compile(lambda x: torch.softmax(x, dim=1), dynamic=False)
    return lambda: compiled(t["x_ptr"])


def _materialised(causal: bool) -> Callable[..., torch.Tensor]:
    """Attention as it is written on the board: all scores at once."""

    def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        s = q @ k.transpose(1, 2) * q.shape[-1] ** -0.5
        if causal:
            n = s.shape[-1]
            s = s.masked_fill(torch.ones(n, n, dtype=torch.bool, device=s.device).triu(1), -float("inf"))
        return torch.softmax(s, dim=-1) @ v

    return attention


def _sdpa(backend: SDPBackend, causal: bool) -> Callable[..., torch.Tensor]:
    def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal)[0]

    return attention


def _run(work: Work, t: Tensors, attention: Callable[..., torch.Tensor]) -> Run:
    q, k, v = (t[name].detach() for name in ("q_ptr", "k_ptr", "v_ptr"))
    if work is not Work.CAUSAL_BACKWARD:
        return lambda: attention(q, k, v)
    inputs = tuple(x.requires_grad_() for x in (q.clone(), k.clone(), v.clone()))
    o = attention(*inputs)
    return lambda: torch.autograd.grad(o, inputs, t["do_ptr"], retain_graph=True)


def forward_for_backward(t: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    """O and LSE of causal attention, which the backward pass starts from."""
    with torch.no_grad(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        made = torch.ops.aten._scaled_dot_product_flash_attention(
            t["q_ptr"][None], t["k_ptr"][None], t["v_ptr"][None], 0.0, True
        )
    return made[0][0].contiguous(), made[1][0].contiguous()


def reference(work: Work, t: Tensors) -> dict[str, torch.Tensor]:
    """Right values of the outputs in fp32: of some rows, or of the first EXACT_HEADS heads."""
    if work is Work.SOFTMAX:
        return {"y_ptr": torch.softmax(t["x_ptr"][:EXACT_ROWS].double(), dim=1)}
    causal = work is not Work.ATTENTION
    q, k, v = (t[name][:EXACT_HEADS].float().requires_grad_() for name in ("q_ptr", "k_ptr", "v_ptr"))
    allowed = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        outputs = [_materialised(causal)(q[h : h + 1], k[h : h + 1], v[h : h + 1]) for h in range(len(q))]
        o = torch.cat(outputs)
        if work is not Work.CAUSAL_BACKWARD:
            return {"o_ptr": o.detach()}
        dq, dk, dv = torch.autograd.grad(o, (q, k, v), t["do_ptr"][:EXACT_HEADS].float())
    finally:
        torch.backends.cuda.matmul.allow_tf32 = allowed
    return {"dq_ptr": dq, "dk_ptr": dk, "dv_ptr": dv}
