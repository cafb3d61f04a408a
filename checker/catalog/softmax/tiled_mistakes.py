"""Mistakes of a softmax that has tiles of several rows."""

from __future__ import annotations

import numpy as np

from checker.catalog.softmax import rows
from checker.catalog.softmax.blockwise_mistakes import blocks, top
from checker.catalog.softmax.mistakes import exp32, total, y_is
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Moves


def _one_maximum(x: Array, case: Case) -> Array:
    """The softmax with the maximum of the whole tile of rows."""
    count = rows.rows_owned(case)
    parts = (x[first : first + count] for first in range(0, len(x), count))
    return np.concatenate([exp32(part - part.max()) / total(exp32(part - part.max())) for part in parts])


ONE_MAXIMUM = Misconception(
    "one-maximum-per-tile",
    "All rows of a tile share one maximum",
    "Each row needs its own maximum. In a tile with the rows 500 501 and 1 2, the maximum is 501, and both "
    "exponentials of the second row are 0 in fp32: 0 / 0 is NaN.",
    "tl.max(x, axis=1) has one entry per row; keep it a vector of BLOCK_ROWS.",
    question="A tile has the rows 1 3 and 4 0. How many numbers is the maximum that your kernel takes of it, and how "
    "many should there be?",
    signs=(y_is(_one_maximum),),
)


def _without_axis(x: Array, case: Case, maximum: bool) -> Array:
    """The softmax with the sum, and the maximum if asked for, taken over all rows of each tile."""
    count = rows.rows_owned(case)
    return np.concatenate([_of_rows(x[first : first + count], case, maximum) for first in range(0, len(x), count)])


def _of_rows(x: Array, case: Case, maximum: bool) -> Array:
    m, l = np.full((len(x), 1), -np.inf), np.zeros((len(x), 1))
    for tile in blocks(x, case):
        m_new = np.maximum(m, tile.max() if maximum else top(tile))
        shift = np.where(np.isinf(m_new), 0.0, m_new)
        l = l * exp32(m - shift) + exp32(tile - shift).sum()
        m = m_new
    return np.asarray(exp32(x - m) / l)


WITHOUT_AXIS = (
    Misconception(
        "reduced-over-the-whole-tile",
        "Maximum and sum are those of the whole tile, not of each row",
        "Without an axis, a reduction makes one number of a tile. All rows then share the maximum and the sum, so no "
        "row sums to 1 by itself: of two equal rows, each sums to .5.",
        "tl.max(x, axis=1) and tl.sum(..., axis=1) have one entry per row.",
        question="A tile has the shape (BLOCK_ROWS, BLOCK_COLS). Which shape should its maxima and its sums have, and "
        "which shape do yours have?",
        signs=(y_is(lambda x, case: _without_axis(x, case, maximum=True)),),
    ),
    Misconception(
        "reduced-over-the-whole-tile",
        "The sum is that of the whole tile, not of each row",
        "Without an axis, a sum makes one number of a tile, and the exponentials of all rows are added to each row. "
        "Of two equal rows, each then sums to .5.",
        "tl.sum(..., axis=1) has one entry per row.",
        question="A tile has the shape (BLOCK_ROWS, BLOCK_COLS). Which shape should its sums have, and which shape do "
        "yours have?",
        signs=(y_is(lambda x, case: _without_axis(x, case, maximum=False)),),
    ),
)


def _down_the_columns(x: Array, case: Case) -> Array:
    """The softmax of each column within its tile of rows."""
    count = rows.rows_owned(case)
    parts = (x[first : first + count] for first in range(0, len(x), count))
    tops = ((part, np.where(np.isinf(m := part.max(axis=0)), 0.0, m)) for part in parts)
    return np.concatenate([exp32(part - m) / exp32(part - m).sum(axis=0) for part, m in tops])


OF_COLUMNS = Misconception(
    "softmax-of-columns",
    "Each column of a tile is normalised, not each row",
    "A reduction along axis=0 runs down the rows of a tile and leaves one number per column. So the columns of each "
    "tile sum to 1, and the rows of y do not: in a tile of two equal rows, all elements are .5.",
    "Reduce along the row, tl.max(x, axis=1) and tl.sum(..., axis=1), and lay the results down as columns, [:, None].",
    question="A tile of two rows and four columns is reduced along axis 0. How many numbers does that leave, and what "
    "does each of them belong to?",
    signs=(y_is(_down_the_columns),),
)
PADDED_ROWS = Misconception(
    "padded-rows-read",
    "Rows past the last one read a real row again",
    "The last tile has more rows than are left. Its addresses were brought back inside, with % n_rows for instance, "
    "so nothing is read outside. But with 11 rows in tiles of 4, row 0 is then read by program 2 as well, for nothing.",
    "Mask the rows that do not exist, (rows < n_rows)[:, None], and leave their addresses as they are.",
    question="With 11 rows in tiles of 4, which four rows does program 2 read in your kernel, and which of them are "
    "its own?",
    signs=(Moves(lambda case, moved: moved["x_ptr"].loads == 2 * rows.columns(case) * _rows_of_whole_tiles(case)),),
)


def _rows_of_whole_tiles(case: Case) -> int:
    """Rows read by all tiles together, of the last one as many as it can; distinct ones in each."""
    count, owned = rows.row_count(case), rows.rows_owned(case)
    return case.grid[0] * min(count, owned)


TILED = (PADDED_ROWS, ONE_MAXIMUM, *WITHOUT_AXIS, OF_COLUMNS)
