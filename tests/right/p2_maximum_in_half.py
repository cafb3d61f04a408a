"""The maximum is kept in the type of x, which is exact; sums are fp32."""

import triton
import triton.language as tl


@triton.jit
def safe_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    x_row_ptr = x_ptr + row * x_row_stride
    y_row_ptr = y_ptr + row * y_row_stride

    highest = tl.full((BLOCK_SIZE,), -float("inf"), x_ptr.dtype.element_ty)
    for start in range(0, n_cols, BLOCK_SIZE):
        x = tl.load(x_row_ptr + start + cols, mask=start + cols < n_cols, other=-float("inf"))
        highest = tl.maximum(highest, x).to(x.dtype)  # of two bf16 blocks it is fp32
    m = tl.max(highest, axis=0).to(tl.float32)

    l = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        x = tl.load(x_row_ptr + start + cols, mask=start + cols < n_cols, other=-float("inf")).to(tl.float32)
        l += tl.sum(tl.exp(x - m), axis=0)

    for start in range(0, n_cols, BLOCK_SIZE):
        mask = start + cols < n_cols
        x = tl.load(x_row_ptr + start + cols, mask=mask, other=-float("inf")).to(tl.float32)
        tl.store(y_row_ptr + start + cols, tl.exp(x - m) / l, mask=mask)
