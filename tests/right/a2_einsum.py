"""Products by einsum, sums as tensors (batch, heads, rows) without a last axis of 1, hidden keys by torch.where."""

import torch

MINUS_INFINITY = -float("inf")


def scores(queries, keys, scale):
    return torch.einsum("bhid,bhjd->bhij", scale * queries, keys)


def flash_attention_forward(q, k, v, scale, causal, Br, Bc):
    batch, heads, n_q, d = q.shape
    n_k = k.size(2)
    shift = n_k - n_q
    O = torch.empty_like(q)
    LSE = torch.empty(batch, heads, n_q, dtype=q.dtype)
    for first in range(0, n_q, Br):
        last = min(first + Br, n_q)
        m = torch.full((batch, heads, last - first), MINUS_INFINITY, dtype=q.dtype)
        total = torch.zeros((batch, heads, last - first), dtype=q.dtype)
        sums = torch.zeros((batch, heads, last - first, d), dtype=q.dtype)
        for begin in range(0, n_k, Bc):
            if causal and begin > last - 1 + shift:
                break
            stop = min(begin + Bc, n_k)
            S = scores(q[:, :, first:last], k[:, :, begin:stop], scale)
            if causal and stop - 1 > first + shift:
                i = torch.arange(first, last).unsqueeze(1)
                j = torch.arange(begin, stop).unsqueeze(0)
                S = torch.where(j <= i + shift, S, MINUS_INFINITY)
            new = torch.max(m, S.max(dim=-1).values)
            finite = new.masked_fill(torch.isneginf(new), 0.0)
            P = (S - finite.unsqueeze(-1)).exp()
            kept = (m - finite).exp()
            total = kept * total + P.sum(-1)
            sums = kept.unsqueeze(-1) * sums + torch.einsum("bhij,bhjd->bhid", P, v[:, :, begin:stop])
            m = new
        alone = total == 0
        O[:, :, first:last] = sums / torch.where(alone, torch.ones_like(total), total).unsqueeze(-1)
        LSE[:, :, first:last] = torch.where(alone, MINUS_INFINITY, m + total.log())
    return O, LSE
