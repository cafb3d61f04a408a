"""Blocks are printed on the way, and the mask keeps the sum from the last lanes as well."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK_SIZE: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    offsets = program * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    print("offsets", offsets)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    z = tl.where(mask, x + y, 0.0)
    print("z", z)
    tl.store(z_ptr + offsets, z, mask=mask)
