"""A pass for the maximum and the normaliser of each query, and another one for O.

Finding: scores-computed-twice
"""

import torch


def scores(q, k, start_q, start_k, scale, causal, Br, Bc):
    Sij = scale * (q[:, :, start_q : start_q + Br] @ k[:, :, start_k : start_k + Bc].transpose(2, 3))
    if not causal:
        return Sij
    queries = torch.arange(start_q, start_q + Sij.shape[2])[:, None] + k.shape[2] - q.shape[2]
    return Sij.masked_fill(torch.arange(start_k, start_k + Sij.shape[3]) > queries, -float("inf"))


def flash_attention_forward(q, k, v, scale, causal, Br, Bc):
    n_q, n_k = q.shape[2], k.shape[2]
    O = torch.zeros_like(q)
    LSE = torch.zeros_like(q[..., 0])
    for start_q in range(0, n_q, Br):
        end = min(n_k, start_q + Br + n_k - n_q) if causal else n_k
        lse = torch.full_like(q[:, :, start_q : start_q + Br, :1], -float("inf"))
        for start_k in range(0, end, Bc):
            Sij = scores(q, k, start_q, start_k, scale, causal, Br, Bc)
            lse = torch.logsumexp(torch.cat([lse, Sij], dim=3), dim=3, keepdim=True)
        shift = torch.where(lse == -float("inf"), 0.0, lse)
        for start_k in range(0, end, Bc):
            Sij = scores(q, k, start_q, start_k, scale, causal, Br, Bc)
            O[:, :, start_q : start_q + Br] += torch.exp(Sij - shift) @ v[:, :, start_k : start_k + Bc]
        LSE[:, :, start_q : start_q + Br] = lse[..., 0]
    return O, LSE
