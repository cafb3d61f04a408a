"""The data of a picture, from a launch's log."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from checker.course.case import AxisKind, Case, Role, Tensor
from checker.course.puzzle import Puzzle
from checker.judge.evidence import Locator, has_columns, program_name, tensor_name
from checker.judge.traffic import moved, multiply_adds
from checker.sandbox.protocol.records import DOT, LOAD, STORE
from checker.sandbox.protocol.results import LaunchResult
from checker.trace.result import Band, Pairs, Program, Reads, Recorded, Touch, Visit

MOST_PROGRAMS = 4  # whose accesses are kept one by one
MOST_STEPS = 48  # of each of them
MOST_SPANS = 8  # of one access; of more, only where they begin and end
_SIDES = QUERY, KEY = AxisKind.QUERY, AxisKind.KEY

Ints = npt.NDArray[np.int64]


def recorded(puzzle: Puzzle, case: Case, result: LaunchResult, where: Locator) -> Recorded:
    """Return one launch, as far as it got."""
    shown = range(min(MOST_PROGRAMS, int(np.prod(case.grid))))
    return Recorded(
        kernel=case.kernel,
        case=case.name,
        bands=tuple(_band(name, tensor) for name, tensor in case.tensors.items()),
        programs=tuple(_program(case, result, number) for number in shown),
        count=int(np.prod(case.grid)),
        pairs=pairs_of(puzzle, case, result),
        reads=_reads(case, result),
        traffic=tuple(moved(puzzle, case, result)),
        stopped=_stopped(case, result, where),
    )


def blocks_of(tensor: Tensor) -> tuple[int, int]:
    """Rows and columns of a tile, as `Reads` and error maps count them; where an axis has no blocks, all of it."""
    sides = [axis.block or extent for axis, extent in zip(tensor.axes, tensor.values.shape, strict=True)]
    if not has_columns(tensor):
        return sides[-1], 1
    return (sides[-2] if len(sides) > 1 else 1), sides[-1]


def _along_columns(tensor: Tensor) -> bool:
    """Return whether tiles lie along the columns of a row, as in a softmax, and not one below the other."""
    return has_columns(tensor) and (tensor.values.ndim == 1 or tensor.axes[-1].block > 0)


def _positions(tensor: Tensor, elements: Ints) -> Ints:
    """Return where along the axis of its tiles each element lies; ascending, each once."""
    width = tensor.values.shape[-1]
    if not has_columns(tensor):
        return elements
    return np.unique(elements % width if _along_columns(tensor) else elements // width)


def _band(name: str, tensor: Tensor) -> Band:
    along, columns = _along_columns(tensor), has_columns(tensor)
    axis = tensor.axes[-1 if along or not columns else -2]
    extent = tensor.values.shape[-1] if along else int(np.prod(tensor.values.shape[: -1 if columns else None]))
    return Band(tensor_name(name), axis.plural, extent, axis.block or extent)


def _program(case: Case, result: LaunchResult, number: int) -> Program:
    """Return one program's accesses, step by step."""
    log, names = result.log, list(case.tensors)
    touched = np.split(log.elements.astype(np.int64), np.cumsum(log.distinct)[:-1])
    own = np.flatnonzero((log.program == number) & np.isin(log.kind, (LOAD, STORE)))
    touches: list[Touch] = []
    in_step: set[tuple[str, bool]] = set()
    step = 0
    rows: dict[str, list[int]] = {}  # by tensor
    for record in own.tolist():
        name, store = names[int(log.tensor[record])], bool(log.kind[record] == STORE)
        if (name, store) in in_step or (not store and any(stored for _, stored in in_step)):
            step += 1
            in_step = set()
        in_step.add((name, store))
        if step < MOST_STEPS and log.distinct[record]:
            tensor, elements = case.tensors[name], touched[record]
            touches.append(Touch(step, tensor_name(name), store, _spans(_positions(tensor, elements))))
            if _along_columns(tensor) and tensor.values.ndim > 1:
                ends = (int(e) // tensor.values.shape[-1] for e in (elements.min(), elements.max()))
                rows.setdefault(name, []).extend(ends)
    # Of what is written, or else of what is read first: a product reads other rows of its second matrix.
    written = [name for name in rows if case.tensors[name].role is not Role.INPUT]
    own_rows = rows[next(iter([*written, *rows]))] if rows else []
    owned = (min(own_rows), max(own_rows)) if own_rows else None
    loads = int(np.count_nonzero(log.kind[own] == LOAD))
    steps = step + 1 if own.size else 0
    return Program(name_of_program(case, number), owned, loads, own.size - loads, steps, tuple(touches))


def _spans(positions: Ints) -> tuple[tuple[int, int], ...]:
    """Runs of neighbours among ascending positions, as [first, end)."""
    breaks = np.flatnonzero(np.diff(positions) > 1)
    firsts, lasts = positions[[0, *(breaks + 1)]], positions[[*breaks, -1]]
    if firsts.size > MOST_SPANS:
        return ((int(positions[0]), int(positions[-1]) + 1),)
    return tuple((int(first), int(last) + 1) for first, last in zip(firsts, lasts, strict=True))


def pairs_of(puzzle: Puzzle, case: Case, result: LaunchResult) -> Pairs | None:
    """Return the grid of the first head; None if this is not a launch of attention with queries and keys."""
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
                last[program, sides[name]] = _tiles_of(case, name, touched[record])
            continue
        pair = last.get((program, QUERY), ()), last.get((program, KEY), ())
        if all(pair) and pair != met.get(program):
            met[program] = pair
            numbers[program] = numbers.get(program, 0) + 1
            for query_tile in pair[0]:
                for key_tile in pair[1]:
                    yield Visit(program, numbers[program], query_tile, key_tile)


def _tiles_of(case: Case, name: str, elements: npt.NDArray[np.int32]) -> tuple[int, ...]:
    """Return the tiles of the first head that some elements of a matrix lie in."""
    tensor = case.tensors[name]
    _, rows, width = tensor.values.shape
    of_head = elements[elements < rows * width] // width
    return tuple(int(tile) for tile in np.unique(of_head // tensor.axes[1].block))


def _reads(case: Case, result: LaunchResult) -> tuple[Reads, ...]:
    """Return how often each element was loaded: by how many load instructions, whatever lanes asked for it."""
    log = result.log
    of_element = np.repeat(log.tensor, log.distinct)
    loaded = np.repeat(log.kind == LOAD, log.distinct)
    reads = []
    for number, (name, tensor) in enumerate(case.tensors.items()):
        counts = np.bincount(log.elements[loaded & (of_element == number)], minlength=tensor.values.size)
        if tensor.role is Role.INPUT or counts.any():
            columns = has_columns(tensor)
            axes = [axis.plural for axis in tensor.axes]
            shape = (-1, tensor.values.shape[-1]) if columns else (-1, 1)
            words = (axes[-2] if len(axes) > 1 else "", axes[-1]) if columns else (axes[-1], "")
            reads.append(Reads(tensor_name(name), counts.reshape(shape), *words, blocks_of(tensor)))
    return tuple(reads)


def _stopped(case: Case, result: LaunchResult, where: Locator) -> str:
    """Return where the launch ended early, and why in a few words; nothing if it came to its end."""
    end = result.refused or result.error
    if end is None:
        return ""
    place = where(end.line)
    cell = f" of cell {place.cell}" if place.cell else ""
    line = f" in line {place.line}{cell}" if place.line else ""
    reason = result.error.type if result.error else "an access outside its tensor"
    return f"{name_of_program(case, end.program)} stopped{line}: {reason}"


def name_of_program(case: Case, number: int) -> str:
    """`program 3`, unless its position in the grid has several numbers that matter."""
    return f"program {number}" if sum(extent > 1 for extent in case.grid) < 2 else program_name(case, number)
