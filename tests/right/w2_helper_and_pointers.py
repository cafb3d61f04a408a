"""A pointer kept in a variable, and a helper function that sums."""

import triton
import triton.language as tl


@triton.jit
def total_of(ptr, n, BLOCK_SIZE: tl.constexpr):
    """The sum of n numbers from an address on."""
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(ptr + cols, cols < n, 0.0)
    return x.to(tl.float32).sum(0)


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, x_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * x_row_stride
    total = total_of(x_ptr, n_cols, BLOCK_SIZE)
    out_ptr += row
    tl.store(out_ptr, total)
