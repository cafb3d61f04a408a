"""All lanes store to the first element of the row.

Finding: lanes-collide
"""

import triton
import triton.language as tl


@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x)
    denominator = tl.sum(numerator, axis=0)
    tl.store(y_ptr + row * y_row_stride + cols, numerator / denominator, mask=mask)
    tl.store(y_ptr + row * y_row_stride + cols * 0, numerator / denominator, mask=mask)
