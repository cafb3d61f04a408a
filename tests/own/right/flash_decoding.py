# own: --function decode_attention --as "q, k, v, sm_scale=scale, causal=causal"
"""Split-KV attention: few queries, many keys. Each program takes one slice of the keys, a second kernel merges."""

import torch
import triton
import triton.language as tl


@triton.jit
def _split_kernel(
    Q, K, V, Part, PartLse,
    sqb, sqh, sqn, sqd, skb, skh, skn, skd, svb, svh, svn, svd,
    heads, n_q, n_k, keys_per_split, sm_scale,
    CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    split = tl.program_id(1)
    bh = tl.program_id(2)
    b, h = bh // heads, bh % heads
    rows = tile * BLOCK_Q + tl.arange(0, BLOCK_Q)
    dims = tl.arange(0, D)
    q = tl.load(
        Q + b * sqb + h * sqh + rows[:, None] * sqn + dims[None, :] * sqd, mask=(rows < n_q)[:, None], other=0.0
    )
    begin = split * keys_per_split
    end = tl.minimum(begin + keys_per_split, n_k)
    acc = tl.zeros((BLOCK_Q, D), dtype=tl.float32)
    l = tl.zeros((BLOCK_Q,), dtype=tl.float32)
    m = tl.full((BLOCK_Q,), float("-inf"), dtype=tl.float32)
    for start in range(begin, end, BLOCK_K):
        cols = start + tl.arange(0, BLOCK_K)
        inside = cols < end
        k = tl.load(K + b * skb + h * skh + cols[:, None] * skn + dims[None, :] * skd, mask=inside[:, None], other=0.0)
        v = tl.load(V + b * svb + h * svh + cols[:, None] * svn + dims[None, :] * svd, mask=inside[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * sm_scale
        s = tl.where(inside[None, :], s, float("-inf"))
        if CAUSAL:
            s = tl.where(rows[:, None] + n_k - n_q >= cols[None, :], s, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        seen = m_new > float("-inf")
        p = tl.where(seen[:, None], tl.exp(s - m_new[:, None]), 0.0)
        alpha = tl.where(seen, tl.exp(m - m_new), 1.0)
        l = l * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    out = acc / tl.where(l > 0, l, 1.0)[:, None]
    lse = tl.where(l > 0, m + tl.log(l), float("-inf"))
    # Part is (splits, batch * heads, n_q, D)
    base = (split * tl.num_programs(2) + bh) * n_q
    tl.store(Part + (base + rows)[:, None] * D + dims[None, :], out, mask=(rows < n_q)[:, None])
    tl.store(PartLse + base + rows, lse, mask=rows < n_q)


@triton.jit
def _merge_kernel(
    Part, PartLse, Out, Lse, num_splits, rows_total, n_q, heads, sob, soh, son, sod,
    SPLITS: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)  # of batch * heads * n_q
    splits = tl.arange(0, SPLITS)
    dims = tl.arange(0, D)
    exists = splits < num_splits
    lse = tl.load(PartLse + splits * rows_total + row, mask=exists, other=float("-inf"))
    top = tl.max(lse, axis=0)
    top_or_zero = tl.where(top == float("-inf"), 0.0, top)
    w = tl.exp(lse - top_or_zero)
    total = tl.sum(w, axis=0)
    part = tl.load(Part + (splits * rows_total + row)[:, None] * D + dims[None, :], mask=exists[:, None], other=0.0)
    o = tl.sum(part * w[:, None], axis=0) / tl.where(total == 0.0, 1.0, total)
    bh = row // n_q
    offset = (bh // heads) * sob + (bh % heads) * soh + (row % n_q) * son
    tl.store(Out + offset + dims * sod, o.to(Out.dtype.element_ty))
    tl.store(Lse + row, top + tl.log(total))


def decode_attention(q, k, v, *, sm_scale, causal=False, num_splits=4):
    batch, heads, n_q, d = q.shape
    n_k = k.size(2)
    BLOCK_Q, BLOCK_K = 16, 32
    # whole blocks of keys for each split; there are fewer splits if there are few keys
    keys_per_split = triton.cdiv(triton.cdiv(n_k, num_splits), BLOCK_K) * BLOCK_K
    num_splits = max(1, triton.cdiv(n_k, keys_per_split))
    rows = batch * heads * n_q
    part = torch.empty((num_splits, rows, d), device=q.device, dtype=torch.float32)
    part_lse = torch.empty((num_splits, rows), device=q.device, dtype=torch.float32)
    out = torch.empty_like(q)
    lse = torch.empty((batch, heads, n_q), device=q.device, dtype=torch.float32)
    _split_kernel[(triton.cdiv(n_q, BLOCK_Q), num_splits, batch * heads)](
        q, k, v, part, part_lse,
        *q.stride(), *k.stride(), *v.stride(),
        heads, n_q, n_k, keys_per_split, sm_scale,
        CAUSAL=causal, BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K, D=d, num_warps=4,
    )  # fmt: skip
    _merge_kernel[(rows,)](
        part, part_lse, out, lse, num_splits, rows, n_q, heads, *out.stride(),
        SPLITS=triton.next_power_of_2(num_splits), D=d, num_warps=1,
    )  # fmt: skip
    return out, lse
