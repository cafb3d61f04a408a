"""Puzzle w3: a tile for each program, loaded as it lies and stored as its transpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from checker.catalog.matrix.launch import transposed
from checker.catalog.matrix.transpose_mistakes import TRANSPOSES
from checker.catalog.softmax import reference, rows
from checker.catalog.softmax.cases import CaseMaker, large_cases, pictured
from checker.catalog.softmax.launch import Proves, equal_gaps, spaces, unequal_gaps
from checker.course.case import Case
from checker.course.kernel import kernel_of
from checker.course.puzzle import Draw, Expected, Property, Puzzle
from checker.course.question import Question, idle_lanes, programs, unwritten

KERNEL = kernel_of(
    "transpose_kernel", "x_ptr y_ptr x_row_stride y_row_stride n_rows n_cols", constexprs="BLOCK_ROWS BLOCK_COLS"
)

PROPERTIES = (
    Property("whole-tiles", "matrices of whole tiles", 20),
    Property("row-tail", "any number of rows", 15),
    Property("any-length", "any number of columns", 15),
    Property("tile-shapes", "tall, wide and square tiles", 15),
    Property("strides", "rows that lie apart in memory, x and y differently", 10),
    Property("half", "fp16", 5),
    Property("far-rows", "offsets beyond 2**31, in x and in y", 10),
    Property("traffic", "reads x once, writes y once", 10, traffic=True),
)


def cases(draw: Draw) -> list[Case]:
    """Sizes of every class by tiles that are wide, tall or square; no two elements of a matrix are alike."""
    high, width = ((4, 16), (8, 16), (16, 8), (8, 32))[int(draw.case("sizes").integers(4))]
    make = CaseMaker(KERNEL, draw, {"BLOCK_ROWS": high, "BLOCK_COLS": width}, transposed)
    gaps = draw.case("gaps")

    def case(name: str, proves: Proves, size: tuple[int, int], of: CaseMaker = make) -> Case:
        return of.launch(name, proves, make.normal(name, *size), equal_gaps(gaps))

    def tiles(name: str, high: int, width: int, *, once: bool = False) -> Case:
        size = 2 * high + 3, 3 * width - 1
        return make.resized(width, high).launch(name, "tile-shapes", make.normal(name, *size), (5, 9), once=once)

    def dense(name: str, proves: str, size: tuple[int, int], gaps: tuple[int, int] = (0, 0)) -> Case:
        return make.launch(name, proves, make.normal(name, *size), gaps, once=True)

    in_half = make.normal("whole, in half", high, 2 * width).astype(np.float16)
    apart = make.normal("strides", high + 3, 2 * width - 1)
    made = [
        make.launch("whole tiles", ("whole-tiles", "traffic"), make.normal("whole", 2 * high, 3 * width), (0, 0)),
        case("a few rows over", "row-tail", (2 * high + 3, 2 * width)),
        case("one row short", "row-tail", (2 * high - 1, width - 3)),
        case("a few columns over", ("any-length", "traffic"), (2 * high, 2 * width + 3)),
        case("one column short", "any-length", (high - 1, 2 * width - 1)),
        case("a square matrix", "whole-tiles", (2 * width, 2 * width)),
        make.launch("x and y strided differently", "strides", apart, unequal_gaps(gaps)),
        tiles("square tiles", 16, 16),
        tiles("tall tiles", 32, 8),
        tiles("wide tiles", 4, 64),
        tiles("tiles of one row", 1, 16, once=True),
        tiles("tiles of one column", 16, 1, once=True),
        case("less than a tile", "row-tail", (high - 1, width - 3)),
        case("a single column", "any-length", (high + 1, 1)),
        case("a single row", "row-tail", (1, width + 1)),
        make.launch("fp16", "half", make.normal("half", high + 1, width + 1).astype(np.float16), (3, 1)),
        *make.far_cases(width + 5),
        *make.of_every_size(),
        make.resized(1 << 16, 1).launch("long rows", "any-length", make.normal("long", 1, 70_003), (0, 0), once=True),
        make.tall_case(),
        dense("a few rows over, and nothing else", "row-tail", (2 * high + 3, 2 * width)),
        dense("a few columns over, and nothing else", "any-length", (2 * high, 2 * width + 3)),
        make.launch("fp16, whole tiles", "half", in_half, (0, 0), once=True),
        dense("whole tiles, strided", "strides", (2 * high, 2 * width), unequal_gaps(gaps)),
        *(
            make.resized(width, high).launch(name, "tile-shapes", make.normal(name, 64, 64), (0, 0), once=True)
            for name, high, width in (("whole tall tiles", 32, 8), ("whole wide tiles", 8, 32))
        ),
    ]
    return [*made, *make.of_every_order(made)]


def expected(case: Case) -> Mapping[str, Expected]:
    """Return the transpose of x: nothing is computed, so nothing is rounded."""
    y = case.tensors["x_ptr"].values.T.astype(np.float64)
    return {"y_ptr": Expected(y, np.zeros(y.shape))}


OF_THE_LESSON = np.arange(50, dtype=np.float32).reshape(5, 10)
IN_WIDE_TILES, IN_SQUARE_TILES = (
    transposed(KERNEL, "the lesson's matrix", (), OF_THE_LESSON, {"BLOCK_ROWS": high, "BLOCK_COLS": 4}, (0, 0))
    for high in (2, 4)
)
NOWHERE = {"y_ptr": np.zeros((10, 5), bool)}  # what must be written if programs are missing
QUESTIONS = (
    Question(
        "idle_lanes",
        "A matrix of 5 x 10 in tiles of 2 x 4: how many lanes of all programs together are masked off when y is "
        "stored?",
        IN_WIDE_TILES,
        idle_lanes("y_ptr"),
        "3 x 3 programs have 8 lanes each, which is 72 lanes for 50 elements.",
        course=22,
    ),
    Question(
        "unwritten",
        "A matrix of 5 x 10 in tiles of 2 x 4, with a grid of (3, 2) instead of (3, 3): how many elements of y does "
        "nobody write?",
        replace(IN_WIDE_TILES, grid=(3, 2), asked=NOWHERE),
        unwritten("y_ptr"),
        "The third tile of columns has no program, and it holds columns 8 and 9 of x, with 5 elements each.",
        course=10,
    ),
    Question(
        "programs",
        "A matrix of 5 x 10 in tiles of 4 x 4: how many programs store to y?",
        IN_SQUARE_TILES,
        programs("y_ptr"),
        "5 rows are 2 tiles of 4, and 10 columns are 3.",
        course=6,
    ),
)

PUZZLE = Puzzle(
    id="w3",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    expected=expected,
    budget=reference.budget(passes=1),
    spaces=spaces(KERNEL, launcher=transposed, transposed=True),
    large_cases=large_cases(KERNEL, lambda n: {"BLOCK_ROWS": 64, "BLOCK_COLS": 64}, transposed),
    pictured=pictured(KERNEL, "three by four tiles", (11, 64), {"BLOCK_ROWS": 4, "BLOCK_COLS": 16}, transposed),
    largest_block=lambda case: rows.rows_owned(case) * rows.block_size(case),
    misconceptions=TRANSPOSES,
    questions=QUESTIONS,
)
