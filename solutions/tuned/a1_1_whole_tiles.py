"""Puzzle a1 at speed, step 1: a loop without masks.

Along k only the last step can reach past the end. So the loop is split: whole steps first, and behind them at most one
step with a mask, which is not worth a pipeline of its own (`num_stages=1`). Rows past the end of A or B need no mask at
all: their programs load the last row again, which is there for certain, and what comes of it is not stored. And
`tl.dot` is given the sum so far, to add to.
"""

import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, a_row_stride, b_row_stride, c_row_stride, m, n, k,
    Bm: tl.constexpr, Bn: tl.constexpr, Bk: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * Bm + tl.arange(0, Bm)
    cols = tl.program_id(1).to(tl.int64) * Bn + tl.arange(0, Bn)
    a_rows = tl.minimum(rows, m - 1)[:, None]
    b_rows = tl.minimum(cols, n - 1)[:, None]
    inner = tl.arange(0, Bk)[None, :]

    acc = tl.zeros((Bm, Bn), tl.float32)
    whole_k = k // Bk * Bk
    for start in range(0, whole_k, Bk):
        a = tl.load(a_ptr + a_rows * a_row_stride + start + inner)
        b = tl.load(b_ptr + b_rows * b_row_stride + start + inner)
        acc = tl.dot(a, tl.trans(b), acc)
    for start in tl.range(whole_k, k, Bk, num_stages=1):
        a = tl.load(a_ptr + a_rows * a_row_stride + start + inner, mask=start + inner < k, other=0.0)
        b = tl.load(b_ptr + b_rows * b_row_stride + start + inner, mask=start + inner < k, other=0.0)
        acc = tl.dot(a, tl.trans(b), acc)

    c_mask = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(c_ptr + rows[:, None] * c_row_stride + cols[None, :], acc, mask=c_mask)
