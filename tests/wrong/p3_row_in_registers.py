"""Four blocks are kept in registers, if the row has no more.

Finding: row-kept-in-registers
"""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    x_row_ptr = x_ptr + row * x_row_stride
    y_row_ptr = y_ptr + row * y_row_stride

    if n_cols <= 4 * BLOCK_SIZE:
        x0 = tl.load(x_row_ptr + 0 * BLOCK_SIZE + cols, mask=0 * BLOCK_SIZE + cols < n_cols, other=-float("inf")).to(
            tl.float32
        )
        x1 = tl.load(x_row_ptr + 1 * BLOCK_SIZE + cols, mask=1 * BLOCK_SIZE + cols < n_cols, other=-float("inf")).to(
            tl.float32
        )
        x2 = tl.load(x_row_ptr + 2 * BLOCK_SIZE + cols, mask=2 * BLOCK_SIZE + cols < n_cols, other=-float("inf")).to(
            tl.float32
        )
        x3 = tl.load(x_row_ptr + 3 * BLOCK_SIZE + cols, mask=3 * BLOCK_SIZE + cols < n_cols, other=-float("inf")).to(
            tl.float32
        )
        m = tl.max(tl.maximum(tl.maximum(x0, x1), tl.maximum(x2, x3)), axis=0)
        l = tl.sum(tl.exp(x0 - m) + tl.exp(x1 - m) + tl.exp(x2 - m) + tl.exp(x3 - m), axis=0)
        tl.store(y_row_ptr + 0 * BLOCK_SIZE + cols, tl.exp(x0 - m) / l, mask=0 * BLOCK_SIZE + cols < n_cols)
        tl.store(y_row_ptr + 1 * BLOCK_SIZE + cols, tl.exp(x1 - m) / l, mask=1 * BLOCK_SIZE + cols < n_cols)
        tl.store(y_row_ptr + 2 * BLOCK_SIZE + cols, tl.exp(x2 - m) / l, mask=2 * BLOCK_SIZE + cols < n_cols)
        tl.store(y_row_ptr + 3 * BLOCK_SIZE + cols, tl.exp(x3 - m) / l, mask=3 * BLOCK_SIZE + cols < n_cols)
    else:
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
