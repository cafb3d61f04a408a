"""Requests to the sandbox: a launch of each case, its limit of work, and which of two passes runs it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from checker.course.case import Case, Role, Tensor
from checker.course.puzzle import Puzzle
from checker.sandbox.protocol.launch import Launch, TensorArgument, scalar_type
from checker.sandbox.protocol.records import OPERATION

MANY_TIMES = 16  # what is enough: a launch that does more is not worth waiting for
A_FEW = 500_000  # elements that any launch may move
A_LITTLE = 20_000  # operations that any launch may make
A_STEP = 64  # operations that are enough for a program, or for a tile that is loaded or stored: solutions make 5 to 65


def runs_of(case: Case, puzzle: Puzzle) -> int:
    """Return how many runs a case gets, each with its programs in another order: two on a GPU, where any run may
    differ.

    On the interpreter the launches whose traffic is proven get two: they are what programs could meet in. One is enough
    if a case asks for no more, or if there is only one order.
    """
    if case.on_gpu:
        return 2
    about_traffic = any(one.traffic for one in puzzle.properties if one.name in case.proves)
    return 2 if about_traffic and not case.once and math.prod(case.grid) > 1 else 1


def launch_of(case: Case, puzzle: Puzzle | None = None) -> Launch:
    """Return the case for the sandbox: data without roles, names or expectations.

    It may move and do MANY_TIMES as much as the programs that run need by the rules of its `puzzle`, and never less
    than A_FEW and A_LITTLE.
    """
    x, y, z = (*case.grid, 1, 1)[:3]
    moved = 0 if puzzle is None else sum(b.loads + b.stores for b in puzzle.budget(case).values())
    steps, products = (0.0, 0) if puzzle is None else (steps_of(case, puzzle), puzzle.work(case) if puzzle.work else 0)
    return Launch(
        kernel=case.kernel,
        grid=(x, y, z),
        tensors={
            name: TensorArgument(t.values, t.strides, t.bf16, t.role is Role.OUTPUT, t.role is Role.SCRATCH)
            for name, t in case.tensors.items()
        },
        scalars={name: (scalar_type(value), value) for name, value in case.scalars.items()},
        constexprs=dict(case.constexprs),
        checked_arithmetic=case.checked_arithmetic,
        most_touched=max(A_FEW, MANY_TIMES * int(_share(case) * moved)),
        most_work=max(A_LITTLE * OPERATION, MANY_TIMES * int(A_STEP * OPERATION * steps + products)),
        resident=case.resident,
        in_a_row=case.in_a_row,
    )


def _share(case: Case) -> float:
    """Of all programs, those that run."""
    return len(case.programs) / math.prod(case.grid) if case.programs else 1.0


def steps_of(case: Case, puzzle: Puzzle) -> float:
    """About how many programs and tiles a right kernel of a launch has to do with: its time goes by that."""
    if puzzle.steps is not None:
        return float(puzzle.steps(case))
    return (math.prod(case.grid) + sum(tiles_of(case, puzzle).values())) * _share(case)


def tiles_of(case: Case, puzzle: Puzzle) -> dict[str, float]:
    """Return how many tiles of each tensor a right kernel loads and stores in a launch, parts of a tile as such."""
    budget = puzzle.budget(case)
    return {
        name: (budget[name].loads + budget[name].stores) / _tile(tensor)
        for name, tensor in case.tensors.items()
        if name in budget
    }


def _tile(tensor: Tensor) -> int:
    """Elements of a tile: along an axis in blocks one of them, along the last one otherwise all, else one."""
    *others, last = (min(axis.block, n) for axis, n in zip(tensor.axes, tensor.values.shape, strict=True))
    return int(math.prod(side or 1 for side in others) * (last or tensor.values.shape[-1]))


def half_of(steps: Mapping[int, float]) -> set[int]:
    """Numbers of launches whose steps are about half of all: the longest first, each to the side that has fewer."""
    halves: tuple[set[int], set[int]] = set(), set()
    taken = [0.0, 0.0]
    for number in sorted(steps, key=lambda n: -steps[n]):
        side = int(taken[1] < taken[0])
        halves[side].add(number)
        taken[side] += steps[number]
    return halves[1]
