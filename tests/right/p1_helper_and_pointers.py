"""Pointers kept in variables, a helper function, a multiplication by the reciprocal."""

import triton
import triton.language as tl


@triton.jit
def load_row(ptr, cols, n_cols):
    """The row, with padding whose exponential is 0.

    def in a docstring begins no function.
    """
    return tl.load(ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)


@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    x_ptr += row * x_row_stride
    y_ptr += row * y_row_stride
    x = load_row(x_ptr, cols, n_cols)
    numerator = tl.exp(x)
    tl.store(y_ptr + cols, numerator * (1.0 / tl.sum(numerator, axis=0)), mask=cols < n_cols)
