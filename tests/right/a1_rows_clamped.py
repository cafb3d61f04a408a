"""Rows past the last one are replaced by the last one: nothing more is read, and the store leaves them out."""

import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, a_row_stride, b_row_stride, c_row_stride, m, n, k,
    Bm: tl.constexpr, Bn: tl.constexpr, Bk: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * Bm + tl.arange(0, Bm)
    cols = tl.program_id(1).to(tl.int64) * Bn + tl.arange(0, Bn)
    a_rows = a_ptr + tl.minimum(rows, m - 1)[:, None] * a_row_stride
    b_rows = b_ptr + tl.minimum(cols, n - 1)[:, None] * b_row_stride
    acc = tl.zeros((Bm, Bn), tl.float32)
    for start in range(0, k, Bk):
        inner = start + tl.arange(0, Bk)[None, :]
        a = tl.load(a_rows + inner, mask=inner < k, other=0.0)
        b = tl.load(b_rows + inner, mask=inner < k, other=0.0)
        acc += tl.dot(a, b.T)
    c_mask = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(c_ptr + rows[:, None] * c_row_stride + cols[None, :], acc, mask=c_mask)
