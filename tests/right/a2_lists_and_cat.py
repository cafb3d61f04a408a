"""Tiles from split and zip, rows of O collected in lists and put together with cat; helpers; merged by log-sum-exp."""

import torch


def positions(start, tile):
    return torch.arange(start, start + tile.shape[2])


def finite(lse):
    return torch.where(torch.isneginf(lse), 0.0, lse)


def attend(Q, K, V, hidden):
    S = Q @ K.mT
    if hidden is not None:
        S = S.masked_fill(hidden, -torch.inf)
    lse = S.logsumexp(dim=-1, keepdim=True)
    return (S - finite(lse)).exp() @ V, lse


def merge(first, second):
    (O1, lse1), (O2, lse2) = first, second
    lse = torch.logsumexp(torch.stack([lse1, lse2]), dim=0)
    return (lse1 - finite(lse)).exp() * O1 + (lse2 - finite(lse)).exp() * O2, lse


def flash_attention_forward(q, k, v, scale, causal, Br, Bc):
    offset = k.shape[2] - q.shape[2]
    outputs, sums = [], []
    for i, Q in enumerate(q.split(Br, dim=2)):
        rows = positions(i * Br, Q)[:, None] + offset
        last = (i * Br) + Q.shape[2] - 1 + offset
        state = torch.zeros_like(Q), torch.full_like(Q[..., :1], -torch.inf)
        for j, (K, V) in enumerate(zip(k.split(Bc, dim=2), v.split(Bc, dim=2))):
            if not causal or j * Bc <= last:
                hidden = positions(j * Bc, K) > rows if causal else None
                state = merge(state, attend(scale * Q, K, V, hidden))
        outputs.append(state[0])
        sums.append(state[1].squeeze(-1))
    return torch.cat(outputs, dim=2), torch.cat(sums, dim=2)
