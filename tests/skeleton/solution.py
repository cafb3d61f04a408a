"""Puzzle t1, solved: the difference of two vectors, one program per block of elements."""

import triton
import triton.language as tl


@triton.jit
def difference_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK_SIZE: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    offsets = program * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(z_ptr + offsets, x - y, mask=mask)
