"""Puzzle 2: rows longer than a block, in three sweeps: maximum, sum, write."""

from __future__ import annotations

from collections.abc import Mapping

from checker.catalog import rows, softmax, suspected_rows, timing
from checker.catalog.blockwise_mistakes import BLOCKWISE
from checker.catalog.softmax_mistakes import RESULTS
from checker.course.puzzle import Case, Draw, Kernel, Property, Puzzle, Remark, Timed, Tuning

KERNEL = Kernel(
    name="safe_softmax_kernel",
    parameters=("x_ptr", "y_ptr", "x_row_stride", "y_row_stride", "n_cols", "BLOCK_SIZE"),
    constexprs=("BLOCK_SIZE",),
)

PROPERTIES = (
    Property("values", "rows of every kind of value", 30),
    Property("any-length", "rows of any length", 25),
    Property("strides", "rows that lie apart in memory, x and y differently", 10),
    Property("half", "fp16 in and out, fp32 inside", 10),
    Property("far-rows", "row offsets beyond 2**31", 5),
    Property("traffic", "reads x three times at most, writes y once", 20, traffic=True),
)


def cases(draw: Draw) -> list[Case]:
    """Rows of up to three blocks and a tail."""
    block = int(draw.case("sizes").choice([16, 32]))
    usual = softmax.safe_cases(KERNEL, lambda name: draw.case(name), {"BLOCK_SIZE": block})
    return [*usual, softmax.long_sum_case(KERNEL, draw.case("long sum"), {"BLOCK_SIZE": block})]


def _two_sweeps(case: Case, loads: Mapping[str, int]) -> bool:
    return loads["x_ptr"] <= 2 * case.tensors["x_ptr"].values.size


def timed(free: int) -> list[Timed]:
    """Rows of 128k, too long for a cache."""
    tunings = [Tuning({"BLOCK_SIZE": 8192}, 16), Tuning({"BLOCK_SIZE": 16384}, 32)]
    return [timing.rows_timed(KERNEL, 131072, tunings, free, own_limit=1 / 2, usual=True)]


PUZZLE = Puzzle(
    number=2,
    slug="safe_softmax",
    title="Safe softmax, three sweeps",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    expected=softmax.expected,
    budget=softmax.blockwise_budget(sweeps=3),
    suspected=suspected_rows.of_softmax(KERNEL),
    large_cases=softmax.large_cases(KERNEL, lambda n: {"BLOCK_SIZE": 256}),
    timed=timed,
    pictured=softmax.pictured(KERNEL, "four rows of four blocks", (4, 64), {"BLOCK_SIZE": 16}),
    largest_block=rows.block_size,
    remarks=(Remark("You read x only twice: that is puzzle 3, the online softmax.", _two_sweeps),),
    misconceptions=(softmax.ROW_KEPT, *BLOCKWISE, *RESULTS, *rows.ADDRESSING),
    invariants=(softmax.ROWS_SUM_TO_ONE,),
)
