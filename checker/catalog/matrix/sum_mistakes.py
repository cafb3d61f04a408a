"""Mistakes of a kernel that sums the rows of a matrix, each row in one block."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from checker.catalog.matrix.launch import matrix
from checker.catalog.softmax import rows
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Load, Mask, Raises, Reach, Reaches, Unwritten, Writes

idea = Ideas(__file__)


def _out_is(formula: Callable[[Array, Case], Array]) -> Writes:
    """The kernel writes `formula(x, case)` to out; x in float64."""
    return Writes(lambda case: {"out_ptr": formula(matrix(case), case)})


def _padding(case: Case) -> int:
    return rows.block_size(case) - rows.columns(case)


def _stores(lowest: Callable[[Case, int], int], widths: Callable[[Case], Sequence[int]] = lambda _: (1,)) -> Reaches:
    """Each program stores to one of so many elements of out, from the lowest on."""

    def of(case: Case, program: int) -> list[Reach]:
        first = lowest(case, program)
        return [Reach(True, "out_ptr", first, first + width - 1) for width in widths(case)]

    return Reaches(of)


def _row_or_block(case: Case) -> tuple[int, int]:
    """Return how much a program stores that stores a row, with a mask and without one."""
    return rows.columns(case), rows.block_size(case)


def _rows_past_columns(case: Case) -> dict[str, Mask]:
    return {"out_ptr": np.arange(rows.row_count(case)) >= rows.columns(case)}


SUMS = (
    idea("padding-counted", _out_is(lambda x, case: x.sum(axis=1) + _padding(case)).at(Load.LAST)),
    idea(
        "padding-counted/minus-infinity",
        _out_is(lambda x, case: x.sum(axis=1) - (np.inf if _padding(case) else 0.0)).at(Load.LAST),
    ),
    idea("mean-for-sum", _out_is(lambda x, _: x.mean(axis=1))),
    idea("mean-for-sum/block-size", _out_is(lambda x, case: x.sum(axis=1) / rows.block_size(case))),
    idea("mask-off-by-one", _out_is(lambda x, _: x[:, :-1].sum(axis=1))),
    idea("only-first-row", _out_is(lambda x, _: np.where(np.arange(len(x)) == 0, x.sum(axis=1), 0.0))),
    idea("summed-as-integers", _out_is(lambda x, _: np.trunc(x).sum(axis=1))),
    idea("store-masked-by-columns", Unwritten(_rows_past_columns)),
    idea("block-to-one-address", Raises(r"Value argument cannot be block type if pointer argument is not a block")),
    idea("wrong-row-map", _out_is(lambda x, _: np.full(len(x), x[0].sum()))),
    idea("out-with-row-stride", _stores(lambda case, program: program * rows.X(case))),
    idea(
        "row-stored",
        _stores(lambda case, program: 0, _row_or_block),
        _stores(lambda case, program: program, _row_or_block),
        _stores(lambda case, program: program * rows.X(case), _row_or_block),
    ),
)
