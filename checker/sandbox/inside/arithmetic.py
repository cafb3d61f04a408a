"""Operations that Triton's interpreter computes otherwise than a GPU, as a GPU computes them.

What a GPU does was read in the PTX that Triton emits; `docs/interpreter.md` has the list, with what remains.
"""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import triton.language as tl
from triton.runtime import interpreter

from checker.sandbox.inside.bfloat16 import is_bf16
from checker.sandbox.inside.language import BlockAsCondition
from checker.sandbox.inside.running import running

TF32_BITS = 13  # of fp32 that TF32 does not have


def _of_two(builder: Any, left: Any, right: Any, operation: Any) -> Any:
    """An operation of two. What comes of a comparison is one bit, not a number: a block made of it is a mask."""
    made, kind = operation(left.data, right.data), left.dtype.scalar
    if made.itemsize > left.data.itemsize:
        made = made.astype(interpreter._get_np_dtype(kind))
    return interpreter.TensorHandle(made, tl.int1 if made.dtype == np.bool_ else kind)


def _to_integer(plain: Any, builder: Any, source: Any, kind: Any) -> Any:
    """cvt.rzi: towards zero; what does not fit becomes the nearest number that does."""
    if source.data.dtype.kind != "f":  # bf16, which has no NumPy type
        return plain(builder, source, kind)
    return interpreter.TensorHandle(saturated(source.data, interpreter._get_np_dtype(kind)), kind.scalar)


def saturated(values: npt.NDArray[Any], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """`values` as integers of `kind`, as cvt.rzi makes them.

    8 bits are the lower half of 16: PTX converts to no fewer. NaN is 0, but if 64 bits are at either end: then it is
    the number of which only the highest bit is set.
    """
    wide = np.dtype(f"{kind.kind}{max(2, kind.itemsize)}")
    bits = 8 * wide.itemsize
    lowest = np.iinfo(wide).min
    whole = np.trunc(values.astype(np.float64))
    above, below, nan = whole >= 2.0 ** (bits - (wide.kind == "i")), whole < lowest, np.isnan(whole)
    result = np.where(above | below | nan, 0.0, whole).astype(wide)
    result[above] = np.iinfo(wide).max
    result[below] = lowest
    if 8 in (values.dtype.itemsize, kind.itemsize):
        result[nan] = lowest if wide.kind == "i" else 1 << (bits - 1)
    return result.astype(kind)


def _of_one_bit(plain: Any, builder: Any, left: Any, right: Any) -> Any:
    """Sum or difference; of two bits both are what differs in them, where NumPy's sum is `or`. So does 3.9."""
    if left.data.dtype.kind == "b":
        return interpreter.TensorHandle(np.not_equal(left.data, right.data), left.dtype.scalar)
    return plain(builder, left, right)


def _leaving_operands(plain: Any, builder: Any, left: Any, right: Any) -> Any:
    """`>>`, which makes its operands signed: for itself alone, as since 3.9, and not for what comes after it."""
    copies = (interpreter.TensorHandle(operand.data, operand.dtype) for operand in (left, right))
    return plain(builder, *copies)


def _larger(builder: Any, left: Any, right: Any) -> Any:
    """max.f32: the other of two is taken if one is NaN. Triton's interpreter does so since 3.8."""
    return builder.binary_op(left, right, np.fmax)


def _smaller(builder: Any, left: Any, right: Any) -> Any:
    """min.f32, which does the same."""
    return builder.binary_op(left, right, np.fmin)


def _clamp(plain: Any, builder: Any, value: Any, low: Any, high: Any, propagate_nans: Any) -> Any:
    """max, then min: NaN becomes the lower bound, unless it is to be kept."""
    if propagate_nans != tl.PropagateNan.NONE:
        return plain(builder, value, low, high, propagate_nans)
    return _smaller(builder, _larger(builder, value, low), high)


def _product(plain: Any, builder: Any, left: Any, right: Any, accumulator: Any, precision: Any, *how: Any) -> Any:
    """tl.dot, exact in fp32, but where a launch asks for TF32 and the kernel for nothing better."""
    if running.memory is not None and running.memory.tf32 and str(precision).endswith(".TF32"):
        left, right = (_in_tf32(factor) for factor in (left, right))
    return plain(builder, left, right, accumulator, precision, *how)


def _in_tf32(factor: Any) -> Any:
    """Return what a tensor core reads of fp32: the upper 19 bits."""
    if factor.data.dtype != np.float32 or is_bf16(factor.dtype):
        return factor
    bits = np.ascontiguousarray(factor.data).view(np.uint32) >> TF32_BITS << TF32_BITS
    return interpreter.TensorHandle(bits.view(np.float32), factor.dtype.scalar)


def total(reduction: Any, block: Any) -> Any:
    """`tl.sum`. Whole numbers are added in their own type, and wrap around there, as PTX's integer additions do."""
    data = block.handle.data
    own = {"b": np.int64, "i": data.dtype, "u": data.dtype}.get(data.dtype.kind)
    return reduction.to_tensor(np.sum(data, axis=reduction.axis, keepdims=reduction.keep_dims, dtype=own), block.dtype)


def by_halves(per_element: Any, reduction: Any, blocks: tuple[Any, ...]) -> Any:
    """`tl.reduce` with a combine function: the first half of all blocks with the second, until one element is left.

    A GPU combines pairs too, if others; so it is done in another order as well, and must give the same. Triton's
    interpreter calls the function for each element, with scalars: that takes 100 µs for each, and is kept for functions
    that decide something by a scalar.
    """
    own = reduction.combine_fn
    function = own.rewritten_fn.get(own.fn, own.fn)  # of Triton's own library there is no rewritten one
    try:
        result = _folded(reduction, blocks, function, 2)
        other = _folded(reduction, blocks, function, 4)
    except BlockAsCondition:
        reduction.combine_fn = SimpleNamespace(fn=function)
        return per_element(reduction, blocks)
    if not all(map(_much_alike, result, other)):
        raise OrderMatters
    return result


class OrderMatters(ValueError):
    """A combine function gives one thing if its first two arguments are combined first, and another otherwise."""

    def __init__(self) -> None:
        super().__init__(
            "tl.reduce combines elements in any order, so f(f(a, b), c) must be f(a, f(b, c)). This combine function "
            "gives something else in another order"
        )


def _much_alike(one: Any, other: Any) -> bool:
    """Return whether two tensors differ by no more than roundings."""
    first, second = one.handle.data, other.handle.data
    return np.allclose(first, second, 0.01 if first.dtype.kind == "f" else 0, 1e-6, equal_nan=True)


def _folded(reduction: Any, blocks: tuple[Any, ...], function: Any, parts: int) -> list[Any]:
    """Blocks cut into so many parts, which are combined from left to right, until one element is left."""

    def tensor(values: npt.NDArray[Any], kind: Any) -> Any:
        return tl.tensor(interpreter.TensorHandle(values, kind), tl.block_type(kind, list(values.shape)))

    kinds = [block.dtype for block in blocks]
    shape = blocks[0].handle.data.shape
    axis = getattr(reduction.axis, "value", reduction.axis)
    arrays = [block.handle.data.reshape(-1) if axis is None else block.handle.data for block in blocks]
    along = 0 if axis is None else axis % len(shape)
    while (extent := arrays[0].shape[along]) > 1:
        cut = [np.split(array, min(parts, extent), along) for array in arrays]
        arrays, *rest = ([*some] for some in zip(*cut, strict=True))
        for some in rest:
            sides = ([tensor(array, kind) for array, kind in zip(side, kinds, strict=True)] for side in (arrays, some))
            made = function(*itertools.chain(*sides))
            values = made if isinstance(made, tuple) else (made,)
            arrays = [
                np.broadcast_to(interpreter.interpreter_semantic.to_tensor(value).handle.data, like.shape).astype(
                    interpreter._get_np_dtype(kind)
                )
                for value, like, kind in zip(values, some, kinds, strict=True)
            ]
    if reduction.keep_dims:
        final = (1,) * len(shape) if axis is None else arrays[0].shape
    else:
        final = arrays[0].shape[:along] + arrays[0].shape[along + 1 :]
    return [
        reduction.to_tensor(array.reshape(final) if final else array.item(), kind)
        for array, kind in zip(arrays, kinds, strict=True)
    ]


AROUND = {
    "create_fp_to_si": _to_integer,
    "create_fp_to_ui": _to_integer,
    "create_add": _of_one_bit,
    "create_sub": _of_one_bit,
    "create_ashr": _leaving_operands,
    "create_clampf": _clamp,
    "create_dot": _product,
}
INSTEAD = {"binary_op": _of_two, "create_maxnumf": _larger, "create_minnumf": _smaller}
