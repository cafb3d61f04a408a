"""Programs take the tiles in another order: eight tiles down before the next column, for the L2 cache."""

import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, a_row_stride, b_row_stride, c_row_stride, m, n, k,
    Bm: tl.constexpr, Bn: tl.constexpr, Bk: tl.constexpr,
):
    down, across = tl.num_programs(0), tl.num_programs(1)
    number = tl.program_id(1) * down + tl.program_id(0)
    group = number // (8 * across)
    first = group * 8
    high = tl.minimum(down - first, 8)
    within = number - first * across
    i = first + within % high
    j = within // high
    rows = i.to(tl.int64) * Bm + tl.arange(0, Bm)
    cols = j.to(tl.int64) * Bn + tl.arange(0, Bn)
    acc = tl.zeros((Bm, Bn), tl.float32)
    for start in range(0, k, Bk):
        inner = start + tl.arange(0, Bk)
        a_mask = (rows < m)[:, None] & (inner < k)[None, :]
        a = tl.load(a_ptr + rows[:, None] * a_row_stride + inner[None, :], mask=a_mask, other=0.0)
        b_mask = (cols < n)[:, None] & (inner < k)[None, :]
        b = tl.load(b_ptr + cols[:, None] * b_row_stride + inner[None, :], mask=b_mask, other=0.0)
        acc += tl.dot(a, tl.trans(b))
    c_mask = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(c_ptr + rows[:, None] * c_row_stride + cols[None, :], acc, mask=c_mask)
