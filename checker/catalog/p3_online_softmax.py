"""Puzzle p3: maximum and normaliser in one pass (Milakov and Gimelshein, algorithm 3), a second one to write."""

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
from checker.catalog.softmax.step_mistakes import NOT_SET_BACK, STEPS
from checker.catalog.softmax.timing import LONG_ROWS, rows_timed
from checker.course.case import Case
from checker.course.kernel import kernel_of
from checker.course.misconception import Ideas, Moves
from checker.course.puzzle import Draw, Property
from checker.course.question import Question, reads, value

idea = Ideas(__file__)

KERNEL = kernel_of("online_softmax_kernel", "x_ptr y_ptr x_row_stride y_row_stride n_cols", constexprs="BLOCK_SIZE")

PROPERTIES = (
    Property("values", "rows of every kind of value", 25),
    Property("any-length", "rows of any length", 20),
    Property("strides", "rows that lie apart in memory, x and y differently", 10),
    Property("half", "half precision in and out, fp32 inside", 10),
    Property("far-rows", "row offsets beyond 2**31", 5),
    Property("prefix", "rows that begin with a block of -inf", 10),
    Property("traffic", "reads x twice, writes y once", 20, traffic=True),
)


def cases(draw: Draw) -> list[Case]:
    """As for p2, and rows whose first blocks hold nothing but -inf."""
    make = CaseMaker(KERNEL, draw, {"BLOCK_SIZE": int(draw.case("sizes").choice([16, 32]))})
    return [*make.safe_cases(), *make.empty_blocks(), make.long_sum_case()]


THREE_SWEEPS = idea(
    "three-sweeps", Moves(lambda case, moved: moved["x_ptr"].loads == 3 * case.tensors["x_ptr"].values.size)
)


TEN_COLUMNS, EMPTY_BLOCK = (
    launch(KERNEL, name, (), np.array([x], np.float32), {"BLOCK_SIZE": block})
    for name, x, block in (("a row in one block", range(10), 16), ("a block of -inf", [-np.inf] * 4 + [2, 2], 4))
)
QUESTIONS = (
    Question(
        "x_reads",
        "A row of 10 columns with BLOCK_SIZE = 16, as in p2: how often is each element of x read now?",
        TEN_COLUMNS,
        reads("x_ptr"),
        "Pass 1 finds m and l together, and pass 2 loads the row again to write the result.",
        course=2,
    ),
    Question(
        "y_5",
        "A row holds minus infinity four times, and then 2 and 2. With BLOCK_SIZE = 4, what is the last element of y?",
        EMPTY_BLOCK,
        value("y_ptr", 0, 5),
        "The first block leaves l = 0, which adds nothing to anything, so the two columns share 1.",
    ),
)

PUZZLE = puzzle(
    id="p3",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    budget=blockwise_budget(passes=2),
    spaces=spaces(KERNEL),
    large_cases=large_cases(KERNEL, lambda n: {"BLOCK_SIZE": 256}),
    timed=lambda free: rows_timed(KERNEL, LONG_ROWS, free, LONG_ROWS, own_limit=2 / 3),
    pictured=pictured(KERNEL, "four rows of four blocks", (4, 64), {"BLOCK_SIZE": 16}),
    largest_block=rows.block_size,
    misconceptions=(
        ROW_KEPT,
        THREE_SWEEPS,
        *rows.worded((*NOT_SET_BACK, *ONLINE, *BLOCKWISE, *STEPS, *RESULTS, *rows.ADDRESSING), rows.ONE_ROW),
    ),
    questions=QUESTIONS,
)
