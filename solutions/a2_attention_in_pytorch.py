"""Rung a2, solved. FlashAttention's forward pass in PyTorch: each tile of queries goes over the keys that it sees."""

import torch


def flash_attention_forward(q, k, v, scale, causal, Br, Bc):
    n_q, n_k = q.shape[2], k.shape[2]
    O = torch.zeros_like(q)
    LSE = torch.zeros_like(q[..., 0])

    for start_q in range(0, n_q, Br):
        Qi = q[:, :, start_q : start_q + Br]
        queries = torch.arange(start_q, start_q + Qi.shape[2])
        mi = torch.full_like(Qi[..., :1], -float("inf"))
        li = torch.zeros_like(mi)
        Oi = torch.zeros_like(Qi)

        # With causal, no query of the tile sees a key from here on.
        end = min(n_k, start_q + Br + n_k - n_q) if causal else n_k
        for start_k in range(0, end, Bc):
            Kj = k[:, :, start_k : start_k + Bc]
            Vj = v[:, :, start_k : start_k + Bc]
            Sij = scale * (Qi @ Kj.transpose(2, 3))
            if causal:
                keys = torch.arange(start_k, start_k + Kj.shape[2])
                Sij = Sij.masked_fill(keys > queries[:, None] + n_k - n_q, -float("inf"))
            mi_new = torch.maximum(mi, Sij.amax(dim=3, keepdim=True))
            shift = torch.where(mi_new == -float("inf"), 0.0, mi_new)  # as long as a query has seen no key
            Pij = torch.exp(Sij - shift)
            alpha = torch.exp(mi - shift)
            li = alpha * li + Pij.sum(dim=3, keepdim=True)
            Oi = alpha * Oi + Pij @ Vj
            mi = mi_new

        O[:, :, start_q : start_q + Br] = Oi / torch.where(li == 0, 1.0, li)  # without any key, 0 / 1
        LSE[:, :, start_q : start_q + Br] = (mi + torch.log(li))[..., 0]

    return O, LSE
