"""The rows of a program are done one after the other, without a tile.

Finding: no-tiles
"""

import triton
import triton.language as tl


@triton.jit
def tiled_softmax_kernel(
    x_ptr, y_ptr, x_row_stride, y_row_stride, n_rows, n_cols, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr
):
    cols = tl.arange(0, BLOCK_COLS)
    first = tl.program_id(0).to(tl.int64) * BLOCK_ROWS
    for r in range(0, BLOCK_ROWS):
        row = first + r
        if row < n_rows:
            x_row_ptr = x_ptr + row * x_row_stride
            y_row_ptr = y_ptr + row * y_row_stride
            m = -float("inf")
            l = 0.0
            for start in range(0, n_cols, BLOCK_COLS):
                mask = start + cols < n_cols
                x = tl.load(x_row_ptr + start + cols, mask=mask, other=-float("inf")).to(tl.float32)
                m_new = tl.maximum(m, tl.max(x, axis=0))
                shift = tl.where(m_new == -float("inf"), 0.0, m_new)
                l = l * tl.exp(m - shift) + tl.sum(tl.exp(x - shift), axis=0)
                m = m_new
            for start in range(0, n_cols, BLOCK_COLS):
                mask = start + cols < n_cols
                x = tl.load(x_row_ptr + start + cols, mask=mask, other=-float("inf")).to(tl.float32)
                tl.store(y_row_ptr + start + cols, tl.exp(x - m) / l, mask=mask)
