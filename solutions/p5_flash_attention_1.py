"""Puzzle p5, solved. FlashAttention-1 (Dao et al. 2022, algorithm 1): K and V outside, Q, O, l and m inside."""

import triton
import triton.language as tl


@triton.jit
def flash_attention_1_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, l_ptr, m_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(0).to(tl.int64)
    q_head, o_head = q_ptr + head * q_head_stride, o_ptr + head * q_head_stride
    k_head, v_head = k_ptr + head * k_head_stride, v_ptr + head * k_head_stride
    l_head, m_head = l_ptr + head * n_q, m_ptr + head * n_q
    dims = tl.arange(0, D)

    for start_k in range(0, n_k, Bc):  # line 5: for 1 <= j <= Tc
        # Line 6: load Kj, Vj.
        keys = start_k + tl.arange(0, Bc)
        kv_offsets = keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
        kv_mask = keys[:, None] < n_k
        Kj = tl.load(k_head + kv_offsets, mask=kv_mask, other=0.0)
        Vj = tl.load(v_head + kv_offsets, mask=kv_mask, other=0.0)

        for start_q in range(0, n_q, Br):  # line 7: for 1 <= i <= Tr
            # Line 8: load Qi, Oi, li, mi.
            queries = start_q + tl.arange(0, Br)
            q_offsets = queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
            q_mask = queries[:, None] < n_q
            Qi = tl.load(q_head + q_offsets, mask=q_mask, other=0.0)
            Oi = tl.load(o_head + q_offsets, mask=q_mask, other=0.0)
            li = tl.load(l_head + queries, mask=queries < n_q, other=0.0)
            mi = tl.load(m_head + queries, mask=queries < n_q, other=-float("inf"))

            # Line 9: Sij = scale Qi Kj^T. Keys past the end must not count.
            Sij = scale * tl.dot(Qi, tl.trans(Kj))
            Sij = tl.where(keys[None, :] < n_k, Sij, -float("inf"))

            # Line 10: maximum, exponentials and their sum, of this tile alone.
            mij = tl.max(Sij, axis=1)
            Pij = tl.exp(Sij - mij[:, None])
            lij = tl.sum(Pij, axis=1)

            # Line 11: both seen from the new maximum, and added.
            mi_new = tl.maximum(mi, mij)
            old, new = tl.exp(mi - mi_new) * li, tl.exp(mij - mi_new)
            li_new = old + new * lij

            # Line 12: Oi was divided by li; take that back, add, divide by li_new.
            PVij = tl.dot(Pij.to(Vj.dtype), Vj)
            Oi = (old[:, None] * Oi + new[:, None] * PVij) / li_new[:, None]
            tl.store(o_head + q_offsets, Oi, mask=q_mask)

            # Line 13: write li, mi.
            tl.store(l_head + queries, li_new, mask=queries < n_q)
            tl.store(m_head + queries, mi_new, mask=queries < n_q)

        # The next iteration loads what other threads of this program have just stored.
        tl.debug_barrier()
