"""FlashAttention-2 in p5.

Finding: loops-swapped
"""

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
    dims = tl.arange(0, D)
    for start_q in range(0, n_q, Br):
        queries = start_q + tl.arange(0, Br)
        q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
        q_mask = queries[:, None] < n_q
        Qi = tl.load(q_ptr + q_offsets, mask=q_mask, other=0.0)
        Oi = tl.zeros((Br, D), tl.float32)
        li = tl.zeros((Br,), tl.float32)
        mi = tl.full((Br,), -float("inf"), tl.float32)
        for start_k in range(0, n_k, Bc):
            keys = start_k + tl.arange(0, Bc)
            kv_offsets = head * k_head_stride + keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
            kv_mask = keys[:, None] < n_k
            Kj = tl.load(k_ptr + kv_offsets, mask=kv_mask, other=0.0)
            Vj = tl.load(v_ptr + kv_offsets, mask=kv_mask, other=0.0)
            Sij = tl.where(keys[None, :] < n_k, scale * tl.dot(Qi, tl.trans(Kj)), -float("inf"))
            mi_new = tl.maximum(mi, tl.max(Sij, axis=1))
            Pij = tl.exp(Sij - mi_new[:, None])
            alpha = tl.exp(mi - mi_new)
            li = alpha * li + tl.sum(Pij, axis=1)
            Oi = alpha[:, None] * Oi + tl.dot(Pij.to(Vj.dtype), Vj)
            mi = mi_new
        tl.store(o_ptr + q_offsets, Oi / li[:, None], mask=q_mask)
        tl.store(l_ptr + head * n_q + queries, li, mask=queries < n_q)
        tl.store(m_ptr + head * n_q + queries, mi, mask=queries < n_q)
