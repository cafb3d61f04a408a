"""Puzzle p4, solved. Tiled softmax: BLOCK_ROWS rows at once, online."""

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
