"""Outputs of kernels whose loop steps by something else than a block: columns count twice, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from checker.catalog.lines import carried_on
from checker.catalog.numbers import exp32
from checker.catalog.softmax.mistakes import shifted, total, y_is
from checker.catalog.softmax.rows import Stride, X, Y, block_size, columns, row_count, rows_owned
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Mask, Reach, Reaches, Sign, Unwritten
from checker.course.text import Line

idea = Ideas(__file__)

Begins = Callable[[Case], Iterable[int]]  # the columns at which blocks begin


def in_steps(step: Callable[[Case], int]) -> Begins:
    """Blocks begin so many columns apart, to the end of the row."""
    return lambda case: range(0, columns(case), max(step(case), 1))


def _by_their_numbers(case: Case) -> Iterable[int]:
    return range(-(-columns(case) // block_size(case)))


def _times(case: Case, begins: Begins) -> npt.NDArray[np.int64]:
    """Return how many blocks each column of a row is in."""
    steps = np.zeros(columns(case) + 1, np.int64)
    for first in begins(case):
        if first < columns(case):
            steps[first] += 1
            steps[min(first + block_size(case), columns(case))] -= 1
    return np.asarray(np.cumsum(steps)[:-1])


def _counted(x: Array, case: Case, begins: Begins) -> Array:
    """Return the softmax with a sum that has each column as often as it is in a block."""
    e = exp32(shifted(x))
    return np.asarray(e / total(e * _times(case, begins)))


def _seen(x: Array, case: Case, begins: Begins, in_maximum: bool, in_sum: bool) -> Array:
    """Return the softmax with the maximum, or the sum, or both, of the columns that are in any block."""
    some = _times(case, begins) > 0
    e = exp32(x - (x[:, some] if in_maximum else x).max(axis=1, keepdims=True))
    return np.asarray(e / total(e[:, some] if in_sum else e))


def overlapping(begins: Begins) -> tuple[Sign, ...]:
    """Steps that are shorter than a block, in the loop that sums."""
    return (y_is(lambda x, case: _counted(x, case, begins)),)


def _left_out(begins: Begins, line: Line | None = None) -> Unwritten:
    def elements(case: Case) -> dict[str, Mask]:
        return {"y_ptr": np.broadcast_to(_times(case, begins) == 0, case.tensors["y_ptr"].values.shape)}

    return Unwritten(elements, line=line)


def skipping(begins: Begins, *more: tuple[bool, bool]) -> tuple[Sign, ...]:
    """Steps that are longer than a block, in the loop that writes, or in one before it.

    `more`: of which loops as well; a maximum by itself is wrong only if a case has the largest element between blocks.
    """
    loops = ((True, True), (False, True), *more)
    of_values = (y_is(lambda x, case, of=of: _seen(x, case, begins, *of)) for of in loops)  # type: ignore[misc]
    return _left_out(begins), *of_values


def _nothing(case: Case) -> dict[str, Mask]:
    return {"y_ptr": np.ones(case.tensors["y_ptr"].values.shape, bool)}


def _after(loops: int) -> Begins:
    """Each block begins `start` columns after the one before it, also where that was in an earlier loop."""

    def begins(case: Case) -> Iterable[int]:
        starts = np.arange(0, columns(case), block_size(case))
        return [int(begin) for begin in loops * starts.sum() + np.cumsum(starts)]

    return begins


def _pointers_past_the_row(case: Case, program: int) -> tuple[Reach, ...]:
    """Return the loads of the second and the third loop, from where the one before has left the pointers."""
    first, width, n = program * rows_owned(case), block_size(case), columns(case)
    last, moved = min(first + rows_owned(case), row_count(case)) - 1, -(-n // width) * width
    return tuple(
        Reach(False, "x_ptr", first * X(case) + past, last * X(case) + past + min(width, n - start) - 1)
        for start in range(0, n, width)
        for past in (moved + start, 2 * moved + start)
    )


def _start_twice(store: bool, stride: Stride) -> Reaches:
    """Blocks that begin twice as far from the row's begin as they should, with the right mask."""

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        first, width = program * rows_owned(case), block_size(case)
        last = min(first + rows_owned(case), row_count(case)) - 1
        return tuple(
            Reach(
                store,
                "y_ptr" if store else "x_ptr",
                first * stride(case) + 2 * start,
                last * stride(case) + 2 * start + min(width, columns(case) - start) - 1,
            )
            for start in range(width, columns(case), width)
        )

    return Reaches(of)


# What the step may be confused with where a block is meant: nothing, a part of a block, or the number of blocks.
_BLOCK_COUNT = in_steps(lambda case: -(-columns(case) // block_size(case)))
_SHORT = (
    in_steps(lambda case: 1),
    _by_their_numbers,
    in_steps(lambda case: block_size(case) // 2),
    in_steps(lambda case: block_size(case) // 4),
    in_steps(lambda case: block_size(case) - 1),
    _BLOCK_COUNT,
)
_TWICE = in_steps(lambda case: 2 * block_size(case))
_ONE_MORE = in_steps(lambda case: block_size(case) + 1)

BY_ROWS = idea("steps-overlap/by-rows", *overlapping(in_steps(rows_owned)), *skipping(in_steps(rows_owned)))
STEPS = (
    idea("steps-overlap", *(sign for begins in _SHORT for sign in overlapping(begins))),
    idea("steps-overlap/end", *skipping(_by_their_numbers)),
    idea("start-added-twice", _start_twice(False, X), _start_twice(True, Y)),
    idea("blocks-skipped", *skipping(_TWICE, (True, False)), *skipping(_ONE_MORE), *skipping(_BLOCK_COUNT)),
)
# What is moved on by start stays in a row of one block, and is told from what is moved on by a block by that.
NOT_SET_BACK = (
    idea("moved-on-twice", *skipping(_after(0)), *(_left_out(_after(loops), carried_on) for loops in (1, 2))),
    idea(
        "not-set-back",
        Unwritten(_nothing, line=carried_on),
        y_is(lambda x, _: exp32(shifted(x)) / 0.0).at(carried_on, needed=True),
    ),
    idea("not-set-back/pointers", Reaches(_pointers_past_the_row, line=carried_on)),
)
