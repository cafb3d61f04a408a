"""Puzzle p1: one program per row, the whole row in one block, exp(x) / sum(exp(x))."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from checker.catalog.softmax import rows
from checker.catalog.softmax.cases import CaseMaker, large_cases, pictured, stacked
from checker.catalog.softmax.launch import Proves, equal_gaps, launch, spaces, unequal_gaps
from checker.catalog.softmax.mistakes import RESULTS
from checker.catalog.softmax.puzzle import puzzle
from checker.catalog.softmax.reference import budget
from checker.catalog.softmax.timing import rows_timed
from checker.catalog.softmax.whole_row_mistakes import WHOLE_ROW
from checker.catalog.softmax.whole_rows import block_of, mostly_padding, of_every_length, whole_row
from checker.course.case import Array, Case
from checker.course.kernel import kernel_of
from checker.course.puzzle import Draw, Property, Timed, Tuning
from checker.course.question import Question, idle_lanes, reads, value

KERNEL = kernel_of("naive_softmax_kernel", "x_ptr y_ptr x_row_stride y_row_stride n_cols", constexprs="BLOCK_SIZE")

PROPERTIES = (
    Property("full-block", "a row that fills its block", 25),
    Property("any-length", "rows of any length", 25),
    Property("values", "rows of every kind of value", 15),
    Property("strides", "rows that lie apart in memory, x and y differently", 10),
    Property("half", "half precision in and out, fp32 inside", 10),
    Property("far-rows", "row offsets beyond 2**31", 5),
    Property("traffic", "reads x once, writes y once", 10, traffic=True),
)


def _kinds(random: np.random.Generator, n: int) -> dict[str, Array]:
    """Rows that a softmax without max subtraction can do: |x| <= 80 and sum(exp(x)) < 1e38."""

    def normal(sigma: float = 1.0, offset: float = 0.0) -> Array:
        return random.normal(offset, sigma, n).clip(-80, 80)

    def peak(position: int) -> Array:
        return np.where(np.arange(n) == position, 60.0, normal())

    return {
        "normal, sigma 1": np.where(np.arange(n) == 3, 0.0, normal()),  # a 0 is a number like any other
        "normal, sigma 5": normal(5.0),
        "normal around +40": normal(1.0, 40.0),
        "normal around -60": normal(1.0, -60.0),
        "all 79 or 80": random.integers(79, 81, n).astype(float),
        "all near -80": normal(1.0, -78.0),
        "maximum first": peak(0),
        "maximum in the middle": peak(n // 2),
        "maximum last": peak(n - 1),
        "ascending": np.linspace(-30, 30, n),
        "descending": np.linspace(30, -30, n),
        "small whole numbers": random.integers(-3, 4, n).astype(float),
        "all equal": np.full(n, float(random.integers(1, 9))),
        "one entry -inf": np.where(np.arange(n) == random.integers(n), -np.inf, normal()),
        "one-hot": np.where(np.arange(n) == random.integers(n), 80.0, -80.0),
    }


def cases(draw: Draw) -> list[Case]:
    """Lengths around a power of two; rows are value kinds; strides unequal in one case."""
    make = CaseMaker(KERNEL, draw, {"BLOCK_SIZE": 8})
    normal, sizes, gaps = make.normal, draw.case("sizes"), draw.case("gaps")
    block = int(sizes.choice([64, 128]))
    short = int(sizes.integers(block // 2 + 1, block // 2 + 9))
    kinds = _kinds(draw.case("kinds"), int(sizes.integers(block - 15, block)))
    half = _kinds(draw.case("half"), block - int(sizes.integers(1, 15)))
    few = {kind: half[kind] for kind in ("normal, sigma 1", "normal, sigma 5", "maximum last", "normal around +40")}
    one = np.array([[-80.0], normal("one", 1, 1)[0]], np.float32)

    def case(name: str, proves: Proves, x: Array, apart: tuple[int, int] | None = None, **how: Any) -> Case:
        alike = equal_gaps(gaps)  # drawn for every case, so that none depends on how others lie
        return whole_row(make, name, proves, x, apart or alike, **how)

    return [
        whole_row(make, "a full block", ("full-block", "traffic"), normal("full", 3, block), (0, 0)),
        case("seven short of a block", ("any-length", "traffic"), normal("tail", 2, block - 7)),
        case("just over half a block", "any-length", normal("short", 2, short), (0, 0)),
        case("a single column", "any-length", one),
        case("a long row", "any-length", normal("long", 2, int(sizes.integers(700, 1500)))),
        case("many rows", "any-length", normal("many", int(sizes.integers(33, 40)), 5)),
        case("every kind of row", "values", stacked(kinds), kinds=(*kinds,)),
        whole_row(make, "x and y strided differently", "strides", normal("strides", 3, block - 9), unequal_gaps(gaps)),
        case("fp16", "half", stacked(few, np.float16), kinds=(*few,)),
        *make.far_cases(),
        *replace(make, blocks={"BLOCK_SIZE": 32}).plain_cases(kinds, 32),
        case("fp16, a single column", "half", normal("one", 1, 1).astype(np.float16), once=True),
        case("fp16, every kind of row", "half", stacked(half, np.float16), once=True),
        *_of_every_length(make),
        make.tall_case(),
        mostly_padding(make, -80, -79),  # what only looks like -inf adds up
    ]


def _of_every_length(make: CaseMaker) -> list[Case]:
    """Blocks of every size; and long rows, in fp32 and fp16."""
    random = make.draw.case("lengths")
    made = of_every_length(make, random)
    long = random.normal(0.0, 2.0, (1, int(random.integers(132_000, 160_000))))
    flat = np.full((1, int(random.integers(1200, 1700))), 80.0)  # of which the sum is nearly as large as fp32 goes
    rows: dict[str, Array] = {
        "a row of 80": flat.astype(np.float32),
        "long rows": long.astype(np.float32),
        "fp16, long rows": long[:, :1000].astype(np.float16),
    }
    for name, x in rows.items():
        proves = "half" if x.dtype == np.float16 else "any-length"
        made.append(whole_row(make, name, proves, x, equal_gaps(random), once=True))
    return made


WARPS = {1024: (2, 4), 2048: (2, 4), 4096: (4, 16), 8192: (16, 32), 16384: (16, 32)}  # by row length
TUNINGS = {n: [Tuning({"BLOCK_SIZE": n}, warps) for warps in several] for n, several in WARPS.items()}


def timed(free: int) -> list[Timed]:
    """Rows of 1k to 16k, each in one block, in fp32 and in bf16."""
    return [
        *rows_timed(KERNEL, TUNINGS, free, usual=(1024, 8192)),
        *rows_timed(KERNEL, TUNINGS, free, usual=(8192,), bf16=True),
    ]


FIVE_SEVENS, LONG_ROW = (
    launch(KERNEL, name, (), x, {"BLOCK_SIZE": block})
    for name, x, block in (
        ("five sevens", np.full((1, 5), 7, np.float32), 8),
        ("one column more than 1024", np.zeros((1, 1025), np.float32), 2048),
    )
)
QUESTIONS = (
    Question(
        "y_0",
        "A row of five sevens with BLOCK_SIZE = 8: what is the first element of y?",
        FIVE_SEVENS,
        value("y_ptr", 0, 0),
        "Five equal columns share 1, because the three lanes of padding add nothing to the sum.",
    ),
    Question(
        "idle_lanes",
        "A row of 1025 columns needs BLOCK_SIZE = 2048: how many lanes are masked off when y is stored?",
        LONG_ROW,
        idle_lanes("y_ptr"),
        "A block's length is a power of two, so one column more than 1024 takes a block of twice the length.",
        course=1023,
    ),
    Question(
        "x_reads",
        "A row of 1025 columns with BLOCK_SIZE = 2048: how often is each element of x read?",
        LONG_ROW,
        reads("x_ptr"),
        "The row stays on the chip from its only load to the end, and a masked lane touches no memory.",
    ),
)

PUZZLE = puzzle(
    id="p1",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    budget=budget(passes=1),
    spaces=spaces(KERNEL, whole=True, largest=80.0),
    large_cases=large_cases(KERNEL, block_of),
    timed=timed,
    pictured=pictured(KERNEL, "four rows", (4, 64), {"BLOCK_SIZE": 64}),
    misconceptions=(*WHOLE_ROW, *rows.worded((*RESULTS, *rows.ADDRESSING), rows.IN_ONE_BLOCK)),
    questions=QUESTIONS,
)
