"""Pointers moved to the block first; the mask counts what is left."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK_SIZE: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    begin = program * BLOCK_SIZE
    x_ptr += begin
    y_ptr += begin
    z_ptr += begin
    lanes = tl.arange(0, BLOCK_SIZE)
    mask = lanes < n - begin
    x = tl.load(x_ptr + lanes, mask)
    y = tl.load(y_ptr + lanes, mask)
    tl.store(z_ptr + lanes, x + y, mask)
