# own: --function MemoryEfficientAttention.apply --as "q, k, v, scale, causal"
import torch
import triton
import triton.language as tl


@triton.jit
def forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr,
    n_q, n_k, scale,
    D: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    bh = tl.program_id(1).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, D)
    row_mask = rows < n_q
    q = tl.load(q_ptr + bh * n_q * D + rows[:, None] * D + d[None, :], mask=row_mask[:, None], other=0.0)
    m = tl.full([BLOCK_Q], value=float("-inf"), dtype=tl.float32)
    l = tl.zeros([BLOCK_Q], dtype=tl.float32)
    o = tl.zeros([BLOCK_Q, D], dtype=tl.float32)
    for start in range(0, n_k, BLOCK_K):
        cols = start + tl.arange(0, BLOCK_K)
        col_mask = cols < n_k
        k = tl.load(k_ptr + bh * n_k * D + cols[:, None] * D + d[None, :], mask=col_mask[:, None], other=0.0)
        v = tl.load(v_ptr + bh * n_k * D + cols[:, None] * D + d[None, :], mask=col_mask[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        keep = col_mask[None, :]
        if CAUSAL:
            keep = keep & (cols[None, :] <= rows[:, None] + (n_k - n_q))
        s = tl.where(keep, s, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        shift = tl.where(m_new == float("-inf"), 0.0, m_new)
        p = tl.exp(s - shift[:, None])
        factor = tl.exp(m - shift)
        l = l * factor + tl.sum(p, axis=1)
        o = o * factor[:, None]
        o += tl.dot(p.to(v.dtype), v)
        m = m_new
    l_safe = tl.where(l == 0.0, 1.0, l)
    tl.store(o_ptr + bh * n_q * D + rows[:, None] * D + d[None, :], o / l_safe[:, None], mask=row_mask[:, None])
    tl.store(lse_ptr + bh * n_q + rows, m + tl.log(l_safe), mask=row_mask)


@triton.jit
def backward_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr,
    n_q, n_k, scale,
    D: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """One program for each tile of keys: dK and dV stay here, dQ is added up in memory."""
    bh = tl.program_id(1).to(tl.int64)
    cols = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    d = tl.arange(0, D)
    col_mask = cols < n_k
    kv_offsets = bh * n_k * D + cols[:, None] * D + d[None, :]
    k = tl.load(k_ptr + kv_offsets, mask=col_mask[:, None], other=0.0)
    v = tl.load(v_ptr + kv_offsets, mask=col_mask[:, None], other=0.0)
    dk = tl.zeros([BLOCK_K, D], dtype=tl.float32)
    dv = tl.zeros([BLOCK_K, D], dtype=tl.float32)

    start_q = 0
    if CAUSAL:  # the first query that sees the tile's first key, rounded down to a whole tile
        start_q = tl.maximum(0, tl.program_id(0) * BLOCK_K - (n_k - n_q)) // BLOCK_Q * BLOCK_Q
    for start in range(start_q, n_q, BLOCK_Q):
        rows = start + tl.arange(0, BLOCK_Q)
        row_mask = rows < n_q
        q_offsets = bh * n_q * D + rows[:, None] * D + d[None, :]
        q = tl.load(q_ptr + q_offsets, mask=row_mask[:, None], other=0.0)
        do = tl.load(do_ptr + q_offsets, mask=row_mask[:, None], other=0.0)
        lse = tl.load(lse_ptr + bh * n_q + rows, mask=row_mask, other=0.0)
        delta = tl.load(delta_ptr + bh * n_q + rows, mask=row_mask, other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        keep = row_mask[:, None] & col_mask[None, :]
        if CAUSAL:
            keep = keep & (cols[None, :] <= rows[:, None] + (n_k - n_q))
        p = tl.where(keep, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p.to(do.dtype)), do)
        dp = tl.dot(do, tl.trans(v))
        ds = p * (dp - delta[:, None]) * scale
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q)
        tl.atomic_add(dq_ptr + q_offsets, tl.dot(ds.to(k.dtype), k), mask=row_mask[:, None], sem="relaxed")
    tl.store(dk_ptr + kv_offsets, dk, mask=col_mask[:, None])
    tl.store(dv_ptr + kv_offsets, dv, mask=col_mask[:, None])


class MemoryEfficientAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, scale, causal):
        batch, heads, n_q, D = q.shape
        n_k = k.shape[-2]
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        o = torch.empty_like(q)
        lse = torch.empty(batch, heads, n_q, dtype=torch.float32, device=q.device)
        grid = (triton.cdiv(n_q, 32), batch * heads)
        forward_kernel[grid](
            q, k, v, o, lse, n_q, n_k, scale, D=D, BLOCK_Q=32, BLOCK_K=32, CAUSAL=causal, num_warps=4
        )
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.scale = scale
        ctx.causal = causal
        ctx.mark_non_differentiable(lse)
        return o, lse

    @staticmethod
    def backward(ctx, do, _):
        q, k, v, o, lse = ctx.saved_tensors
        batch, heads, n_q, D = q.shape
        n_k = k.shape[-2]
        do = do.contiguous()
        delta = (o.float() * do.float()).sum(dim=-1)
        dq = torch.zeros(q.shape, dtype=torch.float32, device=q.device)  # atomic_add, so zeros and fp32
        dk = torch.empty_like(k)
        dv = torch.empty_like(v)
        grid = (triton.cdiv(n_k, 32), batch * heads)
        backward_kernel[grid](
            q, k, v, do, lse, delta, dq, dk, dv,
            n_q, n_k, ctx.scale, D=D, BLOCK_Q=32, BLOCK_K=32, CAUSAL=ctx.causal, num_warps=4,
        )  # fmt: skip
        return dq.to(q.dtype), dk, dv, None, None
