"""A pair of loops for dK and dV, and another one for dQ.

Finding: products-computed-again
"""

import torch


def tiles(q, k, v, lse, do, delta, start_q, start_k, scale, causal, Br, Bc):
    rows, cols = slice(start_q, start_q + Br), slice(start_k, start_k + Bc)
    P = torch.exp(scale * (q[:, :, rows] @ k[:, :, cols].transpose(2, 3)) - lse[:, :, rows, None])
    if causal:
        queries = torch.arange(start_q, start_q + P.shape[2])[:, None] + k.shape[2] - q.shape[2]
        P = P.masked_fill(torch.arange(start_k, start_k + P.shape[3]) > queries, 0.0)
    return P, P * (do[:, :, rows] @ v[:, :, cols].transpose(2, 3) - delta[:, :, rows])


def flash_attention_backward(q, k, v, o, lse, do, scale, causal, Br, Bc):
    n_q, n_k = q.shape[2], k.shape[2]
    dQ, dK, dV = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    delta = (do * o).sum(dim=3, keepdim=True)
    for start_q in range(0, n_q, Br):
        end = min(n_k, start_q + Br + n_k - n_q) if causal else n_k
        for start_k in range(0, end, Bc):
            _, dS = tiles(q, k, v, lse, do, delta, start_q, start_k, scale, causal, Br, Bc)
            dQ[:, :, start_q : start_q + Br] += scale * (dS @ k[:, :, start_k : start_k + Bc])
    for start_k in range(0, n_k, Bc):
        first = max(0, start_k - (n_k - n_q)) // Br * Br if causal else 0
        for start_q in range(first, n_q, Br):
            P, dS = tiles(q, k, v, lse, do, delta, start_q, start_k, scale, causal, Br, Bc)
            dK[:, :, start_k : start_k + Bc] += scale * (dS.transpose(2, 3) @ q[:, :, start_q : start_q + Br])
            dV[:, :, start_k : start_k + Bc] += P.transpose(2, 3) @ do[:, :, start_q : start_q + Br]
    return dQ, dK, dV
