"""There is no loop over the row.

Finding: first-block-only
"""

import triton
import triton.language as tl


@triton.jit
def tiled_softmax_kernel(
    x_ptr, y_ptr, x_row_stride, y_row_stride, n_rows, n_cols, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    cols = tl.arange(0, BLOCK_COLS)
    x_rows_ptr = x_ptr + rows[:, None] * x_row_stride
    y_rows_ptr = y_ptr + rows[:, None] * y_row_stride

    mask = (rows < n_rows)[:, None] & (cols < n_cols)[None, :]
    x = tl.load(x_rows_ptr + cols[None, :], mask=mask, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=1)
    e = tl.exp(x - m[:, None])
    tl.store(y_rows_ptr + cols[None, :], e / tl.sum(e, axis=1)[:, None], mask=mask)
