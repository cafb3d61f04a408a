"""Keys in the outer loop, and O divided in every step, as in FlashAttention-1: lists of blocks, a finite -1e10 for -inf."""

import torch

LOWEST = -1e10
TINY = 1e-10


def flash_attention_forward(q, k, v, scale, causal, Br, Bc):
    n_q, n_k = q.shape[2], k.shape[2]
    q_blocks = torch.split(q, Br, dim=2)
    k_blocks, v_blocks = torch.split(k, Bc, dim=2), torch.split(v, Bc, dim=2)
    o_blocks = list(torch.split(torch.zeros_like(q), Br, dim=2))
    sums = list(torch.split(torch.zeros_like(q)[..., :1], Br, dim=2))
    maxima = list(torch.split(torch.full_like(q[..., :1], LOWEST), Br, dim=2))
    places_q = torch.split(torch.arange(n_q)[:, None] + (n_k - n_q), Br, dim=0)
    places_k = torch.split(torch.arange(n_k)[None, :], Bc, dim=1)
    for j in range(len(k_blocks)):
        for i in range(len(q_blocks)):
            reach = min((i + 1) * Br, n_q) - 1 + n_k - n_q
            if causal and j * Bc > reach:
                continue
            weights = torch.einsum("... i d, ... j d -> ... i j", q_blocks[i] * scale, k_blocks[j])
            if causal:
                sees = places_q[i] >= places_k[j]
                weights = torch.where(sees, weights, LOWEST)
            top = torch.max(weights, dim=-1, keepdim=True)[0]
            weights = torch.exp(weights - top)
            if causal:
                weights = torch.where(sees, weights, 0.0)
            part = torch.sum(weights, dim=-1, keepdim=True) + TINY
            new = torch.maximum(maxima[i], top)
            old_factor, factor = torch.exp(maxima[i] - new), torch.exp(top - new)
            total = old_factor * sums[i] + factor * part
            product = torch.einsum("... i j, ... j d -> ... i d", weights, v_blocks[j])
            o_blocks[i] = (sums[i] / total) * old_factor * o_blocks[i] + (factor / total) * product
            sums[i] = total
            maxima[i] = new
    m, l = torch.cat(maxima, dim=2), torch.cat(sums, dim=2)
    lse = torch.where(m > LOWEST, m + torch.log(l), -float("inf"))
    return torch.cat(o_blocks, dim=2), lse.squeeze(-1)
