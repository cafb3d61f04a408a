"""Idioms of Triton's own tutorials: `jit` imported by name, the pointer's element type, a helper with defaults, asserts."""

from triton import jit
from triton import language as tl


@jit
def normalised(x: tl.tensor, axis: tl.constexpr = 0, factor=1.0, shift=None, kind: tl.constexpr = tl.float32):
    x = x.to(kind)
    if shift is not None:
        x -= shift
    numerator = tl.exp(factor * x)
    return numerator / tl.sum(numerator, axis=axis)


@jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    assert BLOCK_SIZE >= 1, "a block holds something"
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    assert cols >= 0
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=-float("inf"))
    y = normalised(x).to(y_ptr.type.element_ty)
    tl.store(y_ptr + row * y_row_stride + cols, y.to(x.type.scalar), mask=mask)
