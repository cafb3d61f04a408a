# own: --function gqa_attention --kv-heads
import torch
import triton
import triton.language as tl


@triton.jit
def gqa_fwd(
    q_ptr, k_ptr, v_ptr, o_ptr,
    q_sb, q_sh, q_sn, q_sd,
    k_sb, k_sh, k_sn, k_sd,
    v_sb, v_sh, v_sn, v_sd,
    o_sb, o_sh, o_sn, o_sd,
    len_q, len_k, group_size, scale,
    HEAD_DIM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    pid_m, head, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    kv_head = head // group_size  # query heads of a group follow each other

    rm = pid_m * BM + tl.arange(0, BM)
    rd = tl.arange(0, HEAD_DIM)
    q_mask = rm[:, None] < len_q
    q_base = q_ptr + batch * q_sb + head * q_sh
    k_base = k_ptr + batch * k_sb + kv_head * k_sh
    v_base = v_ptr + batch * v_sb + kv_head * v_sh
    q = tl.load(q_base + rm[:, None] * q_sn + rd[None, :] * q_sd, mask=q_mask, other=0.0)

    m = tl.full([BM], -float("inf"), tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, HEAD_DIM], tl.float32)

    last = rm + (len_k - len_q)  # the last key that each query sees
    hi = len_k
    if CAUSAL:
        hi = tl.minimum(len_k, pid_m * BM + BM + len_k - len_q)
    for lo in range(0, hi, BN):
        rn = lo + tl.arange(0, BN)
        # K comes transposed
        k = tl.load(k_base + rd[:, None] * k_sd + rn[None, :] * k_sn, mask=rn[None, :] < len_k, other=0.0)
        v = tl.load(v_base + rn[:, None] * v_sn + rd[None, :] * v_sd, mask=rn[:, None] < len_k, other=0.0)
        s = tl.dot(q, k, input_precision="ieee") * scale
        visible = rn[None, :] < len_k
        if CAUSAL:
            visible = visible & (rn[None, :] <= last[:, None])
        s = tl.where(visible, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        ref = tl.where(m_new == -float("inf"), 0.0, m_new)
        alpha = tl.exp(m - ref)
        p = tl.exp(s - ref[:, None])
        l = alpha * l + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new

    acc = acc / tl.maximum(l, 1e-30)[:, None]  # l is at least 1, or no key was seen
    o_base = o_ptr + batch * o_sb + head * o_sh
    tl.store(o_base + rm[:, None] * o_sn + rd[None, :] * o_sd, acc.to(o_ptr.dtype.element_ty), mask=q_mask)


def gqa_attention(q, k, v, scale, is_causal):
    b, h, len_q, d = q.shape
    h_kv, len_k = k.shape[1], k.shape[2]
    if h % h_kv:
        raise ValueError(f"{h} query heads cannot share {h_kv} heads of keys")
    o = torch.empty(b, h, len_q, d, dtype=q.dtype, device=q.device)
    BM, BN = 32, 32
    grid = (triton.cdiv(len_q, BM), h, b)
    gqa_fwd[grid](
        q, k, v, o,
        q.stride(0), q.stride(1), q.stride(2), q.stride(3),
        k.stride(0), k.stride(1), k.stride(2), k.stride(3),
        v.stride(0), v.stride(1), v.stride(2), v.stride(3),
        o.stride(0), o.stride(1), o.stride(2), o.stride(3),
        len_q, len_k, h // h_kv, scale,
        HEAD_DIM=d, BM=BM, BN=BN, CAUSAL=is_causal,
    )  # fmt: skip
    return o
