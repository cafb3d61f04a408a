"""A case that came out wrong: its wrong elements, a picture of them for a report, and the lines behind them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from checker.course.case import Array, Case, Outputs, Role
from checker.course.misconception import Load
from checker.course.puzzle import Expected
from checker.course.text import Line, Text
from checker.course.verdict import ErrorMap, Status, Where
from checker.judge.compare import agrees, wrong_elements
from checker.judge.evidence import Locator, element_name, grid_position, has_columns, tensor_name, written_tensors
from checker.judge.memory import never_stored
from checker.sandbox.protocol.records import LOAD, STORE
from checker.sandbox.protocol.results import LaunchResult

MOST_EXAMPLES = 5
MOST_LINES, MOST_CELLS = 16, 32


class Stored(NamedTuple):
    """Return who stored an element last."""

    program: int
    line: int


@dataclass(frozen=True, eq=False)
class Wrong:
    """A case whose outputs differ from the reference."""

    case: Case
    outputs: Outputs  # as the kernel left them
    undefined: bool  # other values in masked lanes without `other` give other outputs
    expected: Mapping[str, Expected]
    wrong: Mapping[str, npt.NDArray[np.bool_]]  # per output that is not right everywhere
    stored: Mapping[str, Stored | None]  # of each of these, what has stored the first wrong element
    last_load: int | None
    unwritten_load: tuple[str, int] | None  # an output that is loaded before the program has stored to it, and where
    padding_load: int | None  # the first load whose masked lanes could count
    code: Text  # the kernel's

    @property
    def first(self) -> str:
        """The first output that is wrong."""
        return next(iter(self.wrong))

    @property
    def amount(self) -> str:
        """How much of it, in words."""
        mask = self.wrong[self.first]
        return f"{mask.sum()} of {mask.size} elements of {tensor_name(self.first)} are wrong"

    @property
    def status(self) -> Status:
        """Not a number if any wrong element is NaN; else wrong."""
        nan = any(np.isnan(self.outputs[name][mask]).any() for name, mask in self.wrong.items())
        return Status.NOT_A_NUMBER if nan else Status.WRONG

    def line_of(self, found: Line | Load | None) -> int | None:
        """Return the line that is looked for, if the kernel's text or the log can tell."""
        if found is None:
            return None
        if isinstance(found, Load):
            return self.padding_load or (self.last_load if found is Load.LAST else None)
        return self.code.line_of(found, self.store_line)

    @property
    def store_line(self) -> int | None:
        """The line that stored the first wrong element."""
        return self.line_that_stored(self.first)

    def line_that_stored(self, name: str) -> int | None:
        """Return the line that stored the first wrong element of an output; None on a GPU, where nobody sees it."""
        stored = self.stored[name]
        return stored.line if stored else None

    def place(self, where: Locator, found: Line | Load | None = None, of: Collection[str] = ()) -> Where:
        """Return the line to look at: the one at fault where that is known, else where the wrong output is stored.

        `of`: the outputs that it is about, if not all.
        """
        name, line = next((name for name in self.wrong if name in of), self.first), self.line_of(found)
        role = "" if line else f"where {tensor_name(name)} is stored"
        facts: dict[str, object] = {"role": role, "tensor": name, "index": self.at(name)}
        if stored := self.stored[name]:
            facts |= {"stored": stored.line, "program": grid_position(self.case, stored.program)}
        return where(line or self.line_that_stored(name), self.case, **facts)

    def at(self, name: str) -> tuple[int, ...]:
        """Return the index of the first wrong element of an output."""
        return tuple(int(i) for i in np.argwhere(self.wrong[name])[0])

    def examples(self, name: str, idea: Array | None = None) -> tuple[str, ...]:
        """Wrong elements of an output in words: the first ones, NaN before numbers.

        With what an idea gives, those that it gives too, numbers before NaN: what is no number proves little.
        """
        wrong = self.wrong[name]
        if idea is None:
            last = ~np.isnan(self.outputs[name]) * 1
        else:
            last = ~agrees(idea, self.outputs[name], self.expected[name]) * 2 + ~np.isfinite(idea)
        at = np.argwhere(wrong)
        at = at[np.argsort(last[wrong], kind="stable")][:MOST_EXAMPLES]
        lines = []
        for index in map(tuple, at):
            seen, right = self.outputs[name][index], self.expected[name].values[index]
            believed = "" if idea is None else f"this mistake gives {idea[index].astype(seen.dtype):.6g}; "
            lines.append(f"{element_name(name, index)} is {seen:.6g}; {believed}expected {right:.6g}")
        return tuple(lines)


def wrong_outputs(case: Case, expected: Mapping[str, Expected], result: LaunchResult, code: Text) -> Wrong | None:
    """Return the case as a wrong one, or None if every output that was stored is right, whatever masked lanes held."""
    wrong, undefined = {}, {}
    for name in written_tensors(case):
        wrong[name] = wrong_elements(result.tensors[name], expected[name]) & ~never_stored(case, result, name)
        undefined[name] = _differs(result, name)
    wrong, undefined = ({name: mask for name, mask in one.items() if mask.any()} for one in (wrong, undefined))
    if not wrong and not undefined:
        return None
    return Wrong(
        case,
        result.tensors,
        bool(undefined),
        expected,
        wrong or undefined,
        {name: _stored(result, list(case.tensors).index(name), mask) for name, mask in (wrong or undefined).items()},
        _last_load(result),
        _unwritten_load(case, result),
        _padding_load(result, undefined=bool(undefined)),
        code,
    )


def _differs(result: LaunchResult, name: str) -> npt.NDArray[np.bool_]:
    """Return which elements of a tensor are others when undefined masked lanes hold any of the other values."""
    first = result.tensors[name]
    others = [~((o[name] == first) | (np.isnan(o[name]) & np.isnan(first))) for o in result.filled]
    return np.any(others, axis=0) if others else np.zeros(first.shape, bool)


def _stored(result: LaunchResult, tensor: int, wrong: npt.NDArray[np.bool_]) -> Stored | None:
    """Return who stored the first wrong element of a tensor last."""
    log = result.log
    touched = np.flatnonzero(log.elements == int(np.argmax(wrong)))
    records = np.searchsorted(np.cumsum(log.distinct), touched, side="right")
    own = records[(log.kind[records] == STORE) & (log.tensor[records] == tensor)]
    return Stored(int(log.program[own[-1]]), int(log.line[own[-1]])) if own.size else None


def _last_load(result: LaunchResult) -> int | None:
    """Line of the last load."""
    lines = result.log.line[result.log.kind == LOAD]
    return int(lines[-1]) if lines.size else None


def _unwritten_load(case: Case, result: LaunchResult) -> tuple[str, int] | None:
    """Return the first output that a launch loads before it has stored anything to it, and the line."""
    for position, (name, tensor) in enumerate(case.tensors.items()):
        of_tensor = np.flatnonzero((result.log.tensor == position) & np.isin(result.log.kind, (LOAD, STORE)))
        if tensor.role is Role.OUTPUT and of_tensor.size and result.log.kind[of_tensor[0]] == LOAD:
            return name, int(result.log.line[of_tensor[0]])
    return None


def _padding_load(result: LaunchResult, *, undefined: bool) -> int | None:
    """Line of the first load whose masked lanes hold something that could count, or are undefined."""
    lines = result.log.line[result.log.undefined if undefined else result.log.padded]
    return int(lines[0]) if lines.size else None


def error_map(item: Wrong, name: str) -> ErrorMap:
    """Return the map of one output of a wrong launch; a vector is a single column."""
    wrong = item.wrong[name]
    tensor = item.case.tensors[name]
    flat = wrong.reshape(-1, wrong.shape[-1]) if has_columns(tensor) else wrong.reshape(-1, 1)
    down, across = (-(-extent // most) for extent, most in zip(flat.shape, (MOST_LINES, MOST_CELLS), strict=True))
    axes = [axis.plural for axis in tensor.axes]
    rows, columns = (axes[-2] if len(axes) > 1 else "", axes[-1]) if has_columns(tensor) else (axes[-1], "")
    cells = tuple(
        tuple(_share(flat[row : row + down, column : column + across]) for column in range(0, flat.shape[1], across))
        for row in range(0, flat.shape[0], down)
    )
    return ErrorMap(name, item.case.name, rows, columns, (flat.shape[0], flat.shape[1]), (down, across), cells)


def _share(part: npt.NDArray[np.bool_]) -> float:
    return round(float(part.mean()), 3)
