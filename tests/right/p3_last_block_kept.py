"""The last block of the first sweep stays in registers, and is written before the second one."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    x_row_ptr = x_ptr + row * x_row_stride
    y_row_ptr = y_ptr + row * y_row_stride
    last = (n_cols - 1) // BLOCK_SIZE * BLOCK_SIZE

    m = -float("inf")
    l = 0.0
    for start in range(0, last, BLOCK_SIZE):
        x = tl.load(x_row_ptr + start + cols).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, axis=0))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        l = l * tl.exp(m - shift) + tl.sum(tl.exp(x - shift), axis=0)
        m = m_new

    mask = last + cols < n_cols
    x = tl.load(x_row_ptr + last + cols, mask=mask, other=-float("inf")).to(tl.float32)
    m_new = tl.maximum(m, tl.max(x, axis=0))
    shift = tl.where(m_new == -float("inf"), 0.0, m_new)
    l = l * tl.exp(m - shift) + tl.sum(tl.exp(x - shift), axis=0)
    tl.store(y_row_ptr + last + cols, tl.exp(x - m_new) / l, mask=mask)

    for start in range(0, last, BLOCK_SIZE):
        x = tl.load(x_row_ptr + start + cols).to(tl.float32)
        tl.store(y_row_ptr + start + cols, tl.exp(x - m_new) / l)
