"""A tile of queries meets all keys that it sees at once.

Finding: all-keys-at-once
"""

import torch


def flash_attention_backward(q, k, v, o, lse, do, scale, causal, Br, Bc):
    n_q, n_k = q.shape[2], k.shape[2]
    dQ, dK, dV = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for start_q in range(0, n_q, Br):
        rows = slice(start_q, start_q + Br)
        end = max(0, min(n_k, start_q + Br + n_k - n_q)) if causal else n_k
        K, V = k[:, :, :end], v[:, :, :end]
        P = torch.exp(scale * (q[:, :, rows] @ K.transpose(2, 3)) - lse[:, :, rows, None])
        if causal:
            queries = torch.arange(start_q, start_q + P.shape[2])
            P = P.masked_fill(torch.arange(end) > queries[:, None] + n_k - n_q, 0.0)
        delta = (do[:, :, rows] * o[:, :, rows]).sum(dim=3, keepdim=True)
        dV[:, :, :end] += P.transpose(2, 3) @ do[:, :, rows]
        P = P * (do[:, :, rows] @ V.transpose(2, 3) - delta)
        dK[:, :, :end] += scale * (P.transpose(2, 3) @ q[:, :, rows])
        dQ[:, :, rows] = scale * (P @ K)
    return dQ, dK, dV
