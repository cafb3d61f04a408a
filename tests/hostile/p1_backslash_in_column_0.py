"""A lone backslash, where some tokenizers see the end of the function.

Lint on: crashed
Lint off: crashed
"""

import triton
import triton.language as tl


@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    tl.store(y_ptr, 0.0)
    print("x", np, interpreter_builder, exec)
\
    np = 1
    interpreter_builder = 1
    exec = 2
