"""The sum keeps its axis, and goes to a block of one address."""

import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, x_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=cols < n_cols, other=0.0)
    total = tl.sum(x.to(tl.float32), axis=0, keep_dims=True)
    tl.store(out_ptr + row + tl.arange(0, 1), total)
