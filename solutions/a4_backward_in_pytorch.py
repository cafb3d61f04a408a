"""Rung a4, solved. The backward pass in PyTorch: each tile of keys goes over the queries that see any of it."""

import torch


def flash_attention_backward(q, k, v, o, lse, do, scale, causal, Br, Bc):
    n_q, n_k = q.shape[2], k.shape[2]
    dQ = torch.zeros_like(q)
    dK = torch.zeros_like(k)
    dV = torch.zeros_like(v)
    delta = (do * o).sum(dim=3, keepdim=True)

    for start_k in range(0, n_k, Bc):
        Kj = k[:, :, start_k : start_k + Bc]
        Vj = v[:, :, start_k : start_k + Bc]
        keys = torch.arange(start_k, start_k + Kj.shape[2])
        dKj = torch.zeros_like(Kj)
        dVj = torch.zeros_like(Vj)

        # With causal, key start_k is seen from query start_k - (n_k - n_q) on: begin with the tile that holds it.
        first = max(0, start_k - (n_k - n_q)) // Br * Br if causal else 0
        for start_q in range(first, n_q, Br):
            Qi = q[:, :, start_q : start_q + Br]
            dOi = do[:, :, start_q : start_q + Br]
            LSEi = lse[:, :, start_q : start_q + Br, None]
            Sij = scale * (Qi @ Kj.transpose(2, 3))
            Pij = torch.exp(Sij - LSEi)
            if causal:
                queries = torch.arange(start_q, start_q + Qi.shape[2])
                Pij = Pij.masked_fill(keys > queries[:, None] + n_k - n_q, 0.0)  # after exp: LSE may be -inf
            dPij = dOi @ Vj.transpose(2, 3)
            dSij = Pij * (dPij - delta[:, :, start_q : start_q + Br])
            dVj = dVj + Pij.transpose(2, 3) @ dOi
            dKj = dKj + scale * (dSij.transpose(2, 3) @ Qi)
            dQ[:, :, start_q : start_q + Br] += scale * (dSij @ Kj)

        dK[:, :, start_k : start_k + Bc] = dKj
        dV[:, :, start_k : start_k + Bc] = dVj

    return dQ, dK, dV
