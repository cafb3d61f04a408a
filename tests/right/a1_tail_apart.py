"""Whole steps have no mask along k; what is left of k comes after the loop."""

import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, a_row_stride, b_row_stride, c_row_stride, m, n, k,
    Bm: tl.constexpr, Bn: tl.constexpr, Bk: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * Bm + tl.arange(0, Bm)
    cols = tl.program_id(1).to(tl.int64) * Bn + tl.arange(0, Bn)
    a_rows = a_ptr + rows[:, None] * a_row_stride
    b_rows = b_ptr + cols[:, None] * b_row_stride
    inner = tl.arange(0, Bk)[None, :]
    whole = k // Bk * Bk
    acc = tl.zeros((Bm, Bn), tl.float32)
    for start in range(0, whole, Bk):
        a = tl.load(a_rows + start + inner, mask=(rows < m)[:, None], other=0.0)
        b = tl.load(b_rows + start + inner, mask=(cols < n)[:, None], other=0.0)
        acc += tl.dot(a, tl.trans(b))
    if whole < k:
        a = tl.load(a_rows + whole + inner, mask=(rows < m)[:, None] & (whole + inner < k), other=0.0)
        b = tl.load(b_rows + whole + inner, mask=(cols < n)[:, None] & (whole + inner < k), other=0.0)
        acc += tl.dot(a, tl.trans(b))
    c_mask = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(c_ptr + rows[:, None] * c_row_stride + cols[None, :], acc, mask=c_mask)
