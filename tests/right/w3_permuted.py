"""tl.permute for tl.trans, and a second mask that is made like the first."""

import triton
import triton.language as tl


@triton.jit
def transpose_kernel(
    x_ptr, y_ptr, x_row_stride, y_row_stride, n_rows, n_cols, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    cols = tl.program_id(1).to(tl.int64) * BLOCK_COLS + tl.arange(0, BLOCK_COLS)
    x_mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    y_mask = (cols[:, None] < n_cols) & (rows[None, :] < n_rows)
    x = tl.load(x_ptr + rows[:, None] * x_row_stride + cols[None, :], mask=x_mask, other=0.0)
    tl.store(y_ptr + cols[:, None] * y_row_stride + rows[None, :], tl.permute(x, (1, 0)), mask=y_mask)
