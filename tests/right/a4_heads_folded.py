"""Heads of all sequences on one axis, products by bmm, delta of each tile where it is needed."""

import torch


def heads_first(x):
    return x.reshape(-1, x.shape[2], x.shape[3])


def flash_attention_backward(q, k, v, o, lse, do, scale, causal, Br, Bc):
    n_q, n_k = q.shape[2], k.shape[2]
    L = lse.reshape(-1, n_q, 1)
    dQ, dK, dV = heads_first(torch.zeros_like(q)), heads_first(torch.zeros_like(k)), heads_first(torch.zeros_like(v))
    for i in range(0, n_q, Br):
        Q, dO, O = heads_first(q[:, :, i : i + Br]), heads_first(do[:, :, i : i + Br]), heads_first(o[:, :, i : i + Br])
        for j in range(0, n_k, Bc):
            if causal and j >= min(n_q, i + Br) + n_k - n_q:
                break
            K, V = heads_first(k[:, :, j : j + Bc]), heads_first(v[:, :, j : j + Bc])
            P = torch.exp(scale * torch.bmm(Q, K.transpose(1, 2)) - L[:, i : i + Br])
            if causal:
                P = torch.where(torch.ones_like(P[0]).tril(i - j + n_k - n_q) > 0, P, 0.0)
            dS = scale * P * (torch.bmm(dO, V.transpose(1, 2)) - torch.sum(dO * O, dim=2, keepdim=True))
            dQ[:, i : i + Br] += torch.bmm(dS, K)
            dK[:, j : j + Bc] += torch.bmm(dS.transpose(1, 2), Q)
            dV[:, j : j + Bc] += torch.bmm(P.transpose(1, 2), dO)
    return dQ.reshape(q.shape), dK.reshape(k.shape), dV.reshape(v.shape)
