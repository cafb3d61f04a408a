"""Evidence: each case's results after the sandbox is closed, and words for them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from checker.course.case import AxisKind, Case, Role, Tensor
from checker.course.verdict import Where
from checker.sandbox.protocol.results import LaunchResult
from checker.submission.read import Submission

CONTEXT = 2  # lines shown before and after a marked one


@dataclass(frozen=True, eq=False)
class Evidence:
    """A case and its two runs, or the one that it has."""

    case: Case
    ordered: LaunchResult | None
    shuffled: LaunchResult | None

    @property
    def result(self) -> LaunchResult | None:
        """The run that is judged: programs in order, unless the case has only the other one."""
        return next(iter(self.results), None)

    @property
    def results(self) -> tuple[LaunchResult, ...]:
        """Both runs, as far as they exist; a run that was left out has no result."""
        return tuple(r for r in (self.ordered, self.shuffled) if r is not None and not r.left_out)

    @property
    def left_out(self) -> str:
        """MEMORY or TILE, if the GPU had no room for a run. The other run may have had it, as others use it too."""
        return next((r.left_out for r in (self.ordered, self.shuffled) if r is not None and r.left_out), "")


def counted(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return the launches whose traffic is summed up: a large one among those chosen for their sizes would outweigh
    all.
    """
    return [e for e in evidence if e.result and not e.result.on_gpu and not e.case.once and not e.case.programs]


Locator = Callable[..., Where]
T = TypeVar("T")


def first_of_each(items: Iterable[T], key: Callable[[T], Hashable]) -> list[T]:
    """Of items with the same key the first one, in order."""
    first: dict[Hashable, T] = {}
    for item in items:
        first.setdefault(key(item), item)
    return list(first.values())


def locator(submission: Submission) -> Locator:
    """Return a function that turns a line of the submission's text and other facts into a `Where`."""
    lines = submission.text.split("\n")

    def where(line: int | None = None, case: Case | None = None, stored: int | None = None, **facts: object) -> Where:
        if case is not None:
            facts |= {"case": case.name, "case_id": case.id}
        if stored:
            facts["stored"] = submission.place(stored)[1]
        if not line or line > len(lines):
            return Where(**facts)  # type: ignore[arg-type]
        cell, local = submission.place(line)
        near = range(max(1, line - CONTEXT), min(len(lines), line + CONTEXT) + 1)
        shown = [(local + n - line, lines[n - 1]) for n in near if submission.place(n) == (cell, local + n - line)]
        return Where(line=local, cell=cell, source=tuple(shown), **facts)  # type: ignore[arg-type]

    return where


def grid_position(case: Case, program: int) -> tuple[int, ...]:
    """Return a program's linear number as a position in the grid, one number per dimension of it."""
    position = []
    for extent in case.grid:
        position.append(program % extent)
        program //= extent
    return tuple(position)


def program_name(case: Case, program: int) -> str:
    """`program 3`, or `program (3, 1)` in a grid of two dimensions."""
    position = grid_position(case, program)
    return f"program {position[0] if len(position) == 1 else position}"


def tensor_name(parameter: str) -> str:
    """Return what a tensor is called in a sentence: `x` for the parameter `x_ptr`."""
    return parameter.removesuffix("_ptr")


def element_name(parameter: str, index: tuple[int, ...] | np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> str:
    """`y[3, 17]`."""
    return f"{tensor_name(parameter)}[{', '.join(str(int(i)) for i in index)}]"


def listed(words: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def written_tensors(case: Case) -> list[str]:
    """Parameters that the kernel is to write."""
    return [name for name, tensor in case.tensors.items() if tensor.role in (Role.OUTPUT, Role.STATE)]


def has_columns(tensor: Tensor) -> bool:
    """Return whether the last axis runs across: of l, m, LSE and delta it is the queries, which run downwards."""
    return tensor.axes[-1].kind in (AxisKind.COLUMN, AxisKind.DIMENSION) or tensor.values.ndim == 1
