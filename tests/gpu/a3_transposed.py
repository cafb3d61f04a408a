"""Attention in two passes with every tile transposed: right, and compiled wrongly by Triton 3.6 for an H200."""

import triton
import triton.language as tl


@triton.jit
def two_sweep_attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1).to(tl.int64)
    queries = tl.program_id(0) * Br + tl.arange(0, Br)
    dims = tl.arange(0, D)
    k_head, v_head = k_ptr + head * k_head_stride, v_ptr + head * k_head_stride
    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
    q_mask = queries[:, None] < n_q
    Qi = tl.load(q_ptr + q_offsets, mask=q_mask, other=0.0)
    mi = tl.full((Br,), -float("inf"), tl.float32)
    li = tl.zeros((Br,), tl.float32)
    for start_k in range(0, n_k, Bc):
        keys = start_k + tl.arange(0, Bc)
        kv_offsets = keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
        Kj = tl.load(k_head + kv_offsets, mask=keys[:, None] < n_k, other=0.0)
        Sji = tl.where(keys[:, None] < n_k, scale * tl.dot(Kj, tl.trans(Qi)), -float("inf"))
        mi_new = tl.maximum(mi, tl.max(Sji, axis=0))
        li = tl.exp(mi - mi_new) * li + tl.sum(tl.exp(Sji - mi_new[None, :]), axis=0)
        mi = mi_new
    Oi = tl.zeros((D, Br), tl.float32)
    for start_k in range(0, n_k, Bc):
        keys = start_k + tl.arange(0, Bc)
        kv_offsets = keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
        Kj = tl.load(k_head + kv_offsets, mask=keys[:, None] < n_k, other=0.0)
        Vj = tl.load(v_head + kv_offsets, mask=keys[:, None] < n_k, other=0.0)
        Sji = tl.where(keys[:, None] < n_k, scale * tl.dot(Kj, tl.trans(Qi)), -float("inf"))
        Pji = tl.exp(Sji - mi[None, :]) / li[None, :]
        Oi += tl.dot(tl.trans(Vj), Pji.to(Vj.dtype))
    tl.store(o_ptr + q_offsets, tl.trans(Oi), mask=q_mask)
