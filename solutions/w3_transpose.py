"""Rung w3, solved: the transpose of a matrix, a tile for each program."""

import triton
import triton.language as tl


@triton.jit
def transpose_kernel(
    x_ptr, y_ptr, x_row_stride, y_row_stride, n_rows, n_cols, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    cols = tl.program_id(1).to(tl.int64) * BLOCK_COLS + tl.arange(0, BLOCK_COLS)

    # A lane takes part if its row and its column exist. What the others hold is never stored, so it needs no `other`.
    mask = (rows < n_rows)[:, None] & (cols < n_cols)[None, :]
    x = tl.load(x_ptr + rows[:, None] * x_row_stride + cols[None, :], mask=mask)

    # Column c of x is row c of y. The offsets in y and the transposed tile have the shape (BLOCK_COLS, BLOCK_ROWS).
    offsets = cols[:, None] * y_row_stride + rows[None, :]
    tl.store(y_ptr + offsets, tl.trans(x), mask=tl.trans(mask))
