"""Recordings of the solution in small launches of practice: values alone, never its text.

They lie next to this module, a file for each puzzle, and go wherever the checker goes. `checker build` makes them; a
test makes them again and compares.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from checker.course import places
from checker.course.case import Case, numbered
from checker.course.puzzle import Puzzle
from checker.judge.difference.events import Event, Kind, Programs

FIRST = 2  # launches of a kernel, which are its plainest
MOST_PROGRAMS = 8
MOST_ELEMENTS, FEW_ELEMENTS = 8_500, 2_500  # of all tensors of a launch: of a plain one, and of others
SIDE = 16  # the least that a tile's side has for tl.dot


@dataclass(frozen=True, eq=False)
class Recorded:
    """One launch of a solution: its case's name, the nesting of its loops, and its programs' events."""

    kernel: str
    case: str
    loops: str
    programs: Programs


def cases_of(puzzle: Puzzle, kernel: str) -> list[Case]:
    """Return the launches of practice that are recorded, in order.

    They are the first ones, and the smallest of each kind.
    """
    own = [case for case in numbered(puzzle.cases(puzzle.draw())) if case.kernel == kernel and _whole(case)]
    smallest: dict[str, Case] = {}
    for case in sorted(own, key=_size):
        for kind in _kinds(case):
            smallest.setdefault(kind, case)
    first = [case for case in own if _is_plain(case)][:FIRST]
    chosen = {case.id for case in (*first, *smallest.values())}
    return [case for case in own if case.id in chosen]


def _whole(case: Case) -> bool:
    """Return whether a launch is small, and all of it runs once, in fp32."""
    numbers = [tensor for tensor in case.tensors.values() if tensor.values.dtype.kind == "f"]
    return (
        not (case.programs or case.resident)
        and case.in_a_row == 1
        and math.prod(case.grid) <= MOST_PROGRAMS
        and _size(case) <= (MOST_ELEMENTS if _is_plain(case) else FEW_ELEMENTS)
        and all(tensor.type == "float32" for tensor in numbers)
    )


def _is_plain(case: Case) -> bool:
    return case.informative and not case.once


def _size(case: Case) -> int:
    return sum(tensor.values.size for tensor in case.tensors.values())


def _kinds(case: Case) -> set[str]:
    """Return the kinds that a launch stands for.

    Its title, if it is small; of a plain one the properties that it proves as well, several heads, tiles with unequal
    sides, and a causal mask of fewer queries than keys.
    """
    own = {case.title} if _size(case) <= FEW_ELEMENTS else set()
    sides = {value for value in case.constexprs.values() if not isinstance(value, bool) and value >= SIDE}
    several = {"heads"} if math.prod(case.grid[1:]) > 1 else set()
    fewer = bool(case.constexprs.get("CAUSAL")) and case.scalars["n_q"] < case.scalars["n_k"]
    others = [kind for kind, is_so in (("sides", len(sides) > 1), ("fewer queries", fewer)) if is_so]
    return own | ({*case.proves, *several, *others} - {"traffic"} if _is_plain(case) else set())


class _Blocks:
    """Blocks of numbers, each kept once: many programs load the same tiles."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self.dtype, self.at = dtype, dict[bytes, int]()

    def place(self, numbers: npt.NDArray[Any] | None) -> int:
        """Return the place of a block; -1: there is none."""
        if numbers is None:
            return -1
        return self.at.setdefault(numbers.astype(self.dtype).tobytes(), len(self.at))


def packed(launches: Iterable[Recorded]) -> bytes:
    """Return the file of a puzzle."""
    numbers, elements, told = _Blocks(np.float32), _Blocks(np.int32), []
    for one in launches:
        events = []
        for program, own in one.programs.items():
            for event in own:
                shape = None if event.numbers is None else event.numbers.shape
                steps = None if event.elements is None else np.diff(event.elements, prepend=0)
                places = numbers.place(event.numbers), elements.place(steps), numbers.place(event.spread)
                events.append([program, event.kind.value, event.place, event.name, shape, *places])
        told.append([one.kernel, one.case, one.loops, events])
    file = io.BytesIO()
    np.savez_compressed(
        file,
        told=np.frombuffer(json.dumps(told).encode(), np.uint8),
        numbers=np.frombuffer(b"".join(numbers.at), np.float32),
        elements=np.frombuffer(b"".join(elements.at), np.int32),
        sizes=np.array([len(block) // 4 for block in (*numbers.at, *elements.at)]),
        blocks=np.array(len(numbers.at)),
    )
    return file.getvalue()


def unpacked(file: bytes) -> list[Recorded]:
    """Return the recordings that were packed; numbers as fp32 holds them."""
    with np.load(io.BytesIO(file)) as parts:
        told, sizes, blocks = json.loads(parts["told"].tobytes()), parts["sizes"], int(parts["blocks"])
        numbers = np.split(parts["numbers"].astype(np.float64), np.cumsum(sizes[:blocks]))
        elements = np.split(parts["elements"].astype(np.int64), np.cumsum(sizes[blocks:]))
    found = []
    for kernel, case, loops, events in told:
        programs: dict[int, list[Event]] = {}
        for program, kind, place, name, shape, held, touched, apart in events:
            own, spread = (None if at < 0 else numbers[at].reshape(shape) for at in (held, apart))
            of = None if touched < 0 else np.cumsum(elements[touched])
            event = Event(Kind(kind), tuple(place), name, 0, own, of, spread=spread)
            programs.setdefault(program, []).append(event)
        found.append(Recorded(kernel, case, loops, programs))
    return found


def file_of(puzzle_id: str, package: Path = places.PACKAGE) -> Path:
    """Return where the recordings of a puzzle lie."""
    return package / "judge" / "difference" / "recordings" / f"{puzzle_id}.npz"


@cache
def recordings(puzzle_id: str) -> Mapping[str, Sequence[Recorded]]:
    """Return the recorded launches of each kernel of a puzzle; none where there is no file."""
    path = file_of(puzzle_id)
    every = unpacked(path.read_bytes()) if path.is_file() else []
    return {one.kernel: [other for other in every if other.kernel == one.kernel] for one in every}
