"""A helper computes the scores of both passes; pointers to tiles move on from iteration to iteration."""

import triton
import triton.language as tl


@triton.jit
def scores(Qi, k_tile_ptr, start_k, k_row_stride, n_k, scale, D: tl.constexpr, Bc: tl.constexpr):
    keys = start_k + tl.arange(0, Bc)
    offsets = tl.arange(0, Bc)[:, None] * k_row_stride + tl.arange(0, D)[None, :]
    Kj = tl.load(k_tile_ptr + offsets, mask=keys[:, None] < n_k, other=0.0)
    return tl.where(keys[None, :] < n_k, scale * tl.dot(Qi, tl.trans(Kj)), -float("inf"))


@triton.jit
def two_sweep_attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):  # fmt: skip
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    queries = start_q + tl.arange(0, Br)
    dims = tl.arange(0, D)
    k_head, v_head = k_ptr + head * k_head_stride, v_ptr + head * k_head_stride

    # The queries of this program, loaded once and used in both passes.
    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
    q_mask = queries[:, None] < n_q
    Qi = tl.load(q_ptr + q_offsets, mask=q_mask, other=0.0)

    # Pass 1: maximum and normaliser of each query, as in p4. The scores are computed, not loaded.
    mi = tl.full((Br,), -float("inf"), tl.float32)
    li = tl.zeros((Br,), tl.float32)
    k_tile_ptr = k_head
    for start_k in range(0, n_k, Bc):
        Sij = scores(Qi, k_tile_ptr, start_k, k_row_stride, n_k, scale, D, Bc)
        mi_new = tl.maximum(mi, tl.max(Sij, axis=1))  # never -inf: each tile has at least one key
        li = tl.exp(mi - mi_new) * li + tl.sum(tl.exp(Sij - mi_new[:, None]), axis=1)
        mi = mi_new
        k_tile_ptr += Bc * k_row_stride

    # Pass 2: the same scores again; now their probabilities are known, and O is the sum of the weighted rows of V.
    Oi = tl.zeros((Br, D), tl.float32)
    k_tile_ptr = k_head
    v_tile_ptr = v_head + tl.arange(0, Bc)[:, None] * k_row_stride + dims[None, :]
    for start_k in range(0, n_k, Bc):
        Sij = scores(Qi, k_tile_ptr, start_k, k_row_stride, n_k, scale, D, Bc)
        Vj = tl.load(v_tile_ptr, mask=(start_k + tl.arange(0, Bc))[:, None] < n_k, other=0.0)
        Pij = tl.exp(Sij - mi[:, None]) / li[:, None]
        Oi += tl.dot(Pij.to(Vj.dtype), Vj)
        k_tile_ptr += Bc * k_row_stride
        v_tile_ptr += Bc * k_row_stride

    tl.store(o_ptr + q_offsets, Oi, mask=q_mask)
