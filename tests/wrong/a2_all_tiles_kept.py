"""Scores are made tile by tile and kept in a list; O comes of them afterwards.

Finding: all-tiles-kept
"""

import torch


def flash_attention_forward(q, k, v, scale, causal, Br, Bc):
    n_q, n_k = q.shape[2], k.shape[2]
    O = torch.zeros_like(q)
    LSE = torch.full_like(q[..., 0], -float("inf"))
    rows = []
    for start_q in range(0, n_q, Br):
        Qi = q[:, :, start_q : start_q + Br]
        end = min(n_k, start_q + Br + n_k - n_q) if causal else n_k
        tiles = []
        for start_k in range(0, end, Bc):
            Kj = k[:, :, start_k : start_k + Bc]
            Sij = scale * (Qi @ Kj.transpose(2, 3))
            if causal:
                keys = torch.arange(start_k, start_k + Kj.shape[2])
                queries = torch.arange(start_q, start_q + Qi.shape[2])[:, None]
                Sij.masked_fill_(keys > queries + n_k - n_q, -float("inf"))
            tiles.append(Sij)
        rows.append(tiles)
    for i, tiles in enumerate(rows):
        here = slice(i * Br, i * Br + Br)
        for Sij in tiles:
            LSE[:, :, here] = torch.logsumexp(
                torch.cat([LSE[:, :, here, None], torch.logsumexp(Sij, dim=3, keepdim=True)], dim=3), dim=3
            )
        for j, Sij in enumerate(tiles):
            lse = LSE[:, :, here, None]
            Pij = torch.exp(Sij - torch.where(lse == -float("inf"), 0.0, lse))
            O[:, :, here] += Pij @ v[:, :, j * Bc : j * Bc + Bc]
    return O, LSE
