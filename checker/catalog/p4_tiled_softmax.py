"""Puzzle 4: several rows a program, in tiles of BLOCK_ROWS x BLOCK_COLS, online."""

from __future__ import annotations

import numpy as np

from checker.catalog import rows
from checker.catalog.blockwise_mistakes import BLOCKWISE, blocks, top
from checker.catalog.online_mistakes import ONLINE
from checker.catalog.softmax.cases import CaseMaker, large_cases, pictured
from checker.catalog.softmax.puzzle import puzzle
from checker.catalog.softmax.reference import ROW_KEPT, blockwise_budget
from checker.catalog.softmax.suspected import suspected_rows
from checker.catalog.softmax.timing import rows_timed
from checker.catalog.softmax_mistakes import RESULTS, exp32, total, y_is
from checker.course.misconception import Misconception, Moves
from checker.course.puzzle import Array, Case, Draw, Kernel, Property, Tuning

KERNEL = Kernel(
    name="tiled_softmax_kernel",
    parameters=("x_ptr", "y_ptr", "x_row_stride", "y_row_stride", "n_rows", "n_cols", "BLOCK_ROWS", "BLOCK_COLS"),
    constexprs=("BLOCK_ROWS", "BLOCK_COLS"),
)

PROPERTIES = (
    Property("values", "rows of every kind of value", 20),
    Property("any-length", "rows of any length", 15),
    Property("strides", "rows that lie apart in memory, x and y differently", 10),
    Property("half", "fp16 in and out, fp32 inside", 10),
    Property("far-rows", "row offsets beyond 2**31", 5),
    Property("row-tail", "any number of rows", 10),
    Property("prefix", "rows that begin with a block of -inf", 10),
    Property("traffic", "reads x twice, writes y once", 20, traffic=True),
)


def cases(draw: Draw) -> list[Case]:
    """As for puzzle 3, with tiles that are not square, and numbers of rows that leave a tile partly empty."""
    count, width = ((4, 16), (8, 16), (4, 32))[int(draw.case("sizes").integers(3))]
    make = CaseMaker(KERNEL, draw, {"BLOCK_ROWS": count, "BLOCK_COLS": width})

    def rows_left(of: CaseMaker, name: str, rows: int, n: int, seed: str = "", once: bool = False) -> Case:
        return of.launch(name, "row-tail", make.normal(seed or name, rows, n), (24, 24), once=once)

    return [
        *make.safe_cases(),
        *make.empty_blocks(),
        make.long_sum_case(),
        rows_left(make.resized(16, owned=32), "tall tiles", 37, 41, once=True),
        rows_left(make.resized(16, owned=16), "square tiles", 35, 37, seed="square", once=True),
        rows_left(make, "one row", 1, width + 3),
        rows_left(make, "whole tiles of rows", 2 * count, width + 3),
        rows_left(make, "one row more", count + 1, width + 3),
    ]


def _one_maximum(x: Array, case: Case) -> Array:
    """The softmax with the maximum of the whole tile of rows."""
    count = rows.rows_owned(case)
    parts = (x[first : first + count] for first in range(0, len(x), count))
    return np.concatenate([exp32(part - part.max()) / total(exp32(part - part.max())) for part in parts])


ONE_MAXIMUM = Misconception(
    "one-maximum-per-tile",
    "All rows of a tile share one maximum",
    "Rows far below the largest one of their tile get only zeros, and 0 / 0 is NaN. Each row needs its own maximum.",
    "tl.max(x, axis=1) has one entry per row; keep it a vector of BLOCK_ROWS.",
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
        "Without an axis, tl.max and tl.sum make one number of a tile: all of its rows then share the maximum and the "
        "sum, so no row sums to 1 by itself.",
        "tl.max(x, axis=1) and tl.sum(..., axis=1) have one entry per row.",
        signs=(y_is(lambda x, case: _without_axis(x, case, maximum=True)),),
    ),
    Misconception(
        "reduced-over-the-whole-tile",
        "The sum is that of the whole tile, not of each row",
        "Without an axis, tl.sum makes one number of a tile: to each row the exponentials of all rows are added.",
        "tl.sum(..., axis=1) has one entry per row.",
        signs=(y_is(lambda x, case: _without_axis(x, case, maximum=False)),),
    ),
)
PADDED_ROWS = Misconception(
    "padded-rows-read",
    "Rows past the last one read a real row again",
    "The last tile has more rows than are left. Its addresses were brought back inside, with % n_rows for instance, so "
    "nothing is read outside; but real rows are read once more, for nothing.",
    "Mask the rows that do not exist, rows < n_rows, and leave their addresses as they are.",
    signs=(Moves(lambda case, moved: moved["x_ptr"].loads == 2 * rows.columns(case) * _rows_of_whole_tiles(case)),),
)


def _rows_of_whole_tiles(case: Case) -> int:
    """Rows read by all tiles together, of the last one as many as it can; distinct ones in each."""
    count, owned = rows.row_count(case), rows.rows_owned(case)
    return case.grid[0] * min(count, owned)


MISTAKES = (
    ROW_KEPT,
    PADDED_ROWS,
    ONE_MAXIMUM,
    *WITHOUT_AXIS,
    *rows.worded((*ONLINE, *BLOCKWISE, *RESULTS, *rows.ADDRESSING), rows.TILE_OF_ROWS),
)
# Rows of 128 to 4096, several in one block while they are short: rows and columns of a block, and warps.
TILES = {
    128: ((8, 128, 1), (8, 128, 4)),
    256: ((4, 128, 4), (4, 256, 4)),
    512: ((2, 512, 4), (1, 256, 1)),
    1024: ((1, 1024, 4), (2, 1024, 8)),
    2048: ((1, 2048, 8), (2, 2048, 16)),
    4096: ((1, 4096, 16), (4, 4096, 16)),
}


TUNINGS = {
    n: [Tuning({"BLOCK_ROWS": count, "BLOCK_COLS": width}, warps) for count, width, warps in tiles]
    for n, tiles in TILES.items()
}

PUZZLE = puzzle(
    number=4,
    slug="tiled_softmax",
    title="Tiled softmax",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    budget=blockwise_budget(sweeps=2),
    suspected=suspected_rows(KERNEL),
    large_cases=large_cases(KERNEL, lambda n: {"BLOCK_ROWS": 4, "BLOCK_COLS": 256}),
    timed=lambda free: rows_timed(KERNEL, TUNINGS, free, usual=(128, 1024, 4096)),
    pictured=pictured(KERNEL, "three by four tiles", (11, 64), {"BLOCK_ROWS": 4, "BLOCK_COLS": 16}),
    largest_block=lambda case: rows.rows_owned(case) * rows.block_size(case),
    misconceptions=MISTAKES,
)
