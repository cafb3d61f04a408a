"""Puzzle p6 at speed, step 1: powers of two.

A GPU has an instruction for 2**x; exp(x) is that instruction and a multiplication before it. S is multiplied by
`scale` anyway, so log2(e) goes into that factor: scale * s - m costs one fused multiply-add an element, and exp2 the
one instruction. m is then kept in powers of two as well, and LSE is brought back to the natural logarithm at the end.
"""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def flash_attention_2_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    k_head, v_head = k_ptr + head * k_head_stride, v_ptr + head * k_head_stride
    queries = start_q + tl.arange(0, Br)
    dims = tl.arange(0, D)
    offset = n_k - n_q
    scale_log2 = scale * LOG2_E  # exp(scale * s) = exp2(scale * log2(e) * s)

    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
    q_mask = queries[:, None] < n_q
    Qi = tl.load(q_ptr + q_offsets, mask=q_mask, other=0.0)

    Oi = tl.zeros((Br, D), tl.float32)
    li = tl.zeros((Br,), tl.float32)
    mi = tl.full((Br,), -float("inf"), tl.float32)  # of scale_log2 * S

    end_k = n_k
    if CAUSAL:
        end_k = tl.minimum(n_k, start_q + Br + offset)
    for start_k in range(0, end_k, Bc):
        keys = start_k + tl.arange(0, Bc)
        kv_offsets = keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
        kv_mask = keys[:, None] < n_k
        Kj = tl.load(k_head + kv_offsets, mask=kv_mask, other=0.0)
        Vj = tl.load(v_head + kv_offsets, mask=kv_mask, other=0.0)

        Sij = tl.dot(Qi, tl.trans(Kj))
        visible = keys[None, :] < n_k
        if CAUSAL:
            visible = visible & (keys[None, :] <= queries[:, None] + offset)
        Sij = tl.where(visible, Sij, -float("inf"))

        mi_new = tl.maximum(mi, tl.max(Sij, axis=1) * scale_log2)
        shift = tl.where(mi_new == -float("inf"), 0.0, mi_new)
        Pij = tl.exp2(Sij * scale_log2 - shift[:, None])
        alpha = tl.exp2(mi - shift)
        li = alpha * li + tl.sum(Pij, axis=1)
        # The product is added to Oi where it is made: tl.dot takes what to add to.
        Oi = tl.dot(Pij.to(Vj.dtype), Vj, Oi * alpha[:, None])
        mi = mi_new

    Oi = Oi / tl.where(li == 0.0, 1.0, li)[:, None]
    lse = (mi + tl.log2(li)) / LOG2_E
    tl.store(o_ptr + q_offsets, Oi, mask=q_mask)
    tl.store(lse_ptr + head * n_q + queries, lse, mask=queries < n_q)
