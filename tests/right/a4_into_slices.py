"""Everything is added into slices of the outputs in place; keys and queries counted from the end; scaled at last."""

import torch


def flash_attention_backward(q, k, v, o, lse, do, scale, causal, Br, Bc):
    n_q, n_k = q.shape[-2], k.shape[-2]
    dQ, dK, dV = q.new_zeros(q.shape), k.new_zeros(k.shape), v.new_zeros(v.shape)
    delta = torch.empty_like(lse)
    for above in range(0, n_q, Br):
        rows = slice(above, above + Br)
        delta[..., rows] = (do[..., rows, :] * o[..., rows, :]).sum(-1)
    for j in reversed(range((n_k + Bc - 1) // Bc)):
        left = j * Bc
        cols = slice(left, left + Bc)
        for i in reversed(range((n_q + Br - 1) // Br)):
            above, below = i * Br, min((i + 1) * Br, n_q)
            rows = slice(above, below)
            if causal and left > below - 1 + n_k - n_q:
                break
            P = torch.matmul(q[..., rows, :], k[..., cols, :].transpose(-2, -1)).mul_(scale)
            P.sub_(lse[..., rows, None]).exp_()
            if causal:
                ahead = torch.ones(P.shape[-2:], dtype=torch.bool).triu(above + n_k - n_q - left + 1)
                P.masked_fill_(ahead, 0.0)
            dV[..., cols, :] += P.transpose(-2, -1) @ do[..., rows, :]
            P *= do[..., rows, :] @ v[..., cols, :].transpose(-2, -1) - delta[..., rows, None]
            dQ[..., rows, :] += P @ k[..., cols, :]
            dK[..., cols, :] += P.transpose(-2, -1) @ q[..., rows, :]
    return dQ.mul_(scale), dK.mul_(scale), dV
