"""Puzzle p4: several rows a program, in tiles of BLOCK_ROWS x BLOCK_COLS, online."""

from __future__ import annotations

import numpy as np

from checker.catalog.softmax import rows
from checker.catalog.softmax.blockwise_mistakes import BLOCKWISE
from checker.catalog.softmax.cases import CaseMaker, large_cases, pictured
from checker.catalog.softmax.launch import launch, spaces
from checker.catalog.softmax.mistakes import RESULTS
from checker.catalog.softmax.online_mistakes import ONLINE
from checker.catalog.softmax.puzzle import puzzle
from checker.catalog.softmax.reference import ROW_KEPT, blockwise_budget
from checker.catalog.softmax.step_mistakes import BY_ROWS, NOT_SET_BACK, STEPS
from checker.catalog.softmax.tiled_mistakes import TILED
from checker.catalog.softmax.timing import rows_timed
from checker.course.case import Case
from checker.course.kernel import kernel_of
from checker.course.puzzle import Draw, Property, Tuning
from checker.course.question import Question, idle_lanes, programs, reads

KERNEL = kernel_of(
    "tiled_softmax_kernel", "x_ptr y_ptr x_row_stride y_row_stride n_rows n_cols", constexprs="BLOCK_ROWS BLOCK_COLS"
)

PROPERTIES = (
    Property("values", "rows of every kind of value", 20),
    Property("any-length", "rows of any length", 15),
    Property("strides", "rows that lie apart in memory, x and y differently", 10),
    Property("half", "half precision in and out, fp32 inside", 10),
    Property("far-rows", "row offsets beyond 2**31", 5),
    Property("row-tail", "any number of rows", 10),
    Property("prefix", "rows that begin with a block of -inf", 10),
    Property("traffic", "reads x twice, writes y once", 20, traffic=True),
)


def cases(draw: Draw) -> list[Case]:
    """As for p3, with tiles that are not square, and numbers of rows that leave a tile partly empty."""
    count, width = ((4, 16), (8, 16), (4, 32))[int(draw.case("sizes").integers(3))]
    make = CaseMaker(KERNEL, draw, {"BLOCK_ROWS": count, "BLOCK_COLS": width})

    def rows_left(of: CaseMaker, name: str, rows: int, n: int, seed: str = "", once: bool = False) -> Case:
        return of.launch(name, "row-tail", make.normal(seed or name, rows, n), (24, 24), once=once)

    more = make.normal("more", count + 2, 2 * width)
    made = [
        *make.safe_cases(),
        *make.empty_blocks(),
        make.long_sum_case(),
        rows_left(make.resized(16, owned=32), "tall tiles", 37, 41, once=True),
        rows_left(make.resized(16, owned=16), "square tiles", 35, 37, seed="square", once=True),
        rows_left(make, "one row", 1, width + 3),
        rows_left(make, "whole tiles of rows", 2 * count, width + 3),
        rows_left(make, "one row more", count + 1, width + 3),
        make.launch("two rows more, and nothing else", "row-tail", more, (0, 0), once=True),
    ]
    return [*made, *make.of_every_order(made)]


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

FIVE_ROWS = launch(
    KERNEL,
    "five rows in tiles of four",
    (),
    np.arange(50, dtype=np.float32).reshape(5, 10),
    {"BLOCK_ROWS": 4, "BLOCK_COLS": 4},
)
QUESTIONS = (
    Question(
        "programs",
        "5 rows of 10 columns, in tiles of 4 x 4: how many programs store to y?",
        FIVE_ROWS,
        programs("y_ptr"),
        "A program owns 4 rows and all of their columns, and 5 / 4 rounded up is 2.",
        course=2,
    ),
    Question(
        "x_reads",
        "5 rows of 10 columns, in tiles of 4 x 4: how often is each element of x read?",
        FIVE_ROWS,
        reads("x_ptr"),
        "There are two passes, and rows past the end are masked, so they cost no traffic.",
        course=2,
    ),
    Question(
        "idle_lanes",
        "5 rows of 10 columns, in tiles of 4 x 4: how many lanes of all programs together are masked off when y is "
        "stored?",
        FIVE_ROWS,
        idle_lanes("y_ptr"),
        "2 programs store 3 tiles of 16 lanes each, which is 96 lanes for 50 elements.",
        course=46,
    ),
)

PUZZLE = puzzle(
    id="p4",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    budget=blockwise_budget(passes=2),
    spaces=spaces(KERNEL),
    large_cases=large_cases(KERNEL, lambda n: {"BLOCK_ROWS": 4, "BLOCK_COLS": 256}),
    timed=lambda free: rows_timed(KERNEL, TUNINGS, free, usual=(128, 1024, 4096)),
    pictured=pictured(KERNEL, "three by four tiles", (11, 64), {"BLOCK_ROWS": 4, "BLOCK_COLS": 16}),
    largest_block=lambda case: rows.rows_owned(case) * rows.block_size(case),
    misconceptions=(
        ROW_KEPT,
        *TILED,
        BY_ROWS,
        *rows.worded(
            (*NOT_SET_BACK, *ONLINE, *BLOCKWISE, *STEPS, *RESULTS, *rows.ADDRESSING, *rows.OF_SEVERAL_ROWS),
            rows.TILE_OF_ROWS,
        ),
    ),
    questions=QUESTIONS,
)
