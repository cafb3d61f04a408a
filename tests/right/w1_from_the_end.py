"""The first program takes the last block. What masked lanes hold differs for x and y, and is never stored."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK_SIZE: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    block = tl.num_programs(0) - 1 - program
    offsets = block * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=-float("inf"))
    y = tl.load(y_ptr + offsets, mask=offsets < n, other=1.0)
    tl.store(z_ptr + offsets, x + y, mask=offsets < n)
