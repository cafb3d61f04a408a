"""Each block is normalised by itself.

Finding: block-local
"""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    x_row_ptr = x_ptr + row * x_row_stride
    y_row_ptr = y_ptr + row * y_row_stride

    for start in range(0, n_cols, BLOCK_SIZE):
        mask = start + cols < n_cols
        x = tl.load(x_row_ptr + start + cols, mask=mask, other=-float("inf")).to(tl.float32)
        block_max = tl.max(x, axis=0)
        numerator = tl.exp(x - tl.where(block_max == -float("inf"), 0.0, block_max))
        tl.store(y_row_ptr + start + cols, numerator / tl.sum(numerator, axis=0), mask=mask)
