"""Positions and sizes, which are small here: what becomes of them where tensors are large.

An integer that a size of the launch or the number of a program went into carries a mark, `handle.counts`. Two such
numbers multiplied pass 2**31 from 46341 times 46341 on, if they have 32 bits; and fp32 has no odd numbers beyond 2**24,
fp16 none beyond 2048; 16 bits end at 65535. No tensor here is so large, so a launch whose arithmetic is checked notes
what would go wrong there. A quotient carries no mark: what a remainder is computed with, by hand, is not too large.

Each note below gets what one of Triton's operations gave, then what it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from checker.sandbox.inside.running import running
from checker.sandbox.protocol.records import AS_FLOAT, MULTIPLIED, NARROWED

MARKS = {"counts": False}  # of values that nothing is known of


def _lost(way: int) -> None:
    if running.memory is not None and running.memory.checked:
        running.memory.lost(way)


def _position(result: Any, axis: Any) -> None:
    result.counts = True


def _carried(result: Any, lhs: Any, rhs: Any) -> None:
    if lhs.counts or rhs.counts:
        result.counts = True


def _carried_on(result: Any, lhs: Any, rhs: Any) -> None:
    """Data that is divided by a size is no position; a position that is divided by a number is one."""
    if (lhs.counts and (rhs.counts or rhs.data.size == 1)) or (rhs.counts and lhs.data.size == 1):
        result.counts = True


def _moved(result: Any, value: Any, *_: Any) -> None:
    if value.counts:
        result.counts = True


def _splat(result: Any, kind: Any, value: Any) -> None:
    _moved(result, value)


def _cast(result: Any, source: Any, kind: Any, is_signed: Any) -> None:
    if source.counts:
        result.counts = True
        if result.data.dtype.itemsize < 4:
            _lost(NARROWED)


def _product(result: Any, lhs: Any, rhs: Any) -> None:
    if lhs.counts or rhs.counts:
        result.counts = True
        if lhs.counts and rhs.counts and result.data.dtype == np.int32:
            _lost(MULTIPLIED)


def _converted(result: Any, source: Any, kind: Any) -> None:
    """In fp64 nothing is lost, in half too much, and in fp32 it depends on what comes of it."""
    if source.counts and (size := result.data.dtype.itemsize) < 8:
        result.counts = size == 4
        if not result.counts:
            _lost(AS_FLOAT)


def _compared(result: Any, lhs: Any, rhs: Any) -> None:
    if lhs.counts or rhs.counts:
        _lost(AS_FLOAT)


def _back(result: Any, source: Any, kind: Any) -> None:
    if source.counts:
        _lost(AS_FLOAT)


OF_BUILDER: dict[str, Callable[..., None]] = {
    "create_get_program_id": _position,
    **{f"create_{name}": _carried for name in ("add", "sub", "minsi", "maxsi")},
    **{f"create_{name}": _carried_on for name in ("fadd", "fsub", "fmul", "fdiv")},
    **{f"create_{name}": _moved for name in ("expand_dims", "broadcast", "reshape", "trans")},
    "create_splat": _splat,
    **{f"create_fcmp{o}{how}": _compared for o in "OU" for how in ("LT", "LE", "GT", "GE", "EQ", "NE")},
    "create_int_cast": _cast,
    "create_mul": _product,
    "create_si_to_fp": _converted,
    "create_fp_to_si": _back,
}
