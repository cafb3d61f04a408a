"""The compiler is told what is true: where blocks begin, that columns follow one another, that there is one."""

import triton
import triton.language as tl


@triton.jit
def safe_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    tl.assume(n_cols > 0)
    cols = tl.max_contiguous(tl.arange(0, BLOCK_SIZE), BLOCK_SIZE)
    x_row_ptr = x_ptr + row * x_row_stride
    y_row_ptr = y_ptr + row * y_row_stride

    m = -float("inf")
    for start in range(0, n_cols, BLOCK_SIZE):
        start = tl.multiple_of(start, BLOCK_SIZE)
        mask = start + cols < n_cols
        x = tl.load(x_row_ptr + start + cols, mask=mask, other=-float("inf")).to(tl.float32)
        m = tl.maximum(m, tl.max(x, axis=0))
    l = 0.0
    for start in tl.range(0, n_cols, BLOCK_SIZE, num_stages=2):
        here = tl.max_contiguous(tl.multiple_of(start + cols, BLOCK_SIZE), BLOCK_SIZE)
        x = tl.load(x_row_ptr + here, mask=here < n_cols, other=-float("inf")).to(tl.float32)
        l += tl.sum(tl.exp(x - m), axis=0)
    for start in range(0, n_cols, BLOCK_SIZE):
        here = start + cols
        m_lanes = tl.max_constancy(m + tl.zeros((BLOCK_SIZE,), tl.float32), BLOCK_SIZE)
        x = tl.load(x_row_ptr + here, mask=here < n_cols, other=-float("inf")).to(tl.float32)
        tl.store(y_row_ptr + here, tl.exp(x - m_lanes) / l, mask=here < n_cols)
