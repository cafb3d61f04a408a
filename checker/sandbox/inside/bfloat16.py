"""bf16, which NumPy does not have: fp32 numbers that bf16 can hold.

Triton's interpreter computes on their bits instead. Here a value of this type is fp32 in NumPy, and whatever an
operation makes of it is rounded to the nearest, ties to even, as a GPU does where it converts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import triton.language as tl
from triton.runtime import interpreter

BITS = 16  # of fp32 that bf16 does not have


def rounded(values: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Return the nearest numbers that bf16 can hold, as fp32; NaN stays NaN."""
    exact = np.ascontiguousarray(values, np.float32)
    bits = exact.view(np.uint32)
    nearest = (bits + (0x7FFF + ((bits >> BITS) & 1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(exact), exact, nearest.view(np.float32)).reshape(np.shape(values))


def is_bf16(kind: Any) -> bool:
    """Return whether elements of a type are bf16; pointers to such are not."""
    return bool(kind.scalar.name == "bf16")


def type_of(plain: Any, kind: Any) -> Any:
    """NumPy's type for one of Triton's."""
    return np.dtype(np.float32) if is_bf16(kind) else plain(kind)


def converted(plain: Any, builder: Any, source: Any, kind: Any, *how: Any) -> Any:
    """Return a conversion from or to bf16."""
    if not (is_bf16(source.dtype) or is_bf16(kind)):
        return plain(builder, source, kind, *how)
    return interpreter.TensorHandle(source.data.astype(interpreter._get_np_dtype(kind)), kind.scalar)


def same_bits(plain: Any, builder: Any, source: Any, kind: Any) -> Any:
    """Return the same bits as another type: those of bf16 are the upper half of fp32's."""
    if is_bf16(source.dtype):
        upper = np.ascontiguousarray(source.data).view(np.uint32) >> BITS
        return interpreter.TensorHandle(upper.astype(np.uint16).view(interpreter._get_np_dtype(kind)), kind.scalar)
    if is_bf16(kind):
        upper = np.ascontiguousarray(source.data).view(np.uint16).astype(np.uint32) << BITS
        return interpreter.TensorHandle(upper.view(np.float32), kind.scalar)
    return plain(builder, source, kind)


def constant(builder: Any, value: float) -> Any:
    """Return a number of this type, which Triton's interpreter cannot make."""
    return interpreter.TensorHandle(np.array([value], np.float32), tl.bfloat16)


OF_CONVERSIONS = {"cast_impl": converted, "create_fp_to_fp": converted, "create_bitcast": same_bits}
