"""Puzzle b1 at speed, step 1: a row that all queries share is loaded once.

A row stride of 0 saves memory, but no loads: a tile of the bias has Br times Bc addresses, of which only Bc differ.
Where all queries share a row, it is enough to load that row and add it to each row of scores. A bias with rows of its
own takes the other branch, and is a little slower for it.
"""

import triton
import triton.language as tl


@triton.jit
def attention_bias_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, o_ptr, lse_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    bias_head_stride, bias_row_stride, bias_col_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    # Puzzle p6, line by line; what is new stands under "the bias".
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    k_head, v_head = k_ptr + head * k_head_stride, v_ptr + head * k_head_stride
    bias_head = bias_ptr + head * bias_head_stride
    queries = start_q + tl.arange(0, Br)
    dims = tl.arange(0, D)
    offset = n_k - n_q  # query i sees key j if j <= i + offset

    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
    q_mask = queries[:, None] < n_q
    Qi = tl.load(q_ptr + q_offsets, mask=q_mask, other=0.0)
    Oi = tl.zeros((Br, D), tl.float32)
    li = tl.zeros((Br,), tl.float32)
    mi = tl.full((Br,), -float("inf"), tl.float32)

    end_k = n_k
    if CAUSAL:
        end_k = tl.minimum(n_k, start_q + Br + offset)
    for start_k in range(0, end_k, Bc):
        keys = start_k + tl.arange(0, Bc)
        kv_offsets = keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
        kv_mask = keys[:, None] < n_k
        Kj = tl.load(k_head + kv_offsets, mask=kv_mask, other=0.0)
        Vj = tl.load(v_head + kv_offsets, mask=kv_mask, other=0.0)

        # Before the product, so that neither waits for the other.
        if bias_row_stride == 0:
            row = tl.load(bias_head + keys.to(tl.int64) * bias_col_stride, mask=keys < n_k, other=0.0)
            Bij = tl.broadcast_to(row[None, :], (Br, Bc))
        else:
            bias_offsets = (
                queries[:, None].to(tl.int64) * bias_row_stride + keys[None, :].to(tl.int64) * bias_col_stride
            )
            Bij = tl.load(bias_head + bias_offsets, mask=q_mask & (keys[None, :] < n_k), other=0.0)
        Sij = scale * tl.dot(Qi, tl.trans(Kj)) + Bij
        visible = keys[None, :] < n_k
        if CAUSAL:
            visible = visible & (keys[None, :] <= queries[:, None] + offset)
        Sij = tl.where(visible, Sij, -float("inf"))

        mi_new = tl.maximum(mi, tl.max(Sij, axis=1))
        shift = tl.where(mi_new == -float("inf"), 0.0, mi_new)  # a query that has seen no key yet
        Pij = tl.exp(Sij - shift[:, None])
        alpha = tl.exp(mi - shift)
        li = alpha * li + tl.sum(Pij, axis=1)
        Oi = alpha[:, None] * Oi + tl.dot(Pij.to(Vj.dtype), Vj)
        mi = mi_new

    Oi = Oi / tl.where(li == 0.0, 1.0, li)[:, None]
    lse = mi + tl.log(li)
    tl.store(o_ptr + q_offsets, Oi, mask=q_mask)
    tl.store(lse_ptr + head * n_q + queries, lse, mask=queries < n_q)


@triton.jit
def dbias_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, do_ptr, lse_ptr, delta_ptr, dbias_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride, bias_row_stride, bias_col_stride,
    n_q, n_k, heads, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):  # fmt: skip
    # Each program owns one tile of dBias. What adds to it comes from every head, so the heads are a loop.
    queries = tl.program_id(0).to(tl.int64) * Br + tl.arange(0, Br)
    keys = tl.program_id(1).to(tl.int64) * Bc + tl.arange(0, Bc)
    dims = tl.arange(0, D)
    q_offsets = queries[:, None] * q_row_stride + dims[None, :]
    kv_offsets = keys[:, None] * k_row_stride + dims[None, :]
    q_mask, kv_mask = queries[:, None] < n_q, keys[:, None] < n_k

    # The bias is that of every head: one load, before the loop.
    tile_mask = q_mask & (keys[None, :] < n_k)
    bias_offsets = queries[:, None] * bias_row_stride + keys[None, :] * bias_col_stride
    Bij = tl.load(bias_ptr + bias_offsets, mask=tile_mask, other=0.0)
    dBij = tl.zeros((Br, Bc), tl.float32)

    for number in range(heads):
        head = number.to(tl.int64)
        Qi = tl.load(q_ptr + head * q_head_stride + q_offsets, mask=q_mask, other=0.0)
        Kj = tl.load(k_ptr + head * k_head_stride + kv_offsets, mask=kv_mask, other=0.0)
        Vj = tl.load(v_ptr + head * k_head_stride + kv_offsets, mask=kv_mask, other=0.0)
        dOi = tl.load(do_ptr + head * q_head_stride + q_offsets, mask=q_mask, other=0.0)
        LSEi = tl.load(lse_ptr + head * n_q + queries, mask=queries < n_q, other=0.0)
        delta_i = tl.load(delta_ptr + head * n_q + queries, mask=queries < n_q, other=0.0)

        # P and dS as in p7. S = scale QK^T + B, so dB is dS itself: no factor, and no further product.
        Pij = tl.exp(scale * tl.dot(Qi, tl.trans(Kj)) + Bij - LSEi[:, None])
        dPij = tl.dot(dOi, tl.trans(Vj))
        dBij += Pij * (dPij - delta_i[:, None])

    tl.store(dbias_ptr + queries[:, None] * n_k + keys[None, :], dBij, mask=tile_mask)
