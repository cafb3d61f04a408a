"""Arithmetic that memory does not show: products of blocks element by element, and sums that are kept in half.

The hooks look at types and shapes only: what they cost does not depend on the size of a block.

A half is a float of fewer than 32 bits. To round a finished sum to half is what every kernel does at its end. To go on
adding to it afterwards is not: each step then loses what is below the last of its few bits. So each value carries how
often it was summed and rounded, in turn, as `handle.sums`: 0 not at all, 1 summed, 2 rounded afterwards, 3 summed
again, 4 rounded again. A sum of a value at 4 is an accumulator in half. One round less would not do: a right kernel may
round a score, and add up what it makes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from checker.box.memory import IN_DOT, IN_LOOP, IN_STORE, IN_SUM, Memory

ROUNDED, SUMMED_AGAIN, ROUNDED_AGAIN = 2, 3, 4


def watch(interpreter: Any, memory: Callable[[], Memory | None]) -> None:
    """Put notes before Triton's own methods. `memory`: that of the launch in progress, if there is one."""
    builder, reduction = interpreter.InterpreterBuilder, interpreter.ReduceOps
    interpreter.TensorHandle.sums = 0  # of every value that nothing is known of
    builder.create_fadd = _added(builder.create_fadd, memory)
    builder.create_fmul = _scaled(builder.create_fmul, memory)
    builder.create_fdiv = _scaled(builder.create_fdiv, memory)
    builder.create_precise_divf = _scaled(builder.create_precise_divf, memory)
    builder.create_select = _chosen(builder.create_select)
    builder.cast_impl = _cast(builder.cast_impl)
    builder.create_fp_to_fp = _cast(builder.create_fp_to_fp)
    builder.create_fma = _fma(builder.create_fma, memory)
    builder.create_dot = _dot(builder.create_dot, memory)
    builder.create_masked_store = _store(builder.create_masked_store, memory)
    reduction.sum = _sum(reduction.sum, memory)


def _is_half(handle: Any) -> bool:
    """Whether a value is fp16, or bf16, which Triton's interpreter keeps as the bits of an unsigned integer."""
    char = handle.data.dtype.char
    return bool(char == "e" or (char == "H" and handle.dtype.scalar.name == "bf16"))


def _summed(handle: Any, before: int, memory: Callable[[], Memory | None]) -> None:
    """Note that `handle` is a sum of values of which the most often rounded one is at `before`."""
    half = _is_half(handle)
    if before >= (ROUNDED if half else ROUNDED_AGAIN) and (launch := memory()) is not None:
        launch.half(IN_LOOP)
    handle.sums = (SUMMED_AGAIN if before >= ROUNDED else 1) + half


def _multiplied(handle: Any, memory: Callable[[], Memory | None]) -> None:
    """Note a product element by element, of blocks with more than one extent."""
    data = handle.data
    if data.ndim > 1 and data.size > max(data.shape) and (launch := memory()) is not None:
        launch.product(data.size)


def _added(plain: Any, memory: Callable[[], Memory | None]) -> Any:
    def create_fadd(self: Any, lhs: Any, rhs: Any) -> Any:
        result = plain(self, lhs, rhs)
        _summed(result, lhs.sums if lhs.sums > rhs.sums else rhs.sums, memory)
        return result

    return create_fadd


def _scaled(plain: Any, memory: Callable[[], Memory | None]) -> Any:
    def create_fmul(self: Any, lhs: Any, rhs: Any) -> Any:
        result = plain(self, lhs, rhs)
        if lhs.sums or rhs.sums:
            result.sums = max(lhs.sums, rhs.sums)
        _multiplied(result, memory)
        return result

    return create_fmul


def _chosen(plain: Any) -> Any:
    def create_select(self: Any, condition: Any, lhs: Any, rhs: Any) -> Any:
        result = plain(self, condition, lhs, rhs)
        if lhs.sums or rhs.sums:
            result.sums = max(lhs.sums, rhs.sums)
        return result

    return create_select


def _cast(plain: Any) -> Any:
    def cast(self: Any, source: Any, *how: Any) -> Any:
        result = plain(self, source, *how)
        if before := source.sums:
            result.sums = before + (before % 2 and _is_half(result))
        return result

    return cast


def _fma(plain: Any, memory: Callable[[], Memory | None]) -> Any:
    def create_fma(self: Any, x: Any, y: Any, z: Any, *rest: Any) -> Any:
        result = plain(self, x, y, z, *rest)
        _multiplied(result, memory)
        _summed(result, max(x.sums, y.sums, z.sums), memory)
        return result

    return create_fma


def _dot(plain: Any, memory: Callable[[], Memory | None]) -> Any:
    """The factors of a product may be in half: only what it is added to counts."""

    def create_dot(self: Any, a: Any, b: Any, accumulator: Any, *rest: Any) -> Any:
        result = plain(self, a, b, accumulator, *rest)
        if _is_half(result) and (launch := memory()) is not None:
            launch.half(IN_DOT)
        _summed(result, accumulator.sums, memory)
        return result

    return create_dot


def _sum(plain: Any, memory: Callable[[], Memory | None]) -> Any:
    def sum(self: Any, input: Any) -> Any:
        result = plain(self, input)
        if _is_half(result.handle) and (launch := memory()) is not None:
            launch.half(IN_SUM)
        _summed(result.handle, input.handle.sums, memory)
        return result

    return sum


def _store(plain: Any, memory: Callable[[], Memory | None]) -> Any:
    """What goes to fp32 memory need not be rounded."""

    def create_masked_store(self: Any, pointers: Any, value: Any, *rest: Any) -> Any:
        if value.sums in (ROUNDED, ROUNDED_AGAIN) and not _is_half(value) and (launch := memory()) is not None:
            launch.half(IN_STORE)
        return plain(self, pointers, value, *rest)

    return create_masked_store
