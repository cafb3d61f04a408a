"""What is known of each case once the box is closed, and the words to talk about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from checker.box.protocol.results import Launch, LaunchResult, TensorArgument
from checker.course.case import Case, Role, Tensor
from checker.course.puzzle import Budget, Puzzle
from checker.course.verdict import Where
from checker.submission.read import Submission

CONTEXT = 2  # lines shown before and after a marked one
MANY_TIMES = 16  # what is enough: a launch that moves more is not worth waiting for
A_FEW = 500_000  # elements that any launch may move


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


def runs_of(case: Case, puzzle: Puzzle) -> int:
    """How many runs a case gets, each with its programs in another order: two on a GPU, where any run may differ.

    On the interpreter the launches whose traffic is proven get two: they are what programs could meet in. One is enough
    if a case asks for no more, or if there is only one order.
    """
    if case.on_gpu:
        return 2
    about_traffic = any(one.traffic for one in puzzle.properties if one.name in case.proves)
    return 2 if about_traffic and not case.once and math.prod(case.grid) > 1 else 1


def counted(evidence: Iterable[Evidence]) -> list[Evidence]:
    """The launches whose traffic is summed up: a large one among those chosen for their sizes would outweigh all."""
    return [e for e in evidence if e.result and not e.result.on_gpu and not e.case.once and not e.case.programs]


Locator = Callable[..., Where]
T = TypeVar("T")


def first_of_each(items: Iterable[T], key: Callable[[T], Hashable]) -> list[T]:
    """Of items with the same key the first one, in order."""
    first: dict[Hashable, T] = {}
    for item in items:
        first.setdefault(key(item), item)
    return list(first.values())


def launch_of(case: Case, budget: Mapping[str, Budget] | None = None) -> Launch:
    """The case as the box is told of it: data without roles, names or expectations.

    `budget` limits what a launch may move: MANY_TIMES as much as the programs that run need, and never less than A_FEW.
    """
    x, y, z = (*case.grid, 1, 1)[:3]
    share = len(case.programs) / math.prod(case.grid) if case.programs else 1
    enough = int(share * sum(b.loads + b.stores for b in budget.values())) if budget else 0
    return Launch(
        kernel=case.kernel,
        grid=(x, y, z),
        tensors={
            name: TensorArgument(t.values, t.strides, t.bf16, t.role is Role.OUTPUT, t.role is Role.SCRATCH)
            for name, t in case.tensors.items()
        },
        scalars={name: (scalar_type(value), value) for name, value in case.scalars.items()},
        constexprs=dict(case.constexprs),
        debug=case.checked_arithmetic,
        most_touched=max(A_FEW, MANY_TIMES * enough),
        resident=case.resident,
        in_a_row=case.in_a_row,
    )


def steps_of(case: Case, puzzle: Puzzle) -> float:
    """About how many loads and stores a right kernel makes in a launch: the interpreter's time goes by that."""
    moved = sum(b.loads + b.stores for b in puzzle.budget(case).values())
    block = puzzle.largest_block(case) if puzzle.largest_block else 1
    programs = math.prod(case.grid)
    return (programs + moved / block) * (len(case.programs) / programs if case.programs else 1)


def half_of(steps: Mapping[int, float]) -> set[int]:
    """Numbers of launches whose steps are about half of all: the longest first, each to the side that has fewer."""
    halves: tuple[set[int], set[int]] = set(), set()
    taken = [0.0, 0.0]
    for number in sorted(steps, key=lambda n: -steps[n]):
        side = int(taken[1] < taken[0])
        halves[side].add(number)
        taken[side] += steps[number]
    return halves[1]


def scalar_type(value: int | float) -> str:
    """The type that Triton gives a number passed to a kernel."""
    if isinstance(value, float):
        return "float32"
    return "int32" if -(2**31) <= value < 2**31 else "int64"


def locator(submission: Submission) -> Locator:
    """A function that turns a line of the submission's text and other facts into a `Where`."""
    lines = submission.text.split("\n")

    def where(line: int | None = None, case: Case | None = None, **facts: object) -> Where:
        if case is not None:
            facts |= {"case": case.name, "case_id": case.id}
        if not line or line > len(lines):
            return Where(**facts)  # type: ignore[arg-type]
        cell, local = submission.place(line)
        near = range(max(1, line - CONTEXT), min(len(lines), line + CONTEXT) + 1)
        shown = [(local + n - line, lines[n - 1]) for n in near if submission.place(n) == (cell, local + n - line)]
        return Where(line=local, cell=cell, source=tuple(shown), **facts)  # type: ignore[arg-type]

    return where


def grid_position(case: Case, program: int) -> tuple[int, ...]:
    """A program's linear number as a position in the grid, one number per dimension of it."""
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
    """What a tensor is called in a sentence: `x` for the parameter `x_ptr`."""
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
    """Whether the last axis runs across: of l, m, LSE and delta it is the queries, which run downwards."""
    return tensor.axes[-1].name in ("column", "dimension") or tensor.values.ndim == 1
