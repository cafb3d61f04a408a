"""Puzzle p6 at speed, step 4: offsets that stay.

Inside a tile nothing changes from turn to turn: the next tile of keys lies Bc rows further, and so does every one of
its elements. So the offsets inside a tile are computed once, and each turn adds one number to them, the tile's start:
one multiplication instead of one for every row. To carry pointers from turn to turn instead, and add to them, looks
the same and is not: the compiler loses sight of which addresses lie side by side.
"""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def add_tile(
    Oi, li, mi, Qi, k_head, v_head, k_row_stride, tile, start_k, queries, n_k, offset, scale_log2,
    Bc: tl.constexpr, CAUSAL: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    keys = start_k + tl.arange(0, Bc)
    start = start_k.to(tl.int64) * k_row_stride
    if MASKED:
        Kj = tl.load(k_head + start + tile, mask=keys[:, None] < n_k, other=0.0)
    else:
        Kj = tl.load(k_head + start + tile)
    Sij = tl.dot(Qi, tl.trans(Kj))
    if MASKED:
        visible = keys[None, :] < n_k
        if CAUSAL:
            visible = visible & (keys[None, :] <= queries[:, None] + offset)
        Sij = tl.where(visible, Sij, -float("inf"))

    mi_new = tl.maximum(mi, tl.max(Sij, axis=1) * scale_log2)
    shift = mi_new
    if MASKED:  # a query that has seen no key yet
        shift = tl.where(mi_new == -float("inf"), 0.0, mi_new)
    Pij = tl.exp2(Sij * scale_log2 - shift[:, None])
    alpha = tl.exp2(mi - shift)
    li = alpha * li + tl.sum(Pij, axis=1)
    if MASKED:
        Vj = tl.load(v_head + start + tile, mask=keys[:, None] < n_k, other=0.0)
    else:
        Vj = tl.load(v_head + start + tile)
    Oi = tl.dot(Pij.to(Vj.dtype), Vj, Oi * alpha[:, None])
    return Oi, li, mi_new


@triton.jit
def flash_attention_2_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0)
    if CAUSAL:
        i = tl.num_programs(0) - 1 - i
    start_q = i * Br
    head = tl.program_id(1).to(tl.int64)
    k_head, v_head = k_ptr + head * k_head_stride, v_ptr + head * k_head_stride
    queries = start_q + tl.arange(0, Br)
    offset = n_k - n_q
    scale_log2 = scale * LOG2_E  # exp(scale * s) = exp2(scale * log2(e) * s)

    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + tl.arange(0, D)[None, :]
    q_mask = queries[:, None] < n_q
    Qi = tl.load(q_ptr + q_offsets, mask=q_mask, other=0.0)

    Oi = tl.zeros((Br, D), tl.float32)
    li = tl.zeros((Br,), tl.float32)
    mi = tl.full((Br,), -float("inf"), tl.float32)

    tile = tl.arange(0, Bc)[:, None] * k_row_stride + tl.arange(0, D)[None, :]

    # Tiles whose keys all exist and are seen by every query of this program need no mask.
    end_k = n_k
    whole_k = n_k // Bc * Bc
    if CAUSAL:
        end_k = tl.minimum(n_k, start_q + Br + offset)
        whole_k = tl.minimum(n_k, tl.maximum(0, start_q + 1 + offset)) // Bc * Bc
    for start_k in range(0, whole_k, Bc):
        Oi, li, mi = add_tile(
            Oi, li, mi, Qi, k_head, v_head, k_row_stride, tile, start_k, queries, n_k, offset, scale_log2,
            Bc, CAUSAL, MASKED=False,
        )  # fmt: skip
    for start_k in range(whole_k, end_k, Bc):
        Oi, li, mi = add_tile(
            Oi, li, mi, Qi, k_head, v_head, k_row_stride, tile, start_k, queries, n_k, offset, scale_log2,
            Bc, CAUSAL, MASKED=True,
        )  # fmt: skip

    Oi = Oi / tl.where(li == 0.0, 1.0, li)[:, None]
    lse = (mi + tl.log2(li)) / LOG2_E
    tl.store(o_ptr + q_offsets, Oi, mask=q_mask)
    tl.store(lse_ptr + head * n_q + queries, lse, mask=queries < n_q)
