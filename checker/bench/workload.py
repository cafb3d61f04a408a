"""How much there is to do at one size: bytes at the least, and bytes as counted on the interpreter."""

from __future__ import annotations

from collections.abc import Iterable

from checker.bench.result import Size
from checker.course.puzzle import Budget, Case, Puzzle, Tensor, Timed
from checker.course.verdict import Traffic

_OF_SOFTMAX = 5.0  # operations an element: maximum, difference, exponential, sum, division


def size_of(puzzle: Puzzle, timed: Timed, traffic: Iterable[Traffic] = ()) -> Size:
    """The size, with nothing timed yet. Blocks are those that are tried first.

    `traffic` is what a kernel moved on the interpreter, against its bounds; at this size it moves the
    same share of what the bounds are here. Without it, the bounds themselves.
    """
    cases = [timed.launch(kernel, tunings[0].blocks) for kernel, tunings in timed.tunings.items()]
    shares = {(t.kernel, t.tensor): t for t in traffic}
    counted = sum(_counted(puzzle, case, shares) for case in cases)
    unique = {name: tensor for case in cases for name, tensor in case.tensors.items()}
    least = sum(_bytes(tensor) * tensor.values.size for tensor in unique.values())
    operations = timed.flops or _OF_SOFTMAX * next(iter(unique.values())).values.size
    return Size(timed.name, timed.work, timed.flops, operations, float(least), counted, timed.own_limit)


def _counted(puzzle: Puzzle, case: Case, shares: dict[tuple[str, str], Traffic]) -> float:
    total = 0.0
    for name, bound in puzzle.budget(case).items():
        total += _moved(bound, shares.get((case.kernel, name))) * _bytes(case.tensors[name])
    return total


def _moved(bound: Budget, seen: Traffic | None) -> float:
    if seen is None:
        return bound.loads + bound.stores
    loads = bound.loads * seen.loads / seen.most_loads if seen.most_loads else 0.0
    return loads + (bound.stores * seen.stores / seen.most_stores if seen.most_stores else 0.0)


def _bytes(tensor: Tensor) -> int:
    return 2 if tensor.bf16 else tensor.values.itemsize
