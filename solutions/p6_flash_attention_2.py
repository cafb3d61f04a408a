"""Puzzle p6, solved. FlashAttention-2 (Dao 2023, algorithm 1): Q outside, K and V inside, O in registers."""

import triton
import triton.language as tl


@triton.jit
def flash_attention_2_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    # Line 3: for 1 <= i <= Tr. Each i is a program of its own.
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    k_head, v_head = k_ptr + head * k_head_stride, v_ptr + head * k_head_stride
    queries = start_q + tl.arange(0, Br)
    dims = tl.arange(0, D)
    offset = n_k - n_q  # the last query sees the last key: query i sees key j if j <= i + offset

    # Line 4: load Qi.
    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
    q_mask = queries[:, None] < n_q
    Qi = tl.load(q_ptr + q_offsets, mask=q_mask, other=0.0)

    # Line 5: Oi, li, mi, in registers.
    Oi = tl.zeros((Br, D), tl.float32)
    li = tl.zeros((Br,), tl.float32)
    mi = tl.full((Br,), -float("inf"), tl.float32)

    # Line 6: for 1 <= j <= Tc, as far as any query of this tile can see.
    end_k = n_k
    if CAUSAL:
        end_k = tl.minimum(n_k, start_q + Br + offset)
    for start_k in range(0, end_k, Bc):
        # Line 7: load Kj, Vj.
        keys = start_k + tl.arange(0, Bc)
        kv_offsets = keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
        kv_mask = keys[:, None] < n_k
        Kj = tl.load(k_head + kv_offsets, mask=kv_mask, other=0.0)
        Vj = tl.load(v_head + kv_offsets, mask=kv_mask, other=0.0)

        # Line 8: Sij = scale Qi Kj^T, of keys that exist and may be seen.
        Sij = scale * tl.dot(Qi, tl.trans(Kj))
        visible = keys[None, :] < n_k
        if CAUSAL:
            visible = visible & (keys[None, :] <= queries[:, None] + offset)
        Sij = tl.where(visible, Sij, -float("inf"))

        # Line 9: the new maximum, the exponentials, the rescaled normaliser.
        mi_new = tl.maximum(mi, tl.max(Sij, axis=1))
        shift = tl.where(mi_new == -float("inf"), 0.0, mi_new)  # a query that has seen no key yet
        Pij = tl.exp(Sij - shift[:, None])
        alpha = tl.exp(mi - shift)
        li = alpha * li + tl.sum(Pij, axis=1)

        # Line 10: Oi is rescaled, and not divided yet.
        Oi = alpha[:, None] * Oi + tl.dot(Pij.to(Vj.dtype), Vj)
        mi = mi_new

    # Line 12: divide once. A query that sees no key has li = 0, and Oi = 0 already.
    Oi = Oi / tl.where(li == 0.0, 1.0, li)[:, None]
    # Line 13: LSE = mi + log(li), which the backward pass needs.
    lse = mi + tl.log(li)

    # Lines 14, 15: write Oi, LSEi.
    tl.store(o_ptr + q_offsets, Oi, mask=q_mask)
    tl.store(lse_ptr + head * n_q + queries, lse, mask=queries < n_q)
