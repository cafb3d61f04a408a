import torch


def flash_attention_backward(q, k, v, o, lse, do, scale, causal, Br, Bc):
    n_q, n_k = q.shape[2], k.shape[2]
    dQ = torch.zeros_like(q)
    dK = torch.zeros_like(k)
    dV = torch.zeros_like(v)
    # FILL IN (roughly 25 lines)

        # With causal, key start_k is seen from query start_k - (n_k - n_q) on: begin with the tile that holds it.
