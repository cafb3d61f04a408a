# own: --as "q, k, v, causal, scale" --whole-tiles --square --dense --types fp16,bf16 --head-dim 64
import torch
import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)
configs = [
    triton.Config({"BLOCK_M": BM, "BLOCK_N": BN}, num_stages=s, num_warps=w)
    for BM, BN in [(64, 32), (128, 32), (128, 64)]
    for s in [2, 3]
    for w in [4, 8]
]


@triton.jit
def _attn_fwd_inner(acc, l_i, m_i, q, k_ptrs, v_ptrs, stride_kn, stride_vn, start_m, qk_scale, N_CTX,
                    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGE: tl.constexpr,
                    offs_m: tl.constexpr, offs_n: tl.constexpr):  # fmt: skip
    if STAGE == 1:  # off the diagonal
        lo, hi = 0, start_m * BLOCK_M
    elif STAGE == 2:  # on the diagonal
        lo, hi = start_m * BLOCK_M, (start_m + 1) * BLOCK_M
        lo = tl.multiple_of(lo, BLOCK_M)
    else:  # everything
        lo, hi = 0, N_CTX
    k_ptrs += lo * stride_kn
    v_ptrs += lo * stride_vn
    for start_n in range(lo, hi, BLOCK_N):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        k = tl.load(k_ptrs)
        qk = tl.dot(q, tl.trans(k)) * qk_scale
        if STAGE == 2:
            qk = tl.where(offs_m[:, None] >= (start_n + offs_n[None, :]), qk, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(v_ptrs)
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_ij
        k_ptrs += BLOCK_N * stride_kn
        v_ptrs += BLOCK_N * stride_vn
    return acc, l_i, m_i


@triton.autotune(configs=configs, key=["N_CTX", "HEAD_DIM"])
@triton.jit
def _attn_fwd(Q, K, V, sm_scale, M, Out,
              stride_qz, stride_qh, stride_qm, stride_qk,
              stride_kz, stride_kh, stride_kn, stride_kk,
              stride_vz, stride_vh, stride_vn, stride_vk,
              stride_oz, stride_oh, stride_om, stride_ok,
              H, N_CTX, HEAD_DIM: tl.constexpr,
              BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, STAGE: tl.constexpr):  # fmt: skip
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    off_z = (off_hz // H).to(tl.int64)
    off_h = (off_hz % H).to(tl.int64)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    Q += off_z * stride_qz + off_h * stride_qh
    K += off_z * stride_kz + off_h * stride_kh
    V += off_z * stride_vz + off_h * stride_vh
    Out += off_z * stride_oz + off_h * stride_oh
    k_ptrs = K + offs_n[:, None] * stride_kn + offs_d[None, :] * stride_kk
    v_ptrs = V + offs_n[:, None] * stride_vn + offs_d[None, :] * stride_vk

    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    qk_scale = sm_scale * LOG2E
    q = tl.load(Q + offs_m[:, None] * stride_qm + offs_d[None, :] * stride_qk)
    # STAGE 3 is causal: first what is off the diagonal, then what is on it. STAGE 1 is not.
    if STAGE & 1:
        acc, l_i, m_i = _attn_fwd_inner(acc, l_i, m_i, q, k_ptrs, v_ptrs, stride_kn, stride_vn, start_m, qk_scale,
                                        N_CTX, BLOCK_M, BLOCK_N, 4 - STAGE, offs_m, offs_n)  # fmt: skip
    if STAGE & 2:
        acc, l_i, m_i = _attn_fwd_inner(acc, l_i, m_i, q, k_ptrs, v_ptrs, stride_kn, stride_vn, start_m, qk_scale,
                                        N_CTX, BLOCK_M, BLOCK_N, 2, offs_m, offs_n)  # fmt: skip
    m_i += tl.math.log2(l_i)
    acc = acc / l_i[:, None]
    tl.store(M + off_hz * N_CTX + offs_m, m_i)
    tl.store(Out + offs_m[:, None] * stride_om + offs_d[None, :] * stride_ok, acc.to(Out.type.element_ty))


@triton.jit
def _attn_bwd_preprocess(O, DO, Delta, N_CTX, BLOCK_M: tl.constexpr, HEAD_DIM: tl.constexpr):
    off_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    off_hz = tl.program_id(1)
    off_n = tl.arange(0, HEAD_DIM)
    o = tl.load(O + off_hz * HEAD_DIM * N_CTX + off_m[:, None] * HEAD_DIM + off_n[None, :]).to(tl.float32)
    do = tl.load(DO + off_hz * HEAD_DIM * N_CTX + off_m[:, None] * HEAD_DIM + off_n[None, :]).to(tl.float32)
    tl.store(Delta + off_hz * N_CTX + off_m, tl.sum(o * do, axis=1))


@triton.jit
def _attn_bwd(Q, K, V, sm_scale, DO, DQ, DK, DV, M, Delta, stride_tok, stride_d, N_CTX,
              BLOCK_M1: tl.constexpr, BLOCK_N1: tl.constexpr, BLOCK_M2: tl.constexpr, BLOCK_N2: tl.constexpr,
              HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr):  # fmt: skip
    pid = tl.program_id(0)
    bhid = tl.program_id(2)
    adj = (bhid * N_CTX).to(tl.int64) * HEAD_DIM
    Q, K, V, DO, DQ, DK, DV = Q + adj, K + adj, V + adj, DO + adj, DQ + adj, DK + adj, DV + adj
    M += bhid * N_CTX
    Delta += bhid * N_CTX
    offs_k = tl.arange(0, HEAD_DIM)
    qk_scale = sm_scale * LOG2E

    # dK and dV of this program's keys
    offs_n = pid * BLOCK_N1 + tl.arange(0, BLOCK_N1)
    k = tl.load(K + offs_n[:, None] * stride_tok + offs_k[None, :] * stride_d)
    v = tl.load(V + offs_n[:, None] * stride_tok + offs_k[None, :] * stride_d)
    dk = tl.zeros([BLOCK_N1, HEAD_DIM], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N1, HEAD_DIM], dtype=tl.float32)
    start_m = pid * BLOCK_N1 if CAUSAL else 0
    for curr_m in range(start_m, N_CTX, BLOCK_M1):
        offs_m = curr_m + tl.arange(0, BLOCK_M1)
        q = tl.load(Q + offs_m[:, None] * stride_tok + offs_k[None, :] * stride_d)
        do = tl.load(DO + offs_m[:, None] * stride_tok + offs_k[None, :] * stride_d)
        m = tl.load(M + offs_m)
        Di = tl.load(Delta + offs_m)
        pT = tl.math.exp2(tl.dot(k, tl.trans(q)) * qk_scale - m[None, :])
        if CAUSAL:
            pT = tl.where(offs_m[None, :] >= offs_n[:, None], pT, 0.0)
        dv += tl.dot(pT.to(do.dtype), do)
        dpT = tl.dot(v, tl.trans(do))
        dsT = pT * (dpT - Di[None, :])
        dk += tl.dot(dsT.to(q.dtype), q)
    tl.store(DV + offs_n[:, None] * stride_tok + offs_k[None, :] * stride_d, dv.to(DV.type.element_ty))
    tl.store(DK + offs_n[:, None] * stride_tok + offs_k[None, :] * stride_d, (dk * sm_scale).to(DK.type.element_ty))

    # dQ of this program's queries
    offs_m = pid * BLOCK_M2 + tl.arange(0, BLOCK_M2)
    q = tl.load(Q + offs_m[:, None] * stride_tok + offs_k[None, :] * stride_d)
    do = tl.load(DO + offs_m[:, None] * stride_tok + offs_k[None, :] * stride_d)
    m = tl.load(M + offs_m)[:, None]
    Di = tl.load(Delta + offs_m)
    dq = tl.zeros([BLOCK_M2, HEAD_DIM], dtype=tl.float32)
    end_n = (pid + 1) * BLOCK_M2 if CAUSAL else N_CTX
    for curr_n in range(0, end_n, BLOCK_N2):
        cols = curr_n + tl.arange(0, BLOCK_N2)
        kn = tl.load(K + cols[:, None] * stride_tok + offs_k[None, :] * stride_d)
        vn = tl.load(V + cols[:, None] * stride_tok + offs_k[None, :] * stride_d)
        p = tl.math.exp2(tl.dot(q, tl.trans(kn)) * qk_scale - m)
        if CAUSAL:
            p = tl.where(offs_m[:, None] >= cols[None, :], p, 0.0)
        ds = p * (tl.dot(do, tl.trans(vn)) - Di[:, None])
        dq += tl.dot(ds.to(kn.dtype), kn)
    tl.store(DQ + offs_m[:, None] * stride_tok + offs_k[None, :] * stride_d, (dq * sm_scale).to(DQ.type.element_ty))


class _attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, causal, sm_scale):
        HEAD_DIM_K = k.shape[-1]
        assert HEAD_DIM_K in {16, 32, 64, 128, 256}
        o = torch.empty_like(q)
        M = torch.empty((q.shape[0], q.shape[1], q.shape[2]), device=q.device, dtype=torch.float32)
        grid = lambda META: (triton.cdiv(q.shape[2], META["BLOCK_M"]), q.shape[0] * q.shape[1], 1)
        _attn_fwd[grid](
            q, k, v, sm_scale, M, o,
            *q.stride(), *k.stride(), *v.stride(), *o.stride(),
            q.shape[1], N_CTX=q.shape[2], HEAD_DIM=HEAD_DIM_K, STAGE=3 if causal else 1,
        )  # fmt: skip
        ctx.save_for_backward(q, k, v, o, M)
        ctx.sm_scale, ctx.causal = sm_scale, causal
        return o

    @staticmethod
    def backward(ctx, do):
        q, k, v, o, M = ctx.saved_tensors
        do = do.contiguous()
        dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        BATCH, N_HEAD, N_CTX, HEAD_DIM = q.shape
        BLOCK_M1, BLOCK_N1, BLOCK_M2, BLOCK_N2 = 32, 128, 128, 32
        delta = torch.empty_like(M)
        _attn_bwd_preprocess[(N_CTX // 128, BATCH * N_HEAD)](o, do, delta, N_CTX, BLOCK_M=128, HEAD_DIM=HEAD_DIM)
        _attn_bwd[(N_CTX // BLOCK_N1, 1, BATCH * N_HEAD)](
            q, k, v, ctx.sm_scale, do, dq, dk, dv, M, delta, q.stride(2), q.stride(3), N_CTX,
            BLOCK_M1=BLOCK_M1, BLOCK_N1=BLOCK_N1, BLOCK_M2=BLOCK_M2, BLOCK_N2=BLOCK_N2,
            HEAD_DIM=HEAD_DIM, CAUSAL=ctx.causal, num_warps=4, num_stages=5,
        )  # fmt: skip
        return dq, dk, dv, None, None


attention = _attention.apply
