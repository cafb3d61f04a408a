"""Mistakes of a kernel that sums the rows of a matrix, each row in one block."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from checker.catalog.matrix.launch import matrix
from checker.catalog.softmax import rows
from checker.course.case import Array, Case
from checker.course.misconception import Load, Mask, Raises, Reach, Reaches, Unwritten, Writes
from checker.course.words import Ideas

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
    """How much a program stores that stores a row, with a mask and without one."""
    return rows.columns(case), rows.block_size(case)


def _rows_past_columns(case: Case) -> dict[str, Mask]:
    return {"out_ptr": np.arange(rows.row_count(case)) >= rows.columns(case)}


def _first_columns(x: Array, case: Case, count: int) -> Array:
    return np.asarray(x[:, :count].sum(axis=1))


def _first_half(x: Array, case: Case) -> Array:
    return np.asarray(x[:, : rows.block_size(case) // 2].sum(axis=1))


def _whole_groups(x: Array, case: Case, of: int) -> Array:
    return np.asarray(x[:, : x.shape[1] // of * of].sum(axis=1))


GROUPS = 32, 4, 2, 8, 16, 64, 128, 256, 512, 1024  # columns that a GPU takes at a time: lanes of a warp, and so on

SUMS = (
    idea("padding-counted", _out_is(lambda x, case: x.sum(axis=1) + _padding(case)).at(Load.LAST)),
    idea(
        "padding-counted/minus-infinity",
        _out_is(lambda x, case: x.sum(axis=1) - (np.inf if _padding(case) else 0.0)).at(Load.LAST),
    ),
    idea(
        "max-for-sum",
        _out_is(lambda x, _: x.max(axis=1)),
        _out_is(lambda x, case: x.max(axis=1, initial=0.0) if _padding(case) else x.max(axis=1)),
    ),
    idea("mean-for-sum", _out_is(lambda x, _: x.mean(axis=1))),
    idea("mean-for-sum/block-size", _out_is(lambda x, case: x.sum(axis=1) / rows.block_size(case))),
    idea("first-element-only", _out_is(lambda x, _: x[:, 0])),
    idea("mask-off-by-one", _out_is(lambda x, _: x[:, :-1].sum(axis=1))),
    idea("columns-left-out", *(_out_is(partial(_first_columns, count=count)) for count in GROUPS)),
    idea("columns-left-out/half-of-the-block", _out_is(_first_half)),
    idea("columns-left-out/whole-groups", *(_out_is(partial(_whole_groups, of=of)) for of in GROUPS)),
    idea("only-first-row", _out_is(lambda x, _: np.where(np.arange(len(x)) == 0, x.sum(axis=1), 0.0))),
    idea("absolute-values", _out_is(lambda x, _: np.abs(x).sum(axis=1))),
    idea("summed-as-integers", _out_is(lambda x, _: np.trunc(x).sum(axis=1))),
    idea("store-masked-by-columns", Unwritten(_rows_past_columns)),
    idea(
        "block-to-one-address",
        Raises(re.compile(r"Value argument cannot be block type if pointer argument is not a block")),
    ),
    idea("wrong-row-map", _out_is(lambda x, _: np.full(len(x), x[0].sum()))),
    idea("out-with-row-stride", _stores(lambda case, program: program * rows.X(case))),
    idea(
        "row-stored",
        _stores(lambda case, program: 0, _row_or_block),
        _stores(lambda case, program: program, _row_or_block),
        _stores(lambda case, program: program * rows.X(case), _row_or_block),
    ),
)
