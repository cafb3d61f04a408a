"""The pairs (m, l) of all lanes are merged by tl.reduce: the merge is associative."""

import triton
import triton.language as tl


@triton.jit
def merge(m_a, l_a, m_b, l_b):
    m = tl.maximum(m_a, m_b)
    shift = tl.where(m == -float("inf"), 0.0, m)
    return m, l_a * tl.exp(m_a - shift) + l_b * tl.exp(m_b - shift)


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    x_row_ptr = x_ptr + row * x_row_stride
    y_row_ptr = y_ptr + row * y_row_stride

    m = -float("inf")
    l = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        mask = start + cols < n_cols
        x = tl.load(x_row_ptr + start + cols, mask=mask, other=-float("inf")).to(tl.float32)
        m_block, l_block = tl.reduce((x, tl.where(x == -float("inf"), 0.0, 1.0)), 0, merge)
        m, l = merge(m, l, m_block, l_block)
    # Pass 2: the result.
    for start in range(0, n_cols, BLOCK_SIZE):
        mask = start + cols < n_cols
        x = tl.load(x_row_ptr + start + cols, mask=mask, other=-float("inf")).to(tl.float32)
        tl.store(y_row_ptr + start + cols, tl.exp(x - m) / l, mask=mask)
