"""One query after the other, with all keys: a row of scores is shorter than a tile where rows are short.

Finding: all-keys-at-once
"""

import torch



def flash_attention_forward(q, k, v, scale, causal, Br, Bc):
    n_q, n_k = q.shape[2], k.shape[2]
    O = torch.zeros_like(q)
    LSE = torch.zeros_like(q[..., 0])
    for i in range(n_q):
        end = min(n_k, i + 1 + n_k - n_q) if causal else n_k
        if end <= 0:
            LSE[:, :, i] = -float("inf")
            continue
        s = scale * (q[:, :, i : i + 1] @ k[:, :, :end].transpose(2, 3))
        O[:, :, i : i + 1] = torch.softmax(s, dim=3) @ v[:, :, :end]
        LSE[:, :, i] = torch.logsumexp(s, dim=3)[..., 0]
    return O, LSE
