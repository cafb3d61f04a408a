"""The compiler is told that the mask changes only every 16 lanes: a GPU then stores past the end of the row.

Finding: false-promise
"""

import triton
import triton.language as tl


@triton.jit
def safe_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    x_row_ptr = x_ptr + row * x_row_stride
    y_row_ptr = y_ptr + row * y_row_stride

    m = -float("inf")
    for start in range(0, n_cols, BLOCK_SIZE):
        x = tl.load(x_row_ptr + start + cols, mask=start + cols < n_cols, other=-float("inf")).to(tl.float32)
        m = tl.maximum(m, tl.max(x, axis=0))
    l = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        x = tl.load(x_row_ptr + start + cols, mask=start + cols < n_cols, other=-float("inf")).to(tl.float32)
        l += tl.sum(tl.exp(x - m), axis=0)
    for start in range(0, n_cols, BLOCK_SIZE):
        mask = tl.max_constancy(start + cols < n_cols, 16)
        x = tl.load(x_row_ptr + start + cols, mask=start + cols < n_cols, other=-float("inf")).to(tl.float32)
        tl.store(y_row_ptr + start + cols, tl.exp(x - m) / l, mask=mask)
