"""m and l per lane in the loop, merged once after it."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    x_row_ptr = x_ptr + row * x_row_stride
    y_row_ptr = y_ptr + row * y_row_stride

    m_lane = tl.full((BLOCK_SIZE,), -1.0e30, tl.float32)
    l_lane = tl.zeros((BLOCK_SIZE,), tl.float32)
    for start in range(0, n_cols, BLOCK_SIZE):
        x = tl.load(x_row_ptr + start + cols, mask=start + cols < n_cols, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m_lane, x)
        l_lane = l_lane * tl.exp(m_lane - m_new) + tl.exp(x - m_new)
        m_lane = m_new
    m = tl.max(m_lane, axis=0)
    l = tl.sum(l_lane * tl.exp(m_lane - m), axis=0)
    # Pass 2: the result.
    for start in range(0, n_cols, BLOCK_SIZE):
        mask = start + cols < n_cols
        x = tl.load(x_row_ptr + start + cols, mask=mask, other=-float("inf")).to(tl.float32)
        tl.store(y_row_ptr + start + cols, tl.exp(x - m) / l, mask=mask)
