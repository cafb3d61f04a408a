"""Puzzle a1 at speed, step 2: eight numbers a copy, where strides allow it.

A copy takes 16 bytes at once, 8 numbers in fp16, if the compiler knows that they begin at a multiple of 16 bytes. For
that it looks whether 16 divides the strides and k. With k = 4088 it learns nothing, and copies number by number. Here
a branch finds out at run time whether 8 divides them, and `stride // 8 * 8`, which changes nothing there, says so in a
form that the compiler understands. The other side takes every stride there is, so it is not pipelined: two pipelines
would need shared memory twice. The offsets within a tile stay the same from step to step, and are computed before the
loop; by itself that gained nothing.
"""

import triton
import triton.language as tl


@triton.jit
def tile_of_c(
    a_ptr, b_ptr, a_rows, b_rows, a_row_stride, b_row_stride, k,
    Bm: tl.constexpr, Bn: tl.constexpr, Bk: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    inner = tl.arange(0, Bk)[None, :]
    a_tile = a_rows[:, None] * a_row_stride + inner
    b_tile = b_rows[:, None] * b_row_stride + inner

    acc = tl.zeros((Bm, Bn), tl.float32)
    whole_k = k // Bk * Bk
    for start in tl.range(0, whole_k, Bk, num_stages=STAGES):
        a = tl.load(a_ptr + start + a_tile)
        b = tl.load(b_ptr + start + b_tile)
        acc = tl.dot(a, tl.trans(b), acc)
    for start in tl.range(whole_k, k, Bk, num_stages=1):
        a = tl.load(a_ptr + start + a_tile, mask=start + inner < k, other=0.0)
        b = tl.load(b_ptr + start + b_tile, mask=start + inner < k, other=0.0)
        acc = tl.dot(a, tl.trans(b), acc)
    return acc


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, a_row_stride, b_row_stride, c_row_stride, m, n, k,
    Bm: tl.constexpr, Bn: tl.constexpr, Bk: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * Bm + tl.arange(0, Bm)
    cols = tl.program_id(1).to(tl.int64) * Bn + tl.arange(0, Bn)
    a_rows = tl.minimum(rows, m - 1)
    b_rows = tl.minimum(cols, n - 1)

    if (a_row_stride % 8 == 0) & (b_row_stride % 8 == 0) & (k % 8 == 0):
        a_eights, b_eights, k_eights = a_row_stride // 8 * 8, b_row_stride // 8 * 8, k // 8 * 8
        acc = tile_of_c(a_ptr, b_ptr, a_rows, b_rows, a_eights, b_eights, k_eights, Bm, Bn, Bk, None)
    else:
        acc = tile_of_c(a_ptr, b_ptr, a_rows, b_rows, a_row_stride, b_row_stride, k, Bm, Bn, Bk, 1)

    c_mask = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(c_ptr + rows[:, None] * c_row_stride + cols[None, :], acc, mask=c_mask)
