"""Colours and HTML in the message of an assertion, which the report shows.

Lint on: crashed
Lint off: crashed
"""

import triton
import triton.language as tl


@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    tl.static_assert(False, "\x1b]0;title\x07\x1b[31m\u202e<script>alert(1)</script>")
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x)
    tl.store(y_ptr + row * y_row_stride + cols, numerator / tl.sum(numerator, axis=0), mask=mask)
