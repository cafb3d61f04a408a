"""A tab after `def`: whoever looks for `def ` runs only the last line, at module level.

Lint on: not-deterministic
Lint off: not-deterministic
"""

import triton
import triton.language as tl


@triton.jit
def	naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    tl.store(y_ptr, 0.0)
    np = 1
    exec = 2
    naive_softmax_kernel: tl.constexpr = print("x", np, exec, np.abs)
