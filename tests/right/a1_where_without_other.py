"""Elements past the end are undefined when they are loaded, and set to 0 afterwards."""

import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, a_row_stride, b_row_stride, c_row_stride, m, n, k,
    Bm: tl.constexpr, Bn: tl.constexpr, Bk: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * Bm + tl.arange(0, Bm)
    cols = tl.program_id(1).to(tl.int64) * Bn + tl.arange(0, Bn)
    acc = tl.zeros((Bm, Bn), tl.float32)
    for start in range(0, k, Bk):
        inner = start + tl.arange(0, Bk)
        a_mask = (rows < m)[:, None] & (inner < k)[None, :]
        b_mask = (cols < n)[:, None] & (inner < k)[None, :]
        a = tl.load(a_ptr + rows[:, None] * a_row_stride + inner[None, :], mask=a_mask)
        b = tl.load(b_ptr + cols[:, None] * b_row_stride + inner[None, :], mask=b_mask)
        a = tl.where((inner < k)[None, :], a, 0.0)
        b = tl.where((inner < k)[None, :], b, 0.0)
        acc += tl.dot(a, tl.trans(b))
    c_mask = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(c_ptr + rows[:, None] * c_row_stride + cols[None, :], acc, mask=c_mask)
