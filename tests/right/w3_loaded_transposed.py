"""The tile is loaded in the shape that it has in y."""

import triton
import triton.language as tl


@triton.jit
def transpose_kernel(
    x_ptr, y_ptr, x_row_stride, y_row_stride, n_rows, n_cols, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    cols = tl.program_id(1).to(tl.int64) * BLOCK_COLS + tl.arange(0, BLOCK_COLS)
    mask = (cols < n_cols)[:, None] & (rows < n_rows)[None, :]
    y = tl.load(x_ptr + rows[None, :] * x_row_stride + cols[:, None], mask=mask)
    tl.store(y_ptr + cols[:, None] * y_row_stride + rows[None, :], y, mask=mask)
