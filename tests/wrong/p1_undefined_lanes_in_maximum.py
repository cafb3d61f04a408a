"""Undefined lanes take part in the maximum; the interpreter's maximum ignores NaN.

Finding: undefined-masked-lanes
"""

import triton
import triton.language as tl


@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask)
    x = x.to(tl.float32)
    numerator = tl.where(mask, tl.exp(x - tl.max(x, axis=0)), 0.0)
    denominator = tl.sum(numerator, axis=0)
    tl.store(y_ptr + row * y_row_stride + cols, numerator / denominator, mask=mask)
