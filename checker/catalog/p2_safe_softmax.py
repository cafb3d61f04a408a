"""Puzzle p2: rows longer than a block, in three passes: maximum, sum, write."""

from __future__ import annotations

from collections.abc import Mapping

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
from checker.course.misconception import chosen
from checker.course.puzzle import Draw, Property, Remark
from checker.course.question import Question, reads, value
from checker.course.verdict import Traffic

KERNEL = kernel_of("safe_softmax_kernel", "x_ptr y_ptr x_row_stride y_row_stride n_cols", constexprs="BLOCK_SIZE")

PROPERTIES = (
    Property("values", "rows of every kind of value", 30),
    Property("any-length", "rows of any length", 25),
    Property("strides", "rows that lie apart in memory, x and y differently", 10),
    Property("half", "half precision in and out, fp32 inside", 10),
    Property("far-rows", "row offsets beyond 2**31", 5),
    Property("traffic", "reads x three times at most, writes y once", 20, traffic=True),
)


def cases(draw: Draw) -> list[Case]:
    """Rows of up to three blocks and a tail."""
    make = CaseMaker(KERNEL, draw, {"BLOCK_SIZE": int(draw.case("sizes").choice([16, 32]))})
    return [*make.safe_cases(), make.long_sum_case()]


def _two_sweeps(case: Case, moved: Mapping[str, Traffic]) -> bool:
    return moved["x_ptr"].loads <= 2 * case.tensors["x_ptr"].values.size


TEN_COLUMNS, LARGE_NUMBERS = (
    launch(KERNEL, name, (), np.array([x], np.float32), {"BLOCK_SIZE": block})
    for name, x, block in (("a row in one block", range(10), 16), ("large numbers", (1001, 1002, 1003), 4))
)
QUESTIONS = (
    Question(
        "x_reads",
        "A row of 10 columns with BLOCK_SIZE = 16, so that it fits into one block: how often is each element of x "
        "read?",
        TEN_COLUMNS,
        reads("x_ptr"),
        "Each of the three passes loads every block again, even if there is only one.",
        course=3,
    ),
    Question(
        "y_0",
        "The softmax of 1, 2, 3 begins with .0900. With what does that of 1001, 1002, 1003 begin?",
        LARGE_NUMBERS,
        value("y_ptr", 0, 0),
        "What is added to every column is subtracted again with the maximum, so the softmax stays the same.",
    ),
)

# A learner's first version often has fewer loops than three, and so the mistakes of p3.
FEWER_LOOPS = chosen(ONLINE, "written-too-early", "denominator-not-rescaled")

PUZZLE = puzzle(
    id="p2",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    budget=blockwise_budget(passes=3),
    spaces=spaces(KERNEL),
    large_cases=large_cases(KERNEL, lambda n: {"BLOCK_SIZE": 256}),
    timed=lambda free: rows_timed(KERNEL, LONG_ROWS, free, LONG_ROWS, own_limit=1 / 2),
    pictured=pictured(KERNEL, "four rows of four blocks", (4, 64), {"BLOCK_SIZE": 16}),
    largest_block=rows.block_size,
    remarks=(Remark("You read x only twice: that is p3, the online softmax.", _two_sweeps),),
    misconceptions=(
        ROW_KEPT,
        *rows.worded((*NOT_SET_BACK, *BLOCKWISE, *STEPS, *FEWER_LOOPS, *RESULTS, *rows.ADDRESSING), rows.ONE_ROW),
    ),
    questions=QUESTIONS,
)
