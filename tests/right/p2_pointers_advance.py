"""Pointers that move along, and a loop over block numbers."""

import triton
import triton.language as tl


@triton.jit
def safe_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    x_row_ptr = x_ptr + row * x_row_stride
    y_row_ptr = y_ptr + row * y_row_stride

    m = -float("inf")
    ptr = x_row_ptr + cols
    for block in range(0, tl.cdiv(n_cols, BLOCK_SIZE)):
        m = tl.maximum(m, tl.max(tl.load(ptr, mask=block * BLOCK_SIZE + cols < n_cols, other=-float("inf")).to(tl.float32), axis=0))
        ptr += BLOCK_SIZE
    l = 0.0
    ptr = x_row_ptr + cols
    for block in range(0, tl.cdiv(n_cols, BLOCK_SIZE)):
        x = tl.load(ptr, mask=block * BLOCK_SIZE + cols < n_cols, other=-float("inf")).to(tl.float32)
        l = l + tl.sum(tl.exp(x - m), axis=0)
        ptr += BLOCK_SIZE
    # Pass 3: the result.
    for start in range(0, n_cols, BLOCK_SIZE):
        mask = start + cols < n_cols
        x = tl.load(x_row_ptr + start + cols, mask=mask, other=-float("inf")).to(tl.float32)
        tl.store(y_row_ptr + start + cols, tl.exp(x - m) / l, mask=mask)
