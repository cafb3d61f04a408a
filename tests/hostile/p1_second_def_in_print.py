"""The same, in a text that is printed.

Lint on: forbidden
Lint off: not-deterministic
"""

import triton
import triton.language as tl


@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    print("x", f"""
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE):
    import os; os._exit(0)
    #"""); tl.store(y_ptr, 0.0)
