"""The steps of a launch as they cross the wall: which line was executed, and what each name held after it.

Two buffers: a text of JSON, which says what there is, and all numbers of all values, joined, as fp64, which holds every
number of a kernel but for integers beyond 2**53.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

MOST_STEPS = 2_000
MOST_NUMBERS = 500_000  # in all values of a launch
MOST_OF_VALUE = 4_096  # of a larger one only its form is told
MOST_TEXT = 4 << 20  # bytes of JSON; an honest one has less than 100 for each step and value
MOST_NAME = 200  # characters

Numbers = npt.NDArray[np.float64]


class MalformedSteps(ValueError):
    """The steps are malformed."""


@dataclass(frozen=True, eq=False)
class Value:
    """The value of a name: a number, a block, a tensor, or something that has no numbers."""

    type: str  # as Triton, or PyTorch, calls it
    shape: tuple[int, ...]
    numbers: Numbers | None  # None: there are none, or too many
    tensor: int = -1  # of pointers: the tensor that they point into; the numbers are offsets from its first element


@dataclass(frozen=True)
class Access:
    """A load or a store of one step."""

    record: int  # its place in the access log; -1: all its lanes were masked
    store: bool
    mask: int  # its lanes, among the values; -1: all are active
    value: int = -1  # what is stored, among the values; of a load -1


@dataclass(frozen=True)
class Step:
    """A line that was executed, and its results."""

    program: int
    line: int
    function: str
    depth: int  # 0: the kernel's own line; more: that of a function which it calls
    changed: Mapping[str, int]  # names that hold something else than before, and what: places among the values
    accesses: tuple[Access, ...] = ()


@dataclass(frozen=True, eq=False)
class Steps:
    """All steps of a launch, in the order in which they ended."""

    steps: tuple[Step, ...] = ()
    values: tuple[Value, ...] = ()
    whole: bool = True  # False: there were more than fit


def packed(steps: Iterable[Step], values: Iterable[Value], *, whole: bool) -> tuple[bytes, bytes]:
    """Return the two buffers."""
    told: list[Any] = []
    numbers: list[Numbers] = []
    for value in values:
        told.append([value.type, value.shape, value.numbers is not None, value.tensor])
        if value.numbers is not None:
            numbers.append(value.numbers.reshape(-1))
    lines = [
        [s.program, s.line, s.function, s.depth, s.changed, [[a.record, a.store, a.mask, a.value] for a in s.accesses]]
        for s in steps
    ]
    text = json.dumps({"steps": lines, "values": told, "whole": whole}).encode()
    return text, np.concatenate(numbers or [np.zeros(0)]).tobytes()


def unpacked(text: memoryview, numbers: memoryview, *, programs: int, tensors: int, records: int) -> Steps:
    """Return the packed steps, once their form is checked: `programs`, `tensors`, `records` are the launch's numbers of
    these.

    Raises MalformedSteps.
    """
    if len(text) > MOST_TEXT or len(numbers) % 8 or len(numbers) > 8 * MOST_NUMBERS:
        raise MalformedSteps("steps of a length that was not asked for")
    try:
        told = json.loads(bytes(text))
        values = _values(told["values"], np.frombuffer(numbers, np.float64), tensors)
        steps = tuple(_step(fields, len(values), programs, records) for fields in told["steps"])
    except (ValueError, TypeError, KeyError, RecursionError, AttributeError) as error:
        raise MalformedSteps("steps that are not in their form") from error
    if len(steps) > MOST_STEPS:
        raise MalformedSteps("more steps than were asked for")
    return Steps(steps, values, told.get("whole") is True)


def _values(told: Any, numbers: Numbers, tensors: int) -> tuple[Value, ...]:
    values, at = [], 0
    for kind, sides, has_numbers, tensor in told:
        shape = tuple(_number(side, 0, 1 << 40) for side in sides)
        size = int(np.prod(shape, dtype=object)) if has_numbers else 0
        if size > len(numbers) - at:
            raise ValueError
        own = numbers[at : at + size].reshape(shape) if has_numbers else None
        values.append(Value(_name(kind), shape, own, _number(tensor, -1, tensors)))
        at += size
    if at != len(numbers):
        raise ValueError
    return tuple(values)


def _step(fields: Any, values: int, programs: int, records: int) -> Step:
    program, line, function, depth, changed, accesses = fields
    return Step(
        _number(program, 0, programs),
        _number(line, 0, 1 << 31),
        _name(function),
        _number(depth, 0, 1 << 31),
        {_name(name): _number(value, 0, values) for name, value in changed.items()},
        tuple(
            Access(_number(record, -1, records), store is True, _number(mask, -1, values), _number(value, -1, values))
            for record, store, mask, value in accesses
        ),
    )


def _number(value: Any, first: int, end: int) -> int:
    if type(value) is not int or not first <= value < end:
        raise ValueError
    return value


def _name(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MOST_NAME:
        raise ValueError
    return value
