"""O, l and m of all queries are tensors from the start, and each visit writes into slices of them, in place."""

import torch


def flash_attention_forward(q, k, v, scale, causal, Br, Bc):
    n_q, n_k = q.shape[-2], k.shape[-2]
    O = torch.zeros_like(q)
    l = q.new_zeros(q.shape[:-1])
    m = q.new_full(q.shape[:-1], -float("inf"))
    steps = (n_k + Bc - 1) // Bc
    for i in range((n_q + Br - 1) // Br):
        above, below = i * Br, min((i + 1) * Br, n_q)
        rows = slice(above, below)
        seen = min(n_k, below + n_k - n_q) if causal else n_k
        for j in range(min(steps, (max(seen, 0) + Bc - 1) // Bc)):
            left = j * Bc
            cols = slice(left, min(left + Bc, n_k))
            S = torch.matmul(q[..., rows, :], k[..., cols, :].transpose(-2, -1)).mul_(scale)
            if causal:
                ahead = torch.ones(S.shape[-2:], dtype=torch.bool).triu(above + n_k - n_q - left + 1)
                S.masked_fill_(ahead, -float("inf"))
            old = m[..., rows].clone()
            m[..., rows] = torch.maximum(old, S.amax(-1))
            top = torch.where(m[..., rows] == -float("inf"), 0.0, m[..., rows])
            S.sub_(top[..., None]).exp_()
            factor = (old - top).exp()
            l[..., rows] = l[..., rows] * factor + S.sum(-1)
            O[..., rows, :] *= factor[..., None]
            O[..., rows, :] += S @ v[..., cols, :]
        O[..., rows, :] /= torch.where(l[..., rows, None] > 0, l[..., rows, None], 1.0)
    return O, m.add_(torch.log(l))
