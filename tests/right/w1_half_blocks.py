"""Each program adds its block in two halves, with a helper function."""

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, z_ptr, offsets, n):
    mask = offsets < n
    tl.store(z_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK_SIZE: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    HALF: tl.constexpr = (BLOCK_SIZE + 1) // 2
    first = program * BLOCK_SIZE + tl.arange(0, HALF)
    add(x_ptr, y_ptr, z_ptr, first, n)
    if BLOCK_SIZE > 1:
        add(x_ptr, y_ptr, z_ptr, first + HALF, n)
