"""dK and dV from transposed tiles: P^T is computed as it is needed."""

import triton
import triton.language as tl


@triton.jit
def delta_kernel(
    o_ptr, do_ptr, delta_ptr,
    q_head_stride, q_row_stride,
    n_q,
    D: tl.constexpr, Br: tl.constexpr,
):  # fmt: skip
    # Line 4: delta = rowsum(dO * O).
    queries = tl.program_id(0) * Br + tl.arange(0, Br)
    head = tl.program_id(1).to(tl.int64)
    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + tl.arange(0, D)[None, :]
    q_mask = queries[:, None] < n_q
    Oi = tl.load(o_ptr + q_offsets, mask=q_mask, other=0.0).to(tl.float32)
    dOi = tl.load(do_ptr + q_offsets, mask=q_mask, other=0.0).to(tl.float32)
    tl.store(delta_ptr + head * n_q + queries, tl.sum(Oi * dOi, axis=1), mask=queries < n_q)


@triton.jit
def dk_dv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):  # fmt: skip
    # Line 5: for 1 <= j <= Tc. Each j is a program of its own.
    start_k = tl.program_id(0) * Bc
    head = tl.program_id(1).to(tl.int64)
    q_head, do_head = q_ptr + head * q_head_stride, do_ptr + head * q_head_stride
    lse_head, delta_head = lse_ptr + head * n_q, delta_ptr + head * n_q
    keys = start_k + tl.arange(0, Bc)
    dims = tl.arange(0, D)
    offset = n_k - n_q  # query i sees key j if j <= i + offset

    # Line 6: load Kj, Vj.
    kv_offsets = head * k_head_stride + keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
    kv_mask = keys[:, None] < n_k
    Kj = tl.load(k_ptr + kv_offsets, mask=kv_mask, other=0.0)
    Vj = tl.load(v_ptr + kv_offsets, mask=kv_mask, other=0.0)

    # Line 7: dKj, dVj, in registers.
    dKj = tl.zeros((Bc, D), tl.float32)
    dVj = tl.zeros((Bc, D), tl.float32)

    # Line 8: for 1 <= i <= Tr, from the first tile with a query that sees any of these keys.
    first_q = tl.maximum(0, start_k - offset) // Br * Br
    for start_q in range(first_q, n_q, Br):
        # Line 9: load Qi, dOi, LSEi, delta_i.
        queries = start_q + tl.arange(0, Br)
        q_offsets = queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
        q_mask = queries[:, None] < n_q
        Qi = tl.load(q_head + q_offsets, mask=q_mask, other=0.0)
        dOi = tl.load(do_head + q_offsets, mask=q_mask, other=0.0)
        LSEi = tl.load(lse_head + queries, mask=queries < n_q, other=0.0)
        delta_i = tl.load(delta_head + queries, mask=queries < n_q, other=0.0)

        # Lines 10, 11: Sij, and Pij from the LSE: no maximum, no sum. Hidden entries are 0, whatever exp gives.
        Sji = scale * tl.dot(Kj, tl.trans(Qi))
        visible = (queries[None, :] < n_q) & (keys[:, None] <= queries[None, :] + offset)
        Pji = tl.where(visible, tl.exp(Sji - LSEi[None, :]), 0.0)

        # Line 12: dVj += Pij^T dOi.
        dVj += tl.dot(Pji.to(dOi.dtype), dOi)
        # Lines 13, 14: dPij = dOi Vj^T, dSij = Pij * (dPij - delta_i).
        dPji = tl.dot(Vj, tl.trans(dOi))
        dSji = Pji * (dPji - delta_i[None, :])
        # Line 16: dKj += dSij^T Qi.
        dKj += tl.dot(dSji.to(Qi.dtype), Qi)

    # Line 18: write dKj, dVj. S was scaled, so dK is.
    tl.store(dk_ptr + kv_offsets, scale * dKj, mask=kv_mask)
    tl.store(dv_ptr + kv_offsets, dVj, mask=kv_mask)


@triton.jit
def dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):  # fmt: skip
    # The same tiles, with the loops exchanged, so that each dQi belongs to one program.
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    k_head, v_head = k_ptr + head * k_head_stride, v_ptr + head * k_head_stride
    queries = start_q + tl.arange(0, Br)
    dims = tl.arange(0, D)
    offset = n_k - n_q

    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
    q_mask = queries[:, None] < n_q
    Qi = tl.load(q_ptr + q_offsets, mask=q_mask, other=0.0)
    dOi = tl.load(do_ptr + q_offsets, mask=q_mask, other=0.0)
    LSEi = tl.load(lse_ptr + head * n_q + queries, mask=queries < n_q, other=0.0)
    delta_i = tl.load(delta_ptr + head * n_q + queries, mask=queries < n_q, other=0.0)
    dQi = tl.zeros((Br, D), tl.float32)

    end_k = tl.minimum(n_k, start_q + Br + offset)  # as far as any query of this tile can see
    for start_k in range(0, end_k, Bc):
        keys = start_k + tl.arange(0, Bc)
        kv_offsets = keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
        kv_mask = keys[:, None] < n_k
        Kj = tl.load(k_head + kv_offsets, mask=kv_mask, other=0.0)
        Vj = tl.load(v_head + kv_offsets, mask=kv_mask, other=0.0)

        Sij = scale * tl.dot(Qi, tl.trans(Kj))
        visible = (keys[None, :] < n_k) & (keys[None, :] <= queries[:, None] + offset)
        Pij = tl.where(visible, tl.exp(Sij - LSEi[:, None]), 0.0)
        dPij = tl.dot(dOi, tl.trans(Vj))
        dSij = Pij * (dPij - delta_i[:, None])
        # Line 15: dQi += dSij Kj.
        dQi += tl.dot(dSij.to(Kj.dtype), Kj)

    tl.store(dq_ptr + q_offsets, scale * dQi, mask=q_mask)
