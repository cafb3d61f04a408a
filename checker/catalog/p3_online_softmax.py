"""Puzzle 3: maximum and normaliser in one sweep (Milakov and Gimelshein, algorithm 3), a second one to write."""

from __future__ import annotations

from checker.catalog import rows, softmax, suspected_rows, timing
from checker.catalog.blockwise_mistakes import BLOCKWISE
from checker.catalog.online_mistakes import ONLINE
from checker.catalog.softmax_mistakes import RESULTS
from checker.course.puzzle import Case, Draw, Kernel, Misconception, Property, Puzzle, Timed, Tuning

KERNEL = Kernel(
    name="online_softmax_kernel",
    parameters=("x_ptr", "y_ptr", "x_row_stride", "y_row_stride", "n_cols", "BLOCK_SIZE"),
    constexprs=("BLOCK_SIZE",),
)

PROPERTIES = (
    Property("values", "rows of every kind of value", 25),
    Property("any-length", "rows of any length", 20),
    Property("strides", "rows that lie apart in memory, x and y differently", 10),
    Property("half", "fp16 in and out, fp32 inside", 10),
    Property("far-rows", "row offsets beyond 2**31", 5),
    Property("prefix", "rows that begin with a block of -inf", 10),
    Property("traffic", "reads x twice, writes y once", 20, traffic=True),
)


def cases(draw: Draw) -> list[Case]:
    """As for puzzle 2, and rows whose first blocks hold nothing but -inf."""
    sizes = draw.case("sizes")
    blocks = {"BLOCK_SIZE": int(sizes.choice([16, 32]))}
    usual = softmax.safe_cases(KERNEL, lambda name: draw.case(name), blocks)
    return [
        *usual,
        *softmax.empty_blocks(KERNEL, draw.case("prefix"), blocks),
        softmax.long_sum_case(KERNEL, draw.case("long sum"), blocks),
    ]


THREE_SWEEPS = Misconception(
    "three-sweeps",
    "x is read 3 times per element, and 2 are enough",
    "One sweep finds the maximum, a second one the normaliser, a third one writes: that is puzzle 2. Moving data is "
    "what a softmax spends its time on, so a third sweep costs half as much again.",
    "Merge the first two sweeps: keep m and l together, and rescale l whenever m grows.",
    traffic=lambda case, moved: moved["x_ptr"].loads == 3 * case.tensors["x_ptr"].values.size,
)


def timed(free: int) -> list[Timed]:
    """Rows of 128k, too long for a cache."""
    tunings = [Tuning({"BLOCK_SIZE": 8192}, 16), Tuning({"BLOCK_SIZE": 16384}, 32)]
    return [timing.rows_timed(KERNEL, 131072, tunings, free, own_limit=2 / 3, usual=True)]


PUZZLE = Puzzle(
    number=3,
    slug="online_softmax",
    title="Online softmax, two sweeps",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    expected=softmax.expected,
    budget=softmax.blockwise_budget(sweeps=2),
    suspected=suspected_rows.of_softmax(KERNEL),
    large_cases=softmax.large_cases(KERNEL, lambda n: {"BLOCK_SIZE": 256}),
    timed=timed,
    pictured=softmax.pictured(KERNEL, "four rows of four blocks", (4, 64), {"BLOCK_SIZE": 16}),
    largest_block=rows.block_size,
    misconceptions=(softmax.ROW_KEPT, THREE_SWEEPS, *ONLINE, *BLOCKWISE, *RESULTS, *rows.ADDRESSING),
    invariants=(softmax.ROWS_SUM_TO_ONE,),
)
