"""Rung a3, solved. Attention in two passes over K: maximum and normaliser first, then O."""

import triton
import triton.language as tl


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
    for start_k in range(0, n_k, Bc):
        keys = start_k + tl.arange(0, Bc)
        kv_offsets = keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
        Kj = tl.load(k_head + kv_offsets, mask=keys[:, None] < n_k, other=0.0)
        Sij = scale * tl.dot(Qi, tl.trans(Kj))
        Sij = tl.where(keys[None, :] < n_k, Sij, -float("inf"))  # a key past the end must not count
        mi_new = tl.maximum(mi, tl.max(Sij, axis=1))  # never -inf: each tile has at least one key
        li = tl.exp(mi - mi_new) * li + tl.sum(tl.exp(Sij - mi_new[:, None]), axis=1)
        mi = mi_new

    # Pass 2: the same scores again; now their probabilities are known, and O is the sum of the weighted rows of V.
    Oi = tl.zeros((Br, D), tl.float32)
    for start_k in range(0, n_k, Bc):
        keys = start_k + tl.arange(0, Bc)
        kv_offsets = keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
        Kj = tl.load(k_head + kv_offsets, mask=keys[:, None] < n_k, other=0.0)
        Vj = tl.load(v_head + kv_offsets, mask=keys[:, None] < n_k, other=0.0)
        Sij = scale * tl.dot(Qi, tl.trans(Kj))
        Sij = tl.where(keys[None, :] < n_k, Sij, -float("inf"))
        Pij = tl.exp(Sij - mi[:, None]) / li[:, None]
        Oi += tl.dot(Pij.to(Vj.dtype), Vj)

    tl.store(o_ptr + q_offsets, Oi, mask=q_mask)
