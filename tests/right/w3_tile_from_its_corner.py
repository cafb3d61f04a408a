"""Offsets inside a tile are added to the address of its corner, which alone is 64 bits wide."""

import triton
import triton.language as tl


@triton.jit
def transpose_kernel(
    x_ptr, y_ptr, x_row_stride, y_row_stride, n_rows, n_cols, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr
):
    first_row = tl.program_id(0).to(tl.int64) * BLOCK_ROWS
    first_col = tl.program_id(1).to(tl.int64) * BLOCK_COLS
    down, across = tl.arange(0, BLOCK_ROWS)[:, None], tl.arange(0, BLOCK_COLS)[None, :]
    x_corner = x_ptr + first_row * x_row_stride + first_col
    y_corner = y_ptr + first_col * y_row_stride + first_row
    mask = (down < n_rows - first_row) & (across < n_cols - first_col)
    x = tl.load(x_corner + down.to(tl.int64) * x_row_stride + across, mask=mask, other=0.0)
    tl.store(y_corner + across.to(tl.int64) * y_row_stride + down, x, mask=mask)
