"""Queries in the outer loop, which ends at the last key that is seen; dQ of a tile is finished there, dK and dV grow."""

import torch


def flash_attention_backward(q, k, v, o, lse, do, scale, causal, Br, Bc):
    n_q, n_k = q.shape[2], k.shape[2]
    dQ, dK, dV = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for start_q in range(0, n_q, Br):
        rows = slice(start_q, min(start_q + Br, n_q))
        Q, dO = q[:, :, rows], do[:, :, rows]
        delta = (dO * o[:, :, rows]).sum(dim=-1, keepdim=True)
        L = lse[:, :, rows].unsqueeze(-1)
        L = torch.where(torch.isneginf(L), 0.0, L)
        dQi = torch.zeros_like(Q)
        end = min(n_k, rows.stop + n_k - n_q) if causal else n_k
        for start_k in range(0, end, Bc):
            cols = slice(start_k, min(start_k + Bc, n_k))
            K, V = k[:, :, cols], v[:, :, cols]
            S = scale * Q @ K.mT
            if causal:
                last = torch.arange(start_q, rows.stop)[:, None] + n_k - n_q
                S = S.masked_fill(torch.arange(start_k, cols.stop) > last, -torch.inf)
            P = (S - L).exp()
            dS = scale * P * (dO @ V.mT - delta)
            dQi = dQi + dS @ K
            dK[:, :, cols] += dS.mT @ Q
            dV[:, :, cols] += P.mT @ dO
        dQ[:, :, rows] = dQi
    return dQ, dK, dV
