"""All tiles of P are made first and kept in a list; the gradients come of them afterwards.

Finding: all-tiles-kept
"""

import torch


def flash_attention_backward(q, k, v, o, lse, do, scale, causal, Br, Bc):
    n_q, n_k = q.shape[2], k.shape[2]
    dQ, dK, dV = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    delta = (do * o).sum(dim=3, keepdim=True)
    kept = []
    for start_q in range(0, n_q, Br):
        end = min(n_k, start_q + Br + n_k - n_q) if causal else n_k
        for start_k in range(0, end, Bc):
            rows, cols = slice(start_q, start_q + Br), slice(start_k, start_k + Bc)
            P = torch.exp(scale * (q[:, :, rows] @ k[:, :, cols].transpose(2, 3)) - lse[:, :, rows, None])
            if causal:
                keys = torch.arange(start_k, start_k + P.shape[3])
                queries = torch.arange(start_q, start_q + P.shape[2])[:, None]
                P = P.masked_fill(keys > queries + n_k - n_q, 0.0)
            kept.append((rows, cols, P))
    for rows, cols, P in kept:
        dS = P * (do[:, :, rows] @ v[:, :, cols].transpose(2, 3) - delta[:, :, rows])
        dV[:, :, cols] += P.transpose(2, 3) @ do[:, :, rows]
        dK[:, :, cols] += scale * (dS.transpose(2, 3) @ q[:, :, rows])
        dQ[:, :, rows] += scale * (dS @ k[:, :, cols])
    return dQ, dK, dV
