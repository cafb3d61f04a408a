"""The row as a block of shape (1, BLOCK_SIZE), as p4 will have it; the sum is a block of one."""

import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, x_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)[None, :]
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=cols < n_cols, other=0.0)
    tl.store(out_ptr + row + tl.arange(0, 1), tl.sum(x.to(tl.float32), axis=1))
