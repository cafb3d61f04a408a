# own: --as "q, k, v, causal, scale"
"""Attention in two passes over the keys: first each query's maximum and sum, then O. Tiles are kept transposed."""

import torch
import triton
import triton.language as tl

INV_LN2 = tl.constexpr(1.4426950408889634)
LN2 = tl.constexpr(0.6931471805599453)


@triton.jit
def scores_t(k_base, stride_n, stride_d, q_t, start, n_k, shift, offs_q, scale_log2,
             D: tl.constexpr, BLOCK_K: tl.constexpr, CAUSAL: tl.constexpr):  # fmt: skip
    """S^T of one tile, (BLOCK_K, BLOCK_Q), in base 2."""
    offs_k = start + tl.arange(0, BLOCK_K)
    offs_d = tl.arange(0, D)
    k = tl.load(k_base + offs_k[:, None] * stride_n + offs_d[None, :] * stride_d, mask=offs_k[:, None] < n_k, other=0.0)
    s_t = tl.dot(k, q_t, out_dtype=tl.float32) * scale_log2
    s_t = tl.where(offs_k[:, None] < n_k, s_t, float("-inf"))
    if CAUSAL:
        s_t = tl.where(offs_k[:, None] <= offs_q[None, :] + shift, s_t, float("-inf"))
    return s_t


@triton.jit
def attn_kernel(
    q, k, v, o, lse,
    sqb, sqh, sqn, sqd, skb, skh, skn, skd, svb, svh, svn, svd, sob, soh, son, sod,
    H, n_q, n_k, scale,
    D: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(1) // H
    h = tl.program_id(1) % H
    offs_q = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    offs_d = tl.arange(0, D)
    q += b * sqb + h * sqh
    k += b * skb + h * skh
    v += b * svb + h * svh
    o += b * sob + h * soh
    mask_q = offs_q[None, :] < n_q
    q_t = tl.load(q + offs_q[None, :] * sqn + offs_d[:, None] * sqd, mask=mask_q, other=0.0)
    scale_log2 = scale * INV_LN2
    shift = n_k - n_q
    end = n_k
    if CAUSAL:
        end = tl.minimum(n_k, (tl.program_id(0) + 1) * BLOCK_Q + shift)

    # pass 1: maximum and normaliser of each query
    m = tl.full((BLOCK_Q,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    start = 0
    while start < end:
        s_t = scores_t(k, skn, skd, q_t, start, n_k, shift, offs_q, scale_log2, D, BLOCK_K, CAUSAL)
        m_new = tl.maximum(m, tl.max(s_t, 0))
        m_ref = tl.where(m_new == float("-inf"), 0.0, m_new)
        l = l * tl.exp2(m - m_ref) + tl.sum(tl.exp2(s_t - m_ref[None, :]), 0)
        m = m_new
        start += BLOCK_K
    m_ref = tl.where(m == float("-inf"), 0.0, m)
    l_ref = tl.where(l == 0.0, 1.0, l)

    # pass 2: O^T = V^T P^T
    acc_t = tl.zeros((D, BLOCK_Q), tl.float32)
    start = 0
    while start < end:
        s_t = scores_t(k, skn, skd, q_t, start, n_k, shift, offs_q, scale_log2, D, BLOCK_K, CAUSAL)
        p_t = tl.exp2(s_t - m_ref[None, :])
        offs_k = start + tl.arange(0, BLOCK_K)
        mask_k = offs_k[None, :] < n_k
        v_t = tl.load(v + offs_d[:, None] * svd + offs_k[None, :] * svn, mask=mask_k, other=0.0)
        acc_t += tl.dot(v_t, p_t.to(v_t.dtype))
        start += BLOCK_K
    acc_t = tl.math.fdiv(acc_t, l_ref[None, :])

    tl.store(o + offs_q[None, :] * son + offs_d[:, None] * sod, acc_t.to(o.dtype.element_ty), mask=mask_q)
    tl.store(lse + tl.program_id(1) * n_q + offs_q, m * LN2 + tl.math.log(l_ref), mask=offs_q < n_q)


def flash_attention(q, k, v, causal, sm_scale):
    B, H, n_q, D = q.shape
    n_k = k.shape[2]
    o = torch.empty_like(q)
    lse = torch.empty(B, H, n_q, device=q.device, dtype=torch.float32)
    BLOCK_Q = 64 if n_q > 32 else 16
    BLOCK_K = 32
    attn_kernel[(triton.cdiv(n_q, BLOCK_Q), B * H)](
        q, k, v, o, lse,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        H, n_q, n_k, sm_scale,
        D, BLOCK_Q, BLOCK_K, causal, num_stages=2,
    )  # fmt: skip
    return o, lse
