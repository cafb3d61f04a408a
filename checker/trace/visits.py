"""Which tile of queries met which tile of keys, in which order: from the loads and products of a launch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from checker.box.protocol.records import DOT, LOAD
from checker.box.protocol.results import LaunchResult
from checker.course.case import AxisKind, Case
from checker.course.puzzle import Puzzle
from checker.judge.traffic import multiply_adds
from checker.trace.result import Pairs, Visit

_SIDES = QUERY, KEY = AxisKind.QUERY, AxisKind.KEY


def pairs_of(puzzle: Puzzle, case: Case, result: LaunchResult) -> Pairs | None:
    """The grid of the first head; None if this is not a launch of attention with queries and keys."""
    # A bias has no rows.
    of_rows = {name: t for name, t in case.tensors.items() if t.axes[-1].kind is AxisKind.DIMENSION}
    sides = {name: (a.kind, a.block, t.values.shape) for name, t in of_rows.items() for a in t.axes[-2:-1]}
    matrices = {name: side for name, side in sides.items() if side[0] in _SIDES and len(side[2]) == 3 and side[1]}
    sizes = {kind: (block, shape[1]) for kind, block, shape in matrices.values()}
    if puzzle.pictured is None or puzzle.pictured.sees is None or set(sizes) != set(_SIDES):
        return None
    (query_block, queries), (key_block, keys) = sizes[QUERY], sizes[KEY]
    enough = puzzle.work(case) if puzzle.work is not None else 0
    visits = tuple(_visits(case, result, {name: side[0] for name, side in matrices.items()}))
    effort = multiply_adds(result) / enough if enough else 1.0
    return Pairs(queries, keys, query_block, key_block, puzzle.pictured.sees(case), visits, effort)


def _visits(case: Case, result: LaunchResult, sides: dict[str, AxisKind]) -> Iterator[Visit]:
    """At each product, the pair of what was loaded last on either side; several products of one pair are one visit."""
    names, log = list(case.tensors), result.log
    touched = np.split(log.elements, np.cumsum(log.distinct)[:-1])
    last: dict[tuple[int, AxisKind], tuple[int, ...]] = {}  # by program and side: tiles
    met: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}  # by program: the pair of its last visit
    numbers: dict[int, int] = {}
    for record in np.flatnonzero(np.isin(log.kind, (LOAD, DOT))).tolist():
        program, name = int(log.program[record]), names[int(log.tensor[record])]
        if log.kind[record] == LOAD:
            if name in sides:
                last[program, sides[name]] = _tiles(case, name, touched[record])
            continue
        pair = last.get((program, QUERY), ()), last.get((program, KEY), ())
        if all(pair) and pair != met.get(program):
            met[program] = pair
            numbers[program] = numbers.get(program, 0) + 1
            for query_tile in pair[0]:
                for key_tile in pair[1]:
                    yield Visit(program, numbers[program], query_tile, key_tile)


def _tiles(case: Case, name: str, elements: npt.NDArray[np.int32]) -> tuple[int, ...]:
    """The tiles of the first head that some elements of a matrix lie in."""
    tensor = case.tensors[name]
    _, rows, width = tensor.values.shape
    of_head = elements[elements < rows * width] // width
    return tuple(int(tile) for tile in np.unique(of_head // tensor.axes[1].block))
