"""Pointers go on by Bk at each step, and the accumulator is an argument of tl.dot, as in a well-known tutorial."""

import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, a_row_stride, b_row_stride, c_row_stride, m, n, k,
    Bm: tl.constexpr, Bn: tl.constexpr, Bk: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * Bm + tl.arange(0, Bm)
    cols = tl.program_id(1).to(tl.int64) * Bn + tl.arange(0, Bn)
    inner = tl.arange(0, Bk)
    a_ptrs = a_ptr + (rows[:, None] * a_row_stride + inner[None, :])
    b_ptrs = b_ptr + (inner[:, None] + cols[None, :] * b_row_stride)
    acc = tl.zeros((Bm, Bn), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, Bk)):
        a = tl.load(a_ptrs, mask=(rows < m)[:, None] & (inner[None, :] < k - step * Bk), other=0.0)
        b = tl.load(b_ptrs, mask=(inner[:, None] < k - step * Bk) & (cols < n)[None, :], other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += Bk
        b_ptrs += Bk
    c = acc.to(c_ptr.dtype.element_ty)
    c_mask = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c_ptr + c_row_stride * rows[:, None] + cols[None, :], c, mask=c_mask)
