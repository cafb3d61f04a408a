"""The pointer is indexed like an array.

Finding: indexed and not-a-kernel
"""

import triton
import triton.language as tl


@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = x_ptr[row * x_row_stride + cols]
    numerator = tl.exp(x)
    y_ptr[row * y_row_stride + cols] = numerator / tl.sum(numerator, axis=0)
