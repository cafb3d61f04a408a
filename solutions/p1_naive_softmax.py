"""Puzzle p1, solved: naive softmax, one program per row, the whole row in one block."""

import triton
import triton.language as tl


@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols

    # exp(-inf) = 0: the padding adds nothing to the sum.
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=-float("inf"))
    numerator = tl.exp(x.to(tl.float32))
    denominator = tl.sum(numerator, axis=0)
    tl.store(y_ptr + row * y_row_stride + cols, numerator / denominator, mask=mask)
