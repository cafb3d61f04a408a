"""Puzzle p3, solved. Online softmax: maximum and normaliser in one pass."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    x_row_ptr = x_ptr + row * x_row_stride
    y_row_ptr = y_ptr + row * y_row_stride

    # Pass 1: maximum m and normaliser l = sum(exp(x - m)) of the columns seen so far.
    m = -float("inf")
    l = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        mask = start + cols < n_cols
        x = tl.load(x_row_ptr + start + cols, mask=mask, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, axis=0))
        # While everything is -inf, subtract 0: -inf - (-inf) would be NaN.
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        l = l * tl.exp(m - shift) + tl.sum(tl.exp(x - shift), axis=0)
        m = m_new

    # Pass 2: the result.
    for start in range(0, n_cols, BLOCK_SIZE):
        mask = start + cols < n_cols
        x = tl.load(x_row_ptr + start + cols, mask=mask, other=-float("inf")).to(tl.float32)
        tl.store(y_row_ptr + start + cols, tl.exp(x - m) / l, mask=mask)
