"""Hide a call in a default value that begins like a harmless one.

Lint on: forbidden
Lint off: no-output
"""

import triton
import triton.language as tl


@triton.jit
def helper(x: tl.tensor, y: tl.constexpr = tl.float32, z=tl.constexpr(-__import__("os")._exit(0))):
    return x


@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(helper(x))
    tl.store(y_ptr + row * y_row_stride + cols, numerator / tl.sum(numerator, axis=0), mask=mask)
