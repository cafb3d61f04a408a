"""The steps of a launch, recorded while it runs: each line of the submission, and what its names hold after it.

A step is a statement, however many lines it has, or the head of an `if` or a loop; of a function, also its first line,
with what it is called with. It is noted when it has ended: so a line that calls a function comes after that one's.
"""

from __future__ import annotations

import ast
import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from checker.sandbox.inside.memory import Memory
from checker.sandbox.inside.running import running
from checker.sandbox.protocol.steps import MOST_NAME, MOST_NUMBERS, MOST_OF_VALUE, Access, Step, Value, packed

Told = Callable[[Any], Value]  # what a name holds, as data
_TYPES = {"float16": "fp16", "float32": "fp32"}  # as Triton calls them; integers are called as in NumPy


class _Seen(NamedTuple):
    """Facts on an access that the log lacks."""

    record: int
    mask: npt.NDArray[np.bool_] | None  # None: all lanes are active
    stored: Value | None  # None: it is a load


class SeenMemory(Memory):
    """Memory that also notes the lanes of each access, and the stored values."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.seen: list[_Seen] = []

    def load(self, addresses: Any, mask: Any, *rest: Any) -> Any:
        """As any memory does."""
        at = len(self.records)
        loaded = super().load(addresses, mask, *rest)
        self._note_lanes(at, addresses, mask, None)
        return loaded

    def store(self, addresses: Any, values: Any, mask: Any, dtype: Any, bf16: bool = False) -> None:
        """As any memory does."""
        at = len(self.records)
        super().store(addresses, values, mask, dtype, bf16)
        kind = "bf16" if bf16 else _TYPES.get(values.dtype.name, values.dtype.name)
        self._note_lanes(at, addresses, mask, block(kind, np.broadcast_to(values, addresses.shape)))

    def _note_lanes(self, at: int, addresses: Any, mask: Any, stored: Value | None) -> None:
        record = at if len(self.records) > at else -1
        self.seen.append(_Seen(record, None if mask.all() else np.broadcast_to(mask, addresses.shape), stored))


@dataclass
class _Open:
    """A function of the submission that has not returned, and the line that it is at."""

    depth: int
    line: int
    held: dict[str, Any] = field(default_factory=dict)  # what names held after the line before


class Recorder:
    """Records one launch, as a context manager; `buffers` are what it has recorded."""

    def __init__(self, source: str, told: Told, memory: SeenMemory | None, most_steps: int):
        """`told` describes a value. `memory`: None for what has none, a function in PyTorch."""
        self._told, self._memory, self._left, self._numbers = told, memory, most_steps, MOST_NUMBERS
        self._first = _first_lines(ast.parse(source))
        self._open: dict[FrameType, _Open] = {}
        self._steps: list[Step] = []
        self._values: list[Value] = []
        self._known: dict[int, tuple[Callable[[], Any], int]] = {}  # by identity: what returns a value, and its place
        self._whole = True

    def __enter__(self) -> Recorder:
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    @property
    def buffers(self) -> tuple[bytes, bytes]:
        """The buffers to send."""
        return packed(self._steps, self._values, whole=self._whole)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        """A function begins: of those of the submission, each line is to be told."""
        if frame.f_code.co_filename != running.filename or frame.f_code.co_name.startswith("<"):
            return None
        self._open[frame] = _Open(len(self._open), frame.f_code.co_firstlineno)
        return self._at

    def _at(self, frame: FrameType, event: str, argument: Any) -> Any:
        """A line begins, so the one before has ended; or the function returns, or raises."""
        one = self._open[frame]
        if event == "line":
            line = self._first.get(frame.f_lineno, frame.f_lineno)
            if line != one.line:
                self._end(frame, one)
                one.line = line
        elif event == "return":
            self._end(frame, one)
            del self._open[frame]
        return self._at

    def _end(self, frame: FrameType, one: _Open) -> None:
        """Note the step that has ended, unless there is no room for it: then nothing more is told."""
        changed, accesses, noted = {}, [], len(self._values)
        for name, value in frame.f_locals.items():
            if name[0] != "_" and (name not in one.held or one.held[name] is not value or _may_change(value)):
                place = self._place(value, one.held.get(name) is value)
                one.held[name] = value
                if place >= 0:
                    changed[name[:MOST_NAME]] = place
        if self._memory is not None:
            for record, mask, stored in self._memory.seen:
                of_mask = -1 if mask is None else self._added(block("int1", mask))
                of_value = -1 if stored is None else self._added(stored)
                accesses.append(Access(record, stored is not None, of_mask, of_value))
            self._memory.seen.clear()
        self._left -= 1
        if self._left < 0 or self._numbers < 0:
            self._whole = False
            del self._values[noted:]
            sys.settrace(None)
            for open_frame in self._open:
                open_frame.f_trace = None
            return
        name = frame.f_code.co_name[:MOST_NAME]
        self._steps.append(Step(running.program, one.line, name, one.depth, changed, tuple(accesses)))

    def _place(self, value: Any, same: bool) -> int:
        """Return the place of what a name holds among the values. `same`: it held the same object before; -1: as it
        was.
        """
        known = self._known.get(id(value))
        if known is not None and known[0]() is not value:  # another one had this identity
            known = None
        if known is not None and not _may_change(value):
            return known[1]
        told = self._told(value)
        if same and known is not None and _alike(told, self._values[known[1]]):
            return -1
        place = self._added(told)
        self._known[id(value)] = _reference(value), place
        return place

    def _added(self, value: Value) -> int:
        self._numbers -= 0 if value.numbers is None else value.numbers.size
        self._values.append(value)
        return len(self._values) - 1


def _reference(value: Any) -> Callable[[], Any]:
    """Return what returns a value as long as it lives: tensors that were kept alive would count as held."""
    try:
        return weakref.ref(value)
    except TypeError:  # such as a number: it is kept
        return lambda: value


def _may_change(value: Any) -> bool:
    """Return whether it can hold other numbers, and still be the same object: a tensor of PyTorch, a list."""
    return hasattr(value, "_version") or isinstance(value, list | dict)


def _alike(one: Value, other: Value) -> bool:
    if (one.type, one.shape) != (other.type, other.shape) or one.numbers is None or other.numbers is None:
        return one.numbers is other.numbers and one.shape == other.shape
    return np.array_equal(one.numbers, other.numbers, equal_nan=True)


def block(kind: str, numbers: npt.NDArray[Any], tensor: int = -1) -> Value:
    """Numbers as data, if there are not too many."""
    kept = numbers.astype(np.float64) if numbers.size <= MOST_OF_VALUE else None
    return Value(kind, numbers.shape, kept, tensor)


def other(value: Any) -> Value:
    """Return a value that is not a block: a Python number, or an object without numbers, by the name of its type."""
    if isinstance(value, bool | int | float) and abs(value) < 2**1000:
        return block(type(value).__name__, np.array(float(value)))
    shape = (len(value),) if isinstance(value, list | tuple) else ()
    return Value(type(value).__name__[:MOST_NAME], shape, None)


def _first_lines(tree: ast.Module) -> dict[int, int]:
    """For each line of a statement, or of the head of one that holds others, the line that it begins in."""
    first: dict[int, int] = {}

    def note(statements: Sequence[ast.stmt]) -> None:
        for one in statements:
            inner = [part for name in ("body", "orelse") for part in getattr(one, name, ())]
            end = min((part.lineno for part in inner), default=(one.end_lineno or one.lineno) + 1)
            first.update(dict.fromkeys(range(one.lineno, max(end, one.lineno + 1)), one.lineno))
            note(inner)

    note(tree.body)
    return first
