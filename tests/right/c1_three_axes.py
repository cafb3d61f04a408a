"""Sequences and heads on one axis by reshape; strides asked of the tensors, and unpacked in a tuple and in launches."""

import torch
import triton

from checker.train.kernels import delta_kernel, dk_dv_kernel, dq_kernel, flash_attention_2_kernel

BLOCK = 64


def flat(x):
    return x.reshape(-1, x.shape[2], x.shape[3]).contiguous()


def attention_forward(ctx, q, k, v, scale):
    batch, heads, n_q, d = q.shape
    n_k = k.shape[2]
    q3, k3, v3 = (flat(x) for x in (q, k, v))
    o3 = torch.empty_like(q3)
    lse = torch.empty((batch * heads, n_q), dtype=torch.float32, device=q.device)
    sizes = *q3.stride()[:2], *k3.stride()[:2], n_q, n_k
    grid = (triton.cdiv(n_q, BLOCK), batch * heads)
    flash_attention_2_kernel[grid](q3, k3, v3, o3, lse, *sizes, scale, D=d, Br=BLOCK, Bc=BLOCK, CAUSAL=True)
    ctx.save_for_backward(q3, k3, v3, o3, lse)
    ctx.scale, ctx.sizes = scale, sizes
    return o3.view(batch, heads, n_q, d)


def attention_backward(ctx, do):
    batch, heads, n_q, d = do.shape
    q3, k3, v3, o3, lse = ctx.saved_tensors
    do3, delta = flat(do), torch.empty_like(lse)
    dq, dk, dv = [torch.empty_like(x) for x in (q3, k3, v3)]
    of_queries, of_keys = ((triton.cdiv(n, BLOCK), batch * heads) for n in ctx.sizes[4:])
    sizes = (*ctx.sizes, ctx.scale)
    delta_kernel[of_queries](o3, do3, delta, *ctx.sizes[:2], n_q, D=d, Br=BLOCK)
    dk_dv_kernel[of_keys](q3, k3, v3, do3, lse, delta, dk, dv, *sizes, D=d, Br=BLOCK, Bc=BLOCK)
    dq_kernel[of_queries](q3, k3, v3, do3, lse, delta, dq, *sizes, D=d, Br=BLOCK, Bc=BLOCK)
    return *(x.view(batch, heads, -1, d) for x in (dq, dk, dv)), None
