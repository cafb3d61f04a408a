"""Products by einsum, numbers of a query without a last axis of 1, tiles transposed: keys down and queries across."""

import torch

LOG2_E = 1.4426950408889634


def tile_of_weights(queries, keys, lse, scale):
    scores = torch.einsum("bhjd,bhid->bhji", scale * keys, queries)
    return torch.exp2(LOG2_E * (scores - lse.unsqueeze(2)))


def flash_attention_backward(q, k, v, o, lse, do, scale, causal, Br, Bc):
    n_q, n_k = q.size(2), k.size(2)
    shift = n_k - n_q
    delta = torch.einsum("bhid,bhid->bhi", do, o)
    dQ, dK, dV = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for begin in range(0, n_k, Bc):
        stop = min(begin + Bc, n_k)
        K, V = k[:, :, begin:stop], v[:, :, begin:stop]
        for first in range(0, n_q, Br):
            last = min(first + Br, n_q)
            if causal and begin > last - 1 + shift:
                continue
            Pt = tile_of_weights(q[:, :, first:last], K, lse[:, :, first:last], scale)
            if causal and stop - 1 > first + shift:
                i = torch.arange(first, last).unsqueeze(0)
                j = torch.arange(begin, stop).unsqueeze(1)
                Pt = torch.where(j <= i + shift, Pt, torch.zeros_like(Pt))
            dPt = torch.einsum("bhjd,bhid->bhji", V, do[:, :, first:last])
            dSt = Pt * (dPt - delta[:, :, first:last].unsqueeze(2)) * scale
            dV[:, :, begin:stop] += torch.einsum("bhji,bhid->bhjd", Pt, do[:, :, first:last])
            dK[:, :, begin:stop] += torch.einsum("bhji,bhid->bhjd", dSt, q[:, :, first:last])
            dQ[:, :, first:last] += torch.einsum("bhji,bhjd->bhid", dSt, K)
    return dQ, dK, dV
