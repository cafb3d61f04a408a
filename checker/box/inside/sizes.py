"""Positions and sizes, which are small here: what becomes of them where tensors are large.

An integer that a size of the launch or the number of a program went into carries a mark, `handle.counts`. Two such
numbers multiplied pass 2**31 from 46341 times 46341 on, if they have 32 bits; and fp32 has no odd numbers beyond 2**24,
fp16 none beyond 2048; 16 bits end at 65535. No tensor here is so large, so a launch whose arithmetic is checked notes
what would go wrong there. A quotient carries no mark: what a remainder is computed with, by hand, is not too large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from checker.box.inside.half import Running, put
from checker.box.protocol.records import AS_FLOAT, MULTIPLIED, NARROWED

CARRY = ("add", "sub", "minsi", "maxsi")
AS_FRACTIONS = ("fadd", "fsub", "fmul", "fdiv")
MOVED = {"expand_dims": 0, "broadcast": 0, "splat": 1, "reshape": 0, "trans": 0}
COMPARE = [f"fcmp{order}{how}" for order in "OU" for how in ("LT", "LE", "GT", "GE", "EQ", "NE")]


def watch(interpreter: Any, memory: Running) -> None:
    """Put marks and notes around Triton's own methods. `memory`: that of the launch in progress, if there is one."""
    builder = interpreter.InterpreterBuilder
    interpreter.TensorHandle.counts = False
    put(builder, "create_get_program_id", _position)
    for name in CARRY:
        put(builder, f"create_{name}", _carried)
    for name in AS_FRACTIONS:
        put(builder, f"create_{name}", _carried_on)
    for name, argument in MOVED.items():
        put(builder, f"create_{name}", _moved, argument)
    for name in COMPARE:
        put(builder, f"create_{name}", _compared, memory)
    put(builder, "create_int_cast", _cast, memory)
    put(builder, "create_mul", _product, memory)
    put(builder, "create_si_to_fp", _converted, memory)
    put(builder, "create_fp_to_si", _back, memory)


def _note(what: int, memory: Running) -> None:
    if (launch := memory()) is not None and launch.checked:
        launch.lost(what)


def _position(plain: Any) -> Any:
    def create_get_program_id(self: Any, axis: Any) -> Any:
        result = plain(self, axis)
        result.counts = True
        return result

    return create_get_program_id


def _carried(plain: Any) -> Any:
    def create_add(self: Any, lhs: Any, rhs: Any) -> Any:
        result = plain(self, lhs, rhs)
        if lhs.counts or rhs.counts:
            result.counts = True
        return result

    return create_add


def _carried_on(plain: Any) -> Any:
    """Data that is divided by a size is no position; a position that is divided by a number is one."""

    def create_fdiv(self: Any, lhs: Any, rhs: Any) -> Any:
        result = plain(self, lhs, rhs)
        if (lhs.counts and (rhs.counts or rhs.data.size == 1)) or (rhs.counts and lhs.data.size == 1):
            result.counts = True
        return result

    return create_fdiv


def _moved(plain: Any, argument: int) -> Any:
    def create_broadcast(self: Any, *arguments: Any) -> Any:
        result = plain(self, *arguments)
        if arguments[argument].counts:
            result.counts = True
        return result

    return create_broadcast


def _cast(plain: Any, memory: Running) -> Any:
    def create_int_cast(self: Any, source: Any, kind: Any, is_signed: Any) -> Any:
        result = plain(self, source, kind, is_signed)
        if source.counts:
            result.counts = True
            if result.data.dtype.itemsize < 4:
                _note(NARROWED, memory)
        return result

    return create_int_cast


def _product(plain: Any, memory: Running) -> Any:
    def create_mul(self: Any, lhs: Any, rhs: Any) -> Any:
        result = plain(self, lhs, rhs)
        if lhs.counts or rhs.counts:
            result.counts = True
            if lhs.counts and rhs.counts and result.data.dtype == np.int32:
                _note(MULTIPLIED, memory)
        return result

    return create_mul


def _converted(plain: Any, memory: Running) -> Any:
    """In fp64 nothing is lost, in half too much, and in fp32 it depends on what comes of it."""

    def create_si_to_fp(self: Any, source: Any, kind: Any) -> Any:
        result = plain(self, source, kind)
        if source.counts and (size := result.data.dtype.itemsize) < 8:
            result.counts = size == 4
            if not result.counts:
                _note(AS_FLOAT, memory)
        return result

    return create_si_to_fp


def _compared(plain: Any, memory: Running) -> Any:
    def create_fcmpOLT(self: Any, lhs: Any, rhs: Any) -> Any:
        if lhs.counts or rhs.counts:
            _note(AS_FLOAT, memory)
        return plain(self, lhs, rhs)

    return create_fcmpOLT


def _back(plain: Any, memory: Running) -> Any:
    def create_fp_to_si(self: Any, source: Any, kind: Any) -> Any:
        if source.counts:
            _note(AS_FLOAT, memory)
        return plain(self, source, kind)

    return create_fp_to_si
