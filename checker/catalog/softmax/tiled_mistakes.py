"""Mistakes of a softmax that has tiles of several rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from checker.catalog.softmax import rows
from checker.catalog.softmax.models import online
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Mask, Moves, Unwritten

idea = Ideas(__file__)


WITHOUT_AXIS = (
    idea("reduced-over-the-whole-tile", online(over_tile="both")),
    idea("reduced-over-the-whole-tile/sum", online(over_tile="sum")),
)


PADDED_ROWS = idea(
    "padded-rows-read",
    Moves(lambda case, moved: moved["x_ptr"].loads == 2 * rows.columns(case) * _rows_of_whole_tiles(case)),
)


def _rows_of_whole_tiles(case: Case) -> int:
    """Return the number of rows that all tiles read if each has as many distinct ones as it can."""
    count, owned = rows.row_count(case), rows.rows_owned(case)
    return case.grid[0] * min(count, owned)


def _rows_left(left: Callable[[Array, Case], Array], shared: bool = False) -> Unwritten:
    """Return outputs that lack the rows for which `left` holds."""

    def elements(case: Case) -> dict[str, Mask]:
        shape = case.tensors["y_ptr"].values.shape
        return {"y_ptr": np.broadcast_to(left(np.arange(shape[0]), case)[:, None], shape)}

    return Unwritten(elements, shared)


def _between_tiles(step: Callable[[Case], int]) -> Callable[[Array, Case], Array]:
    """Return a test for rows that are in no tile if tiles begin `step` rows apart."""

    def left(row: Array, case: Case) -> Array:
        first = np.minimum(row // step(case), case.grid[0] - 1) * step(case)
        return np.asarray(row - first >= rows.rows_owned(case))

    return left


ROWS_LEFT = (
    idea("one-row-per-program", _rows_left(lambda row, case: row >= case.grid[0])),
    idea("one-row-per-program/first-of-its-rows", _rows_left(lambda row, case: row % rows.rows_owned(case) > 0)),
    idea("tiles-not-a-tile-apart", _rows_left(_between_tiles(lambda _: 1), shared=True)),
    idea(
        "tiles-not-a-tile-apart/by-columns",
        *(_rows_left(_between_tiles(rows.block_size), shared) for shared in (False, True)),
    ),
    idea(
        "row-tail-left-out",
        _rows_left(lambda row, case: row >= rows.row_count(case) // rows.rows_owned(case) * rows.rows_owned(case)),
    ),
)

TILED = (PADDED_ROWS, *ROWS_LEFT, *WITHOUT_AXIS)
