"""Scores are made transposed, keys down and queries across, in base 2; heads of all sequences on one axis; from the end."""

import torch

LOG2_E = 1.4426950408889634
LN_2 = 0.6931471805599453


def flash_attention_forward(q, k, v, scale, causal, Br, Bc):
    batch, heads, n_q, d = q.shape
    n_k = k.shape[2]
    O = torch.zeros(batch * heads, d, n_q, dtype=q.dtype)
    LSE = torch.zeros(batch * heads, n_q, dtype=q.dtype)
    for start in reversed(range(0, n_q, Br)):
        Qt = q[:, :, start : start + Br].transpose(2, 3).reshape(batch * heads, d, -1)
        i = torch.arange(start, start + Qt.shape[2])
        end = max(0, min(n_k, start + Qt.shape[2] + n_k - n_q)) if causal else n_k
        m = torch.full((batch * heads, 1, Qt.shape[2]), -float("inf"), dtype=q.dtype)
        l = torch.zeros_like(m)
        Ot = torch.zeros_like(Qt)
        for j in reversed(range((end + Bc - 1) // Bc)):
            K = k[:, :, j * Bc : (j + 1) * Bc].reshape(batch * heads, -1, d)
            V = v[:, :, j * Bc : (j + 1) * Bc].reshape(batch * heads, -1, d)
            St = (scale * LOG2_E) * (K @ Qt)
            if causal:
                St = St + torch.where(torch.arange(j * Bc, j * Bc + K.shape[1])[:, None] > i + n_k - n_q, -float("inf"), 0.0)
            high = torch.maximum(m, St.max(dim=1, keepdim=True)[0])
            safe = torch.where(high > -float("inf"), high, 0.0)
            Pt = 2.0 ** (St - safe)
            l = 2.0 ** (m - safe) * l + Pt.sum(dim=1, keepdim=True)
            Ot = 2.0 ** (m - safe) * Ot + V.transpose(1, 2) @ Pt
            m = high
        O[:, :, start : start + Br] = Ot / torch.where(l > 0, l, 1.0)
        LSE[:, start : start + Br] = (LN_2 * m + torch.log(l)).squeeze(1)
    return O.transpose(1, 2).reshape(batch, heads, n_q, d), LSE.view(batch, heads, n_q)
