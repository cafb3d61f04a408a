"""All keys in one block of 128: right, and not FlashAttention.

Finding: block-too-large
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
    keys = tl.arange(0, 128)
    kv_offsets = head * k_head_stride + keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
    Kj = tl.load(k_ptr + kv_offsets, mask=keys[:, None] < n_k, other=0.0)
    Vj = tl.load(v_ptr + kv_offsets, mask=keys[:, None] < n_k, other=0.0)
    for start_q in range(0, n_q, Br):
        queries = start_q + tl.arange(0, Br)
        q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
        q_mask = queries[:, None] < n_q
        Qi = tl.load(q_ptr + q_offsets, mask=q_mask, other=0.0)
        Sij = tl.where(keys[None, :] < n_k, scale * tl.dot(Qi, tl.trans(Kj)), -float("inf"))
        mi = tl.max(Sij, axis=1)
        Pij = tl.exp(Sij - mi[:, None])
        li = tl.sum(Pij, axis=1)
        Oi = tl.dot(Pij.to(Vj.dtype), Vj) / li[:, None]
        tl.store(o_ptr + q_offsets, Oi, mask=q_mask)
        tl.store(l_ptr + head * n_q + queries, li, mask=queries < n_q)
        tl.store(m_ptr + head * n_q + queries, mi, mask=queries < n_q)
