# own: --function flash_attn_func --as "q, k, v, causal, scale" --layout bnhd --head-dim 16,32,64,128
import math

import torch
import triton
import triton.language as tl


@triton.heuristics(
    {
        "EVEN_M": lambda args: args["seqlen_q"] % args["BLOCK_M"] == 0,
        "EVEN_N": lambda args: args["seqlen_k"] % args["BLOCK_N"] == 0,
    }
)
@triton.jit
def _fwd_kernel(
    Q,
    K,
    V,
    Out,
    Lse,
    softmax_scale,
    stride_qb,
    stride_qh,
    stride_qm,
    stride_qd,
    stride_kb,
    stride_kh,
    stride_kn,
    stride_kd,
    stride_vb,
    stride_vh,
    stride_vn,
    stride_vd,
    stride_ob,
    stride_oh,
    stride_om,
    stride_od,
    nheads,
    seqlen_q,
    seqlen_k,
    IS_CAUSAL: tl.constexpr,
    BLOCK_HEADDIM: tl.constexpr,
    EVEN_M: tl.constexpr,
    EVEN_N: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    start_m = tl.program_id(0)
    off_hb = tl.program_id(1)
    off_b = off_hb // nheads
    off_h = off_hb % nheads
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_HEADDIM)
    q_ptrs = Q + off_b * stride_qb + off_h * stride_qh + (offs_m[:, None] * stride_qm + offs_d[None, :] * stride_qd)
    k_ptrs = K + off_b * stride_kb + off_h * stride_kh + (offs_n[:, None] * stride_kn + offs_d[None, :] * stride_kd)
    v_ptrs = V + off_b * stride_vb + off_h * stride_vh + (offs_n[:, None] * stride_vn + offs_d[None, :] * stride_vd)

    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc_o = tl.zeros([BLOCK_M, BLOCK_HEADDIM], dtype=tl.float32)
    if EVEN_M:
        q = tl.load(q_ptrs)
    else:
        q = tl.load(q_ptrs, mask=offs_m[:, None] < seqlen_q, other=0.0)
    # the mask is aligned to the bottom right corner
    shift = seqlen_k - seqlen_q
    end_n = seqlen_k if not IS_CAUSAL else tl.minimum((start_m + 1) * BLOCK_M + shift, seqlen_k)
    for start_n in range(0, end_n, BLOCK_N):
        if EVEN_N:
            k = tl.load(k_ptrs + start_n * stride_kn)
        else:
            k = tl.load(k_ptrs + start_n * stride_kn, mask=(start_n + offs_n)[:, None] < seqlen_k, other=0.0)
        qk = tl.dot(q, tl.trans(k), input_precision="ieee")
        if not EVEN_N:
            qk += tl.where((start_n + offs_n)[None, :] < seqlen_k, 0, float("-inf"))
        if IS_CAUSAL:
            qk += tl.where(offs_m[:, None] + shift >= (start_n + offs_n)[None, :], 0, float("-inf"))
        m_ij = tl.maximum(tl.max(qk, 1) * softmax_scale, m_i)
        # rows that have not seen any key yet
        m_safe = tl.where(m_ij == float("-inf"), 0.0, m_ij)
        p = tl.exp(qk * softmax_scale - m_safe[:, None])
        acc_o_scale = tl.exp(m_i - m_safe)
        l_i = l_i * acc_o_scale + tl.sum(p, 1)
        acc_o = acc_o * acc_o_scale[:, None]
        if EVEN_N:
            v = tl.load(v_ptrs + start_n * stride_vn)
        else:
            v = tl.load(v_ptrs + start_n * stride_vn, mask=(start_n + offs_n)[:, None] < seqlen_k, other=0.0)
        acc_o += tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_ij

    lse_i = m_i + tl.log(l_i)
    acc_o = acc_o / tl.where(l_i == 0.0, 1.0, l_i)[:, None]
    lse_ptrs = Lse + off_hb * seqlen_q + offs_m
    out_ptrs = Out + off_b * stride_ob + off_h * stride_oh + (offs_m[:, None] * stride_om + offs_d[None, :] * stride_od)
    if EVEN_M:
        tl.store(lse_ptrs, lse_i)
        tl.store(out_ptrs, acc_o)
    else:
        tl.store(lse_ptrs, lse_i, mask=offs_m < seqlen_q)
        tl.store(out_ptrs, acc_o, mask=offs_m[:, None] < seqlen_q)


def flash_attn_func(q, k, v, causal=False, softmax_scale=None):
    """q: (batch, seqlen_q, nheads, d), k and v: (batch, seqlen_k, nheads, d)."""
    batch, seqlen_q, nheads, d = q.shape
    _, seqlen_k, _, _ = k.shape
    assert k.shape == (batch, seqlen_k, nheads, d)
    assert v.shape == (batch, seqlen_k, nheads, d)
    assert d <= 128, "only head dimensions up to 128"
    assert q.dtype == k.dtype == v.dtype, "all tensors must have the same type"
    if softmax_scale is None:
        softmax_scale = 1.0 / math.sqrt(d)

    lse = torch.empty((batch, nheads, seqlen_q), device=q.device, dtype=torch.float32)
    o = torch.empty_like(q)
    BLOCK = 64
    grid = lambda META: (triton.cdiv(seqlen_q, META["BLOCK_M"]), batch * nheads)
    _fwd_kernel[grid](
        q,
        k,
        v,
        o,
        lse,
        softmax_scale,
        q.stride(0),
        q.stride(2),
        q.stride(1),
        q.stride(3),
        k.stride(0),
        k.stride(2),
        k.stride(1),
        k.stride(3),
        v.stride(0),
        v.stride(2),
        v.stride(1),
        v.stride(3),
        o.stride(0),
        o.stride(2),
        o.stride(1),
        o.stride(3),
        nheads,
        seqlen_q,
        seqlen_k,
        IS_CAUSAL=causal,
        BLOCK_HEADDIM=triton.next_power_of_2(d),
        BLOCK_M=BLOCK,
        BLOCK_N=BLOCK,
        num_warps=4 if d <= 64 else 8,
        num_stages=1,
    )
    return o, lse
