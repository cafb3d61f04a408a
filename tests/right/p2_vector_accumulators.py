"""Maximum and sum are kept per lane, and reduced once after the loop."""

import triton
import triton.language as tl


@triton.jit
def safe_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    x_row_ptr = x_ptr + row * x_row_stride
    y_row_ptr = y_ptr + row * y_row_stride

    lanes = tl.full((BLOCK_SIZE,), -float("inf"), tl.float32)
    for start in range(0, n_cols, BLOCK_SIZE):
        x = tl.load(x_row_ptr + start + cols, mask=start + cols < n_cols, other=-float("inf")).to(tl.float32)
        lanes = tl.maximum(lanes, x)
    m = tl.max(lanes, axis=0)
    sums = tl.zeros((BLOCK_SIZE,), tl.float32)
    for start in range(0, n_cols, BLOCK_SIZE):
        x = tl.load(x_row_ptr + start + cols, mask=start + cols < n_cols, other=-float("inf")).to(tl.float32)
        sums += tl.exp(x - m)
    l = tl.sum(sums, axis=0)
    # Pass 3: the result.
    for start in range(0, n_cols, BLOCK_SIZE):
        mask = start + cols < n_cols
        x = tl.load(x_row_ptr + start + cols, mask=mask, other=-float("inf")).to(tl.float32)
        tl.store(y_row_ptr + start + cols, tl.exp(x - m) / l, mask=mask)
