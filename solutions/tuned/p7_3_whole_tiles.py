"""Puzzle p7 at speed, step 3: loops without masks.

For a tile of keys there are three kinds of query tiles, in this order: those on the diagonal, of which some queries
do not see some keys; whole ones, which need no mask; and at most one behind the end of the sequence. For a tile of
queries there are whole tiles of keys, and then those on the diagonal. Each kind has its own loop around one helper.
"""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def delta_kernel(
    o_ptr, do_ptr, delta_ptr,
    q_head_stride, q_row_stride,
    n_q,
    D: tl.constexpr, Br: tl.constexpr,
):  # fmt: skip
    queries = tl.program_id(0) * Br + tl.arange(0, Br)
    head = tl.program_id(1).to(tl.int64)
    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + tl.arange(0, D)[None, :]
    q_mask = queries[:, None] < n_q
    Oi = tl.load(o_ptr + q_offsets, mask=q_mask, other=0.0).to(tl.float32)
    dOi = tl.load(do_ptr + q_offsets, mask=q_mask, other=0.0).to(tl.float32)
    tl.store(delta_ptr + head * n_q + queries, tl.sum(Oi * dOi, axis=1), mask=queries < n_q)


@triton.jit
def add_queries(
    dKj, dVj, Kj, Vj, q_head, do_head, lse_head, delta_head, q_row_stride, start_q, keys, n_q, offset, scale_log2,
    D: tl.constexpr, Br: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    queries = start_q + tl.arange(0, Br)
    q_offsets = queries[:, None].to(tl.int64) * q_row_stride + tl.arange(0, D)[None, :]
    if MASKED:
        Qi = tl.load(q_head + q_offsets, mask=queries[:, None] < n_q, other=0.0)
        LSEi = tl.load(lse_head + queries, mask=queries < n_q, other=0.0)
    else:
        Qi = tl.load(q_head + q_offsets)
        LSEi = tl.load(lse_head + queries)
    # S and P are computed transposed: so P^T and dS^T come out as the products below take them.
    S_t = tl.dot(Kj, tl.trans(Qi))
    P_t = tl.exp2(S_t * scale_log2 - (LSEi * LOG2_E)[None, :])
    if MASKED:
        visible = (queries[None, :] < n_q) & (keys[:, None] <= queries[None, :] + offset)
        P_t = tl.where(visible, P_t, 0.0)
        dOi = tl.load(do_head + q_offsets, mask=queries[:, None] < n_q, other=0.0)
        delta_i = tl.load(delta_head + queries, mask=queries < n_q, other=0.0)
    else:
        dOi = tl.load(do_head + q_offsets)
        delta_i = tl.load(delta_head + queries)
    dVj = tl.dot(P_t.to(dOi.dtype), dOi, dVj)
    dP_t = tl.dot(Vj, tl.trans(dOi))
    dS_t = P_t * (dP_t - delta_i[None, :])
    dKj = tl.dot(dS_t.to(Qi.dtype), Qi, dKj)
    return dKj, dVj


@triton.jit
def dk_dv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):  # fmt: skip
    start_k = tl.program_id(0) * Bc
    head = tl.program_id(1).to(tl.int64)
    q_head, do_head = q_ptr + head * q_head_stride, do_ptr + head * q_head_stride
    lse_head, delta_head = lse_ptr + head * n_q, delta_ptr + head * n_q
    keys = start_k + tl.arange(0, Bc)
    offset = n_k - n_q
    scale_log2 = scale * LOG2_E

    kv_offsets = head * k_head_stride + keys[:, None].to(tl.int64) * k_row_stride + tl.arange(0, D)[None, :]
    kv_mask = keys[:, None] < n_k
    Kj = tl.load(k_ptr + kv_offsets, mask=kv_mask, other=0.0)
    Vj = tl.load(v_ptr + kv_offsets, mask=kv_mask, other=0.0)
    dKj = tl.zeros((Bc, D), tl.float32)
    dVj = tl.zeros((Bc, D), tl.float32)

    # Tiles on the diagonal, whole tiles that see all of these keys, and the tail.
    first_q = tl.maximum(0, start_k - offset) // Br * Br
    whole_q = tl.minimum(n_q, tl.cdiv(tl.maximum(0, start_k + Bc - 1 - offset), Br) * Br)
    tail_q = tl.maximum(whole_q, n_q // Br * Br)
    for start_q in range(first_q, whole_q, Br):
        dKj, dVj = add_queries(
            dKj, dVj, Kj, Vj, q_head, do_head, lse_head, delta_head, q_row_stride, start_q, keys, n_q, offset,
            scale_log2, D, Br, MASKED=True,
        )  # fmt: skip
    for start_q in range(whole_q, tail_q, Br):
        dKj, dVj = add_queries(
            dKj, dVj, Kj, Vj, q_head, do_head, lse_head, delta_head, q_row_stride, start_q, keys, n_q, offset,
            scale_log2, D, Br, MASKED=False,
        )  # fmt: skip
    for start_q in range(tail_q, n_q, Br):
        dKj, dVj = add_queries(
            dKj, dVj, Kj, Vj, q_head, do_head, lse_head, delta_head, q_row_stride, start_q, keys, n_q, offset,
            scale_log2, D, Br, MASKED=True,
        )  # fmt: skip

    tl.store(dk_ptr + kv_offsets, scale * dKj, mask=kv_mask)
    tl.store(dv_ptr + kv_offsets, dVj, mask=kv_mask)


@triton.jit
def add_keys(
    dQi, Qi, dOi, LSEi, delta_i, k_head, v_head, k_row_stride, start_k, queries, n_k, offset, scale_log2,
    D: tl.constexpr, Bc: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    keys = start_k + tl.arange(0, Bc)
    kv_offsets = keys[:, None].to(tl.int64) * k_row_stride + tl.arange(0, D)[None, :]
    if MASKED:
        Kj = tl.load(k_head + kv_offsets, mask=keys[:, None] < n_k, other=0.0)
        Vj = tl.load(v_head + kv_offsets, mask=keys[:, None] < n_k, other=0.0)
    else:
        Kj = tl.load(k_head + kv_offsets)
        Vj = tl.load(v_head + kv_offsets)
    Sij = tl.dot(Qi, tl.trans(Kj))
    Pij = tl.exp2(Sij * scale_log2 - (LSEi * LOG2_E)[:, None])
    if MASKED:
        visible = (keys[None, :] < n_k) & (keys[None, :] <= queries[:, None] + offset)
        Pij = tl.where(visible, Pij, 0.0)
    dPij = tl.dot(dOi, tl.trans(Vj))
    dSij = Pij * (dPij - delta_i[:, None])
    return tl.dot(dSij.to(Kj.dtype), Kj, dQi)


@triton.jit
def dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):  # fmt: skip
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    k_head, v_head = k_ptr + head * k_head_stride, v_ptr + head * k_head_stride
    queries = start_q + tl.arange(0, Br)
    offset = n_k - n_q
    scale_log2 = scale * LOG2_E

    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + tl.arange(0, D)[None, :]
    q_mask = queries[:, None] < n_q
    Qi = tl.load(q_ptr + q_offsets, mask=q_mask, other=0.0)
    dOi = tl.load(do_ptr + q_offsets, mask=q_mask, other=0.0)
    LSEi = tl.load(lse_ptr + head * n_q + queries, mask=queries < n_q, other=0.0)
    delta_i = tl.load(delta_ptr + head * n_q + queries, mask=queries < n_q, other=0.0)
    dQi = tl.zeros((Br, D), tl.float32)

    end_k = tl.minimum(n_k, start_q + Br + offset)
    whole_k = tl.minimum(n_k, tl.maximum(0, start_q + 1 + offset)) // Bc * Bc
    for start_k in range(0, whole_k, Bc):
        dQi = add_keys(
            dQi, Qi, dOi, LSEi, delta_i, k_head, v_head, k_row_stride, start_k, queries, n_k, offset, scale_log2,
            D, Bc, MASKED=False,
        )  # fmt: skip
    for start_k in range(whole_k, end_k, Bc):
        dQi = add_keys(
            dQi, Qi, dOi, LSEi, delta_i, k_head, v_head, k_row_stride, start_k, queries, n_k, offset, scale_log2,
            D, Bc, MASKED=True,
        )  # fmt: skip
    tl.store(dq_ptr + q_offsets, scale * dQi, mask=q_mask)
