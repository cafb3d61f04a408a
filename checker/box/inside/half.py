"""Arithmetic that memory does not show: products of blocks element by element, and what is computed in half.

A half is a float of fewer than 32 bits. A kernel may round to half what goes into a tl.dot, and what it stores in a
tensor of halves. What else is rounded loses digits, and there are two ways to do it.

To go on computing with what was rounded on the way. Each value carries the line that rounded it, as `handle.rounded`;
0 if none did, or if nothing was lost. What is made of it by a product carries the line as a negative number: that may
yet be stored, as a right kernel may do with it, but not become a factor of a tl.dot.

To go on adding to a sum that was rounded: each step then loses what is below the last of its few bits. So each value
carries how often it was summed and rounded, in turn, as `handle.sums`: 0 not at all, 1 summed, 2 rounded afterwards,
3 summed again, 4 rounded again. A sum of a value at 4 is an accumulator in half; a score that is rounded, and then
added to something, is not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from checker.box.inside.memory import Memory
from checker.box.protocol.records import IN_DOT, IN_LOOP, IN_STORE, IN_SUM, ON_THE_WAY

ROUNDED, SUMMED_AGAIN, ROUNDED_AGAIN = 2, 3, 4
SUMS: dict[str, Any] = {"fadd": np.add, "fsub": np.subtract}
PRODUCTS: dict[str, Any] = {"fmul": np.multiply, "fdiv": np.divide, "precise_divf": np.divide}
FUNCTIONS = ("exp", "exp2", "log", "log2", "sqrt", "precise_sqrt", "rsqrt", "sin", "cos", "erf")
MOVED = {"trans": 0, "reshape": 0, "expand_dims": 0, "broadcast": 0, "splat": 1}  # which argument it is
EXTREMES = ("maximumf", "maxnumf", "minimumf", "minnumf")

Running = Callable[[], Memory | None]


def watch(interpreter: Any, memory: Running) -> None:
    """Put notes before Triton's own methods. `memory`: that of the launch in progress, if there is one."""
    builder, reduction = interpreter.InterpreterBuilder, interpreter.ReduceOps

    interpreter.TensorHandle.sums = interpreter.TensorHandle.rounded = 0  # of values that nothing is known of
    for name, operation in SUMS.items():
        put(builder, f"create_{name}", _added, memory, operation)
    for name, operation in PRODUCTS.items():
        put(builder, f"create_{name}", _scaled, memory, operation)
    for name in FUNCTIONS:
        put(builder, f"create_{name}", _function, memory)
    for name, position in MOVED.items():
        put(builder, f"create_{name}", _moved, position)
    for name in EXTREMES:
        put(builder, f"create_{name}", _extreme)
    put(builder, "create_select", _chosen)
    put(builder, "cast_impl", _cast, memory)
    put(builder, "create_fp_to_fp", _cast, memory)
    put(builder, "create_fma", _fma, memory)
    put(builder, "create_dot", _dot, memory)
    put(builder, "create_masked_store", _store, memory)
    put(reduction, "sum", _sum, memory)
    put(reduction, "min_max", _largest)


def put(owner: Any, name: str, wrapper: Any, *facts: Any) -> None:
    """Put a wrapper around one of an owner's methods."""
    setattr(owner, name, wrapper(getattr(owner, name), *facts))


def _is_half(handle: Any) -> bool:
    """Whether a value is fp16, or bf16, which Triton's interpreter keeps as the bits of an unsigned integer."""
    char = handle.data.dtype.char
    return bool(char == "e" or (char == "H" and handle.dtype.scalar.name == "bf16"))


def _summed(handle: Any, before: int, memory: Running) -> None:
    """Note that `handle` is a sum of values of which the most often rounded one is at `before`."""
    half = _is_half(handle)
    if before >= (ROUNDED if half else ROUNDED_AGAIN) and (launch := memory()) is not None:
        launch.lost(IN_LOOP)
    handle.sums = (SUMMED_AGAIN if before >= ROUNDED else 1) + half


def _used(rounded: int, memory: Running) -> None:
    """Note what is computed with a value that this line has rounded, if one has."""
    if rounded and (launch := memory()) is not None:
        launch.lost(ON_THE_WAY, abs(rounded))


def _multiplied(handle: Any, memory: Running) -> None:
    """Note a product element by element, of blocks with more than one extent."""
    data = handle.data
    if data.ndim > 1 and data.size > max(data.shape) and (launch := memory()) is not None:
        launch.product(data.size)


def _rounds(result: Any, exact: Callable[[], Any], memory: Running) -> None:
    """Note the line that has rounded `result` to half, if it differs from what is exact. No tensor here is bf16."""
    if not _is_half(result) or (launch := memory()) is None:
        return
    bf16 = result.data.dtype.char == "H"
    values = (result.data.astype(np.uint32) << 16).view(np.float32) if bf16 else result.data
    if (values != exact()).any():
        result.rounded = launch.where()[1]
        if bf16:
            _used(result.rounded, memory)


def _added(plain: Any, memory: Running, operation: Any) -> Any:
    def create_fadd(self: Any, lhs: Any, rhs: Any) -> Any:
        result = plain(self, lhs, rhs)
        _summed(result, lhs.sums if lhs.sums > rhs.sums else rhs.sums, memory)
        _used(lhs.rounded or rhs.rounded, memory)
        _rounds(result, lambda: operation(lhs.data, rhs.data, dtype=np.float32), memory)
        return result

    return create_fadd


def _scaled(plain: Any, memory: Running, operation: Any) -> Any:
    def create_fmul(self: Any, lhs: Any, rhs: Any) -> Any:
        result = plain(self, lhs, rhs)
        if lhs.sums or rhs.sums:
            result.sums = max(lhs.sums, rhs.sums)
        _multiplied(result, memory)
        _rounds(result, lambda: operation(lhs.data, rhs.data, dtype=np.float32), memory)
        if before := lhs.rounded or rhs.rounded:
            result.rounded = -abs(before)
        return result

    return create_fmul


def _function(plain: Any, memory: Running) -> Any:
    def create_exp(self: Any, value: Any) -> Any:
        _used(value.rounded, memory)
        return plain(self, value)

    return create_exp


def _moved(plain: Any, position: int) -> Any:
    def create_trans(self: Any, *arguments: Any) -> Any:
        result, value = plain(self, *arguments), arguments[position]
        if value.sums or value.rounded:
            result.sums, result.rounded = value.sums, value.rounded
        return result

    return create_trans


def _extreme(plain: Any) -> Any:
    """The larger or the smaller of two adds nothing up."""

    def create_maximumf(self: Any, lhs: Any, rhs: Any) -> Any:
        result = plain(self, lhs, rhs)
        if lhs.rounded or rhs.rounded:
            result.rounded = lhs.rounded or rhs.rounded
        return result

    return create_maximumf


def _largest(plain: Any) -> Any:
    def min_max(self: Any, input: Any, *how: Any, **named: Any) -> Any:
        result = plain(self, input, *how, **named)
        of = input[0] if isinstance(input, tuple) else input
        if of.handle.rounded and not isinstance(result, tuple):
            result.handle.rounded = of.handle.rounded
        return result

    return min_max


def _chosen(plain: Any) -> Any:
    def create_select(self: Any, condition: Any, lhs: Any, rhs: Any) -> Any:
        result = plain(self, condition, lhs, rhs)
        if lhs.sums or rhs.sums:
            result.sums = max(lhs.sums, rhs.sums)
        if lhs.rounded or rhs.rounded:
            result.rounded = lhs.rounded or rhs.rounded
        return result

    return create_select


def _cast(plain: Any, memory: Running) -> Any:
    def cast(self: Any, source: Any, *how: Any) -> Any:
        result = plain(self, source, *how)
        if before := source.sums:
            result.sums = before + (before % 2 and _is_half(result))
        _rounds(result, lambda: source.data, memory)
        if source.rounded:
            result.rounded = source.rounded
        return result

    return cast


def _fma(plain: Any, memory: Running) -> Any:
    def create_fma(self: Any, x: Any, y: Any, z: Any, *rest: Any) -> Any:
        result = plain(self, x, y, z, *rest)
        _multiplied(result, memory)
        _summed(result, max(x.sums, y.sums, z.sums), memory)
        _used(x.rounded or y.rounded or z.rounded, memory)
        return result

    return create_fma


def _dot(plain: Any, memory: Running) -> Any:
    """The factors of a product may be in half, fresh from their rounding."""

    def create_dot(self: Any, a: Any, b: Any, accumulator: Any, *rest: Any) -> Any:
        result = plain(self, a, b, accumulator, *rest)
        if _is_half(result) and (launch := memory()) is not None:
            launch.lost(IN_DOT)
        _summed(result, accumulator.sums, memory)
        _used(min(a.rounded, 0) or min(b.rounded, 0) or accumulator.rounded, memory)
        return result

    return create_dot


def _sum(plain: Any, memory: Running) -> Any:
    def sum(self: Any, input: Any) -> Any:
        result = plain(self, input)
        if _is_half(result.handle) and (launch := memory()) is not None:
            launch.lost(IN_SUM)
        _summed(result.handle, input.handle.sums, memory)
        _used(input.handle.rounded, memory)
        return result

    return sum


def _store(plain: Any, memory: Running) -> Any:
    """What goes to fp32 memory need not be rounded."""

    def create_masked_store(self: Any, pointers: Any, value: Any, *rest: Any) -> Any:
        if value.sums in (ROUNDED, ROUNDED_AGAIN) and not _is_half(value) and (launch := memory()) is not None:
            launch.lost(IN_STORE)
        return plain(self, pointers, value, *rest)

    return create_masked_store
