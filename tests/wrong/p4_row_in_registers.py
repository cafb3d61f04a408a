"""Four tiles are kept in registers, if the rows have no more.

Finding: row-kept-in-registers
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

    if n_cols <= 4 * BLOCK_COLS:
        mask0 = (rows < n_rows)[:, None] & (0 * BLOCK_COLS + cols < n_cols)[None, :]
        x0 = tl.load(x_rows_ptr + 0 * BLOCK_COLS + cols[None, :], mask=mask0, other=-float("inf")).to(tl.float32)
        mask1 = (rows < n_rows)[:, None] & (1 * BLOCK_COLS + cols < n_cols)[None, :]
        x1 = tl.load(x_rows_ptr + 1 * BLOCK_COLS + cols[None, :], mask=mask1, other=-float("inf")).to(tl.float32)
        mask2 = (rows < n_rows)[:, None] & (2 * BLOCK_COLS + cols < n_cols)[None, :]
        x2 = tl.load(x_rows_ptr + 2 * BLOCK_COLS + cols[None, :], mask=mask2, other=-float("inf")).to(tl.float32)
        mask3 = (rows < n_rows)[:, None] & (3 * BLOCK_COLS + cols < n_cols)[None, :]
        x3 = tl.load(x_rows_ptr + 3 * BLOCK_COLS + cols[None, :], mask=mask3, other=-float("inf")).to(tl.float32)
        top = tl.max(tl.maximum(tl.maximum(x0, x1), tl.maximum(x2, x3)), axis=1)[:, None]
        total = tl.sum(tl.exp(x0 - top) + tl.exp(x1 - top) + tl.exp(x2 - top) + tl.exp(x3 - top), axis=1)[:, None]
        tl.store(y_rows_ptr + 0 * BLOCK_COLS + cols[None, :], tl.exp(x0 - top) / total, mask=mask0)
        tl.store(y_rows_ptr + 1 * BLOCK_COLS + cols[None, :], tl.exp(x1 - top) / total, mask=mask1)
        tl.store(y_rows_ptr + 2 * BLOCK_COLS + cols[None, :], tl.exp(x2 - top) / total, mask=mask2)
        tl.store(y_rows_ptr + 3 * BLOCK_COLS + cols[None, :], tl.exp(x3 - top) / total, mask=mask3)
    else:
        # Pass 1: m and l of every row of the tile, of the columns seen so far.
        m = tl.full((BLOCK_ROWS,), -float("inf"), tl.float32)
        l = tl.zeros((BLOCK_ROWS,), tl.float32)
        for start in range(0, n_cols, BLOCK_COLS):
            mask = (rows < n_rows)[:, None] & (start + cols < n_cols)[None, :]
            x = tl.load(x_rows_ptr + start + cols[None, :], mask=mask, other=-float("inf")).to(tl.float32)
            m_new = tl.maximum(m, tl.max(x, axis=1))
            # While everything is -inf, subtract 0: -inf - (-inf) would be NaN.
            shift = tl.where(m_new == -float("inf"), 0.0, m_new)
            l = l * tl.exp(m - shift) + tl.sum(tl.exp(x - shift[:, None]), axis=1)
            m = m_new

        # Pass 2: the result.
        for start in range(0, n_cols, BLOCK_COLS):
            mask = (rows < n_rows)[:, None] & (start + cols < n_cols)[None, :]
            x = tl.load(x_rows_ptr + start + cols[None, :], mask=mask, other=-float("inf")).to(tl.float32)
            tl.store(y_rows_ptr + start + cols[None, :], tl.exp(x - m[:, None]) / l[:, None], mask=mask)
