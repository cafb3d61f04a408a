# own: --as "q, k, v, is_causal=causal, scale=scale"
"""Scaled dot-product attention as everybody writes it, with grouped queries and a fallback for rows without keys."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def causal_mask(n_q: int, n_k: int, device: torch.device) -> Tensor:
    """True where a query may look: the last query sees every key."""
    i = torch.arange(n_q, device=device).unsqueeze(-1)
    j = torch.arange(n_k, device=device).unsqueeze(0)
    return j <= i + (n_k - n_q)


def repeat_kv(x: Tensor, n_rep: int) -> Tensor:
    """(b, kv_heads, n, d) -> (b, kv_heads * n_rep, n, d)"""
    if n_rep == 1:
        return x
    b, h, n, d = x.shape
    return x[:, :, None].expand(b, h, n_rep, n, d).reshape(b, h * n_rep, n, d)


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax along the last axis in fp32. A row that is masked altogether gives zeros, not NaN."""
    scores = scores.float()
    if mask is None:
        return scores.softmax(dim=-1)
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    scores = scores - scores.amax(dim=-1, keepdim=True).detach()
    weights = scores.exp().masked_fill(~mask, 0.0)
    return weights / weights.sum(dim=-1, keepdim=True).clamp_min(1e-20)


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    is_causal: bool = False,
    dropout_p: float = 0.0,
    scale: float | None = None,
) -> Tensor:
    n_q, d = q.shape[-2:]
    n_k = k.shape[-2]
    n_rep = q.shape[1] // k.shape[1]
    k, v = repeat_kv(k, n_rep), repeat_kv(v, n_rep)
    scale = 1 / math.sqrt(d) if scale is None else scale

    scores = torch.matmul(q.float(), k.float().transpose(-2, -1)) * scale
    mask = causal_mask(n_q, n_k, q.device) if is_causal else None
    weights = masked_softmax(scores, mask)
    if dropout_p > 0.0:
        weights = torch.dropout(weights, dropout_p, train=True)
    return torch.matmul(weights, v.float()).to(q.dtype)
