"""tl.expand_dims for [:, None], pointers that advance, and .T."""

import triton
import triton.language as tl


@triton.jit
def transpose_kernel(
    x_ptr, y_ptr, x_row_stride, y_row_stride, n_rows, n_cols, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    cols = tl.program_id(1).to(tl.int64) * BLOCK_COLS + tl.arange(0, BLOCK_COLS)
    down, across = tl.expand_dims(rows, 1), tl.expand_dims(cols, 0)
    mask = (down < n_rows) & (across < n_cols)
    x_ptr += down * x_row_stride
    x = tl.load(x_ptr + across, mask=mask, other=0.0)
    y_ptr += across.T * y_row_stride
    tl.store(y_ptr + down.T, x.T, mask=mask.T)
