"""The merge of (m, l) as a function of its own."""

import triton
import triton.language as tl


@triton.jit
def merge(m_a, l_a, m_b, l_b):
    m = tl.maximum(m_a, m_b)
    return m, l_a * tl.exp(m_a - m) + l_b * tl.exp(m_b - m)


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    x_row_ptr = x_ptr + row * x_row_stride
    y_row_ptr = y_ptr + row * y_row_stride

    m = -1.0e30
    l = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        x = tl.load(x_row_ptr + start + cols, mask=start + cols < n_cols, other=-float("inf")).to(tl.float32)
        m_block = tl.maximum(tl.max(x, axis=0), -1.0e30)
        m, l = merge(m, l, m_block, tl.sum(tl.exp(x - m_block), axis=0))
    # Pass 2: the result.
    for start in range(0, n_cols, BLOCK_SIZE):
        mask = start + cols < n_cols
        x = tl.load(x_row_ptr + start + cols, mask=mask, other=-float("inf")).to(tl.float32)
        tl.store(y_row_ptr + start + cols, tl.exp(x - m) / l, mask=mask)
