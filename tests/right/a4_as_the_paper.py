"""Keys in the outer loop, blocks of all gradients in lists put together with cat; a finite -1e10 and two masks; einsum."""

import torch

LOWEST = -1e10


def flash_attention_backward(q, k, v, o, lse, do, scale, causal, Br, Bc):
    n_q, n_k = q.shape[2], k.shape[2]
    q_blocks, o_blocks, do_blocks = torch.split(q, Br, dim=2), torch.split(o, Br, dim=2), torch.split(do, Br, dim=2)
    k_blocks, v_blocks = torch.split(k, Bc, dim=2), torch.split(v, Bc, dim=2)
    lse_blocks = torch.split(lse.unsqueeze(-1), Br, dim=2)
    dq_blocks = [torch.zeros_like(block) for block in q_blocks]
    dk_blocks, dv_blocks = [], []
    places_q = torch.split(torch.arange(n_q)[:, None] + (n_k - n_q), Br, dim=0)
    places_k = torch.split(torch.arange(n_k)[None, :], Bc, dim=1)
    for j in range(len(k_blocks)):
        dk, dv = torch.zeros_like(k_blocks[j]), torch.zeros_like(v_blocks[j])
        for i in range(len(q_blocks)):
            reach = min((i + 1) * Br, n_q) - 1 + n_k - n_q
            if causal and j * Bc > reach:
                continue
            weights = torch.einsum("... i d, ... j d -> ... i j", q_blocks[i] * scale, k_blocks[j])
            if causal:
                sees = places_q[i] >= places_k[j]
                weights = torch.where(sees, weights, LOWEST)
            weights = torch.exp(weights - lse_blocks[i])
            if causal:
                weights = torch.where(sees, weights, 0.0)
            dv = dv + torch.einsum("... r c, ... r d -> ... c d", weights, do_blocks[i])
            of_weights = torch.einsum("... r d, ... c d -> ... r c", do_blocks[i], v_blocks[j])
            delta = torch.sum(do_blocks[i] * o_blocks[i], dim=-1, keepdim=True)
            of_scores = weights * (of_weights - delta)
            dq_blocks[i] = dq_blocks[i] + scale * torch.einsum("... r c, ... c d -> ... r d", of_scores, k_blocks[j])
            dk = dk + scale * torch.einsum("... r c, ... r d -> ... c d", of_scores, q_blocks[i])
        dk_blocks.append(dk)
        dv_blocks.append(dv)
    return torch.cat(dq_blocks, dim=2), torch.cat(dk_blocks, dim=2), torch.cat(dv_blocks, dim=2)
