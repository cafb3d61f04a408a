"""The row as a block of shape (1, BLOCK_SIZE), as p4 will have it."""

import triton
import triton.language as tl


@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)[None, :]
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x)
    denominator = tl.sum(numerator, axis=1)[:, None]
    tl.store(y_ptr + row * y_row_stride + cols, numerator / denominator, mask=mask)
