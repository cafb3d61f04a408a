"""A helper loads a tile of either matrix, in fp32, and products keep all digits on a GPU too."""

import triton
import triton.language as tl


@triton.jit
def tile(x_ptr, rows, count, row_stride, start, k, width: tl.constexpr):
    columns = start + tl.arange(0, width)
    mask = (rows[:, None] < count) & (columns[None, :] < k)
    return tl.load(x_ptr + rows[:, None] * row_stride + columns[None, :], mask=mask, other=0.0).to(tl.float32)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, a_row_stride, b_row_stride, c_row_stride, m, n, k,
    Bm: tl.constexpr, Bn: tl.constexpr, Bk: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * Bm + tl.arange(0, Bm)
    cols = tl.program_id(1).to(tl.int64) * Bn + tl.arange(0, Bn)
    acc = tl.zeros((Bm, Bn), tl.float32)
    for t in tl.range(0, tl.cdiv(k, Bk)):
        a = tile(a_ptr, rows, m, a_row_stride, t * Bk, k, Bk)
        b = tile(b_ptr, cols, n, b_row_stride, t * Bk, k, Bk)
        acc += tl.dot(a, tl.trans(b), input_precision="ieee")
    c_mask = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(c_ptr + rows[:, None] * c_row_stride + cols[None, :], acc, mask=c_mask)
