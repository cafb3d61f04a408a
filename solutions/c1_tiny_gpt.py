"""The capstone, solved: attention as a function of PyTorch's, forward and backward, by kernels of p6 and p7."""

from checker.train.kernels import delta_kernel, dk_dv_kernel, dq_kernel, flash_attention_2_kernel

import torch
import triton

BLOCK = 64  # queries of a tile, and keys


def attention_forward(ctx, q, k, v, scale):
    batch, heads, n_q, d = q.shape
    n_k = k.shape[2]
    # Dense: then the heads of all sequences follow one another, and one stride leads from each to the next.
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    o = torch.empty_like(q)
    lse = torch.empty(batch, heads, n_q, dtype=torch.float32, device=q.device)  # fp32, whatever Q is

    flash_attention_2_kernel[(triton.cdiv(n_q, BLOCK), batch * heads)](
        q, k, v, o, lse,
        n_q * d, d, n_k * d, d,
        n_q, n_k, scale,
        D=d, Br=BLOCK, Bc=BLOCK, CAUSAL=True,
    )  # fmt: skip
    ctx.save_for_backward(q, k, v, o, lse)
    ctx.scale = scale
    return o


def attention_backward(ctx, do):
    batch, heads, n_q, d = do.shape
    q, k, v, o, lse = ctx.saved_tensors
    n_k = k.shape[2]
    do = do.contiguous()
    delta = torch.empty_like(lse)
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)

    # A program for each tile of what is written: of queries twice, then of keys.
    delta_kernel[(triton.cdiv(n_q, BLOCK), batch * heads)](o, do, delta, n_q * d, d, n_q, D=d, Br=BLOCK)
    dq_kernel[(triton.cdiv(n_q, BLOCK), batch * heads)](
        q, k, v, do, lse, delta, dq,
        n_q * d, d, n_k * d, d,
        n_q, n_k, ctx.scale,
        D=d, Br=BLOCK, Bc=BLOCK,
    )  # fmt: skip
    dk_dv_kernel[(triton.cdiv(n_k, BLOCK), batch * heads)](
        q, k, v, do, lse, delta, dk, dv,
        n_q * d, d, n_k * d, d,
        n_q, n_k, ctx.scale,
        D=d, Br=BLOCK, Bc=BLOCK,
    )  # fmt: skip
    return dq, dk, dv, None  # scale is a number, and has no gradient
