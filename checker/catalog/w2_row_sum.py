"""Puzzle w2: one program per row, the whole row in one block, summed in fp32."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from checker.catalog.matrix.launch import matrix, sums
from checker.catalog.matrix.sum_mistakes import SUMS
from checker.catalog.numbers import EPS32, THREADS
from checker.catalog.softmax import reference, rows
from checker.catalog.softmax.cases import CaseMaker, large_cases, pictured, stacked
from checker.catalog.softmax.launch import Proves, equal_gaps, spaces
from checker.catalog.softmax.whole_rows import block_of, mostly_padding, of_every_length, whole_row
from checker.course.case import Array, Case
from checker.course.kernel import kernel_of
from checker.course.misconception import chosen
from checker.course.puzzle import Budget, Draw, Expected, Property, Puzzle
from checker.course.question import Question, idle_lanes, value

KERNEL = kernel_of("row_sum_kernel", "x_ptr out_ptr x_row_stride n_cols", constexprs="BLOCK_SIZE")

PROPERTIES = (
    Property("full-block", "a row that fills its block", 25),
    Property("any-length", "rows of any length", 25),
    Property("values", "rows of every kind of value", 10),
    Property("strides", "rows that lie apart in memory", 15),
    Property("half", "half precision in, sums in fp32", 10),
    Property("far-rows", "row offsets beyond 2**31", 5),
    Property("traffic", "reads x once, writes out once", 10, traffic=True),
)
LARGEST = 1e30  # of which a few thousand can be added up in fp32


def _kinds(random: np.random.Generator, n: int) -> dict[str, Array]:
    columns = np.arange(n)
    return {
        "normal, sigma 1": np.where(columns == 3, 0.0, random.normal(0.0, 1.0, n)),
        "normal, sigma 100": random.normal(0.0, 100.0, n),
        "normal around +10000": random.normal(1e4, 1.0, n),
        "normal around -10000": random.normal(-1e4, 1.0, n),
        "all negative": random.uniform(-2.0, -1.0, n),
        "all equal": np.full(n, float(random.integers(1, 9))),
        "all 0": np.zeros(n),
        "small whole numbers": random.integers(-3, 4, n).astype(float),
        "a large one first": np.where(columns == 0, 1e4, random.normal(0.0, 1.0, n)),
        "a large one last": np.where(columns == n - 1, 1e4, random.normal(0.0, 1.0, n)),
        "1 and -1 in turn": np.where(columns % 2, -1.0, 1.0),
        "very large": random.uniform(-1.0, 1.0, n) * LARGEST,
        "very small": random.uniform(-1.0, 1.0, n) / LARGEST,
    }


def _half_kinds(random: np.random.Generator, n: int) -> dict[str, Array]:
    """Rows whose sums need fp32; the elements are all numbers that fp16 can hold."""
    return {
        "2048, then ones": np.where(np.arange(n) == 0, 2048.0, 1.0),
        "sum beyond 65504": random.uniform(2000.0, 3000.0, n),
        "sum below -65504": random.uniform(-3000.0, -2000.0, n),
        "normal, sigma 1": random.normal(0.0, 1.0, n),
        "normal around +200": random.normal(200.0, 1.0, n),
    }


def cases(draw: Draw) -> list[Case]:
    """Lengths around a power of two; rows are value kinds; rows lie apart in most cases."""
    make = CaseMaker(KERNEL, draw, {"BLOCK_SIZE": 8}, sums)
    normal, sizes, gaps = make.normal, draw.case("sizes"), draw.case("gaps")
    block = int(sizes.choice([64, 128]))
    kinds = _kinds(draw.case("kinds"), int(sizes.integers(block - 15, block)))
    half = _half_kinds(draw.case("half"), block - int(sizes.integers(1, 15)))

    def case(name: str, proves: Proves, x: Array, **how: Any) -> Case:
        return whole_row(make, name, proves, x, equal_gaps(gaps), **how)

    dense = normal("dense", 2, block - 7)
    full, of_half = stacked(kinds)[:, : block // 2], stacked(half, np.float16)[:, : block // 2]
    long = draw.case("long").normal(0.0, 2.0, (1, int(sizes.integers(132_000, 160_000))))
    return [
        whole_row(make, "a full block", ("full-block", "traffic"), normal("full", 3, block), (0, 0)),
        case("seven short of a block", ("any-length", "traffic"), normal("tail", 2, block - 7)),
        case("just over half a block", "any-length", normal("short", 2, block // 2 + int(sizes.integers(1, 9)))),
        case("a single column", "any-length", normal("one", 2, 1)),
        case("many rows", "any-length", normal("many", int(sizes.integers(33, 40)), 5)),
        case("every kind of row", "values", stacked(kinds), kinds=(*kinds,)),
        case("a gap after each row", "strides", normal("strides", 3, block - 9)),
        whole_row(make, "a gap of a block", "strides", normal("gap", 4, block), (block, 0)),
        case("fp16", "half", stacked(half, np.float16), kinds=(*half,)),
        case("fp16, a single column", "half", normal("one", 1, 1).astype(np.float16), once=True),
        *make.far_cases(),
        *of_every_length(make, draw.case("lengths")),
        case("a long row", "any-length", long.astype(np.float32), once=True),
        case("fp16, a long row", "half", long[:, :1000].astype(np.float16), once=True),
        whole_row(make, "every kind of row, a full block", "values", full, (0, 0), once=True),
        whole_row(make, "seven short of a block, without gaps", "any-length", dense, (0, 0), once=True),
        whole_row(make, "fp16, a full block", "half", of_half, (0, 0), once=True),
        make.tall_case(),
        mostly_padding(make, -2.0, 2.0),
    ]


def expected(case: Case) -> Mapping[str, Expected]:
    """Return the sums of the rows, and what a right kernel in fp32 may differ by.

    An element is rounded once for each addition that it takes part in. Of a block, a thread of a GPU first adds up its
    own lanes, one in 128 or more, and threads then add in pairs; NumPy adds pairs of such runs too.
    """
    x = matrix(case)
    additions = 32 + rows.block_size(case) / THREADS
    return {"out_ptr": Expected(x.sum(axis=1), EPS32 * additions * np.abs(x).sum(axis=1))}


def budget(case: Case) -> Mapping[str, Budget]:
    """x is read once, a row at a time, and out is written once."""
    return {"x_ptr": reference.budget(passes=1)(case)["x_ptr"], "out_ptr": Budget(stores=rows.row_count(case))}


OF_ROWS = (
    *("wrong-row-map", "wrong-axis", "load-without-mask", "mask-off-by-one"),
    *("block-as-stride", "row-without-stride", "width-as-stride"),
)
AS_IN_THE_LESSON = np.array([[1, 2, 3, 10, 10], [4, 5, 6, 10, 10], [7, 8, 9, 10, 10]], np.float32)
ONES_AFTER_2048 = np.array([[2048] + [1] * 1000], np.float16)
QUESTIONS = (
    Question(
        "idle_lanes",
        "3 rows of 5 columns need BLOCK_SIZE = 8. How many lanes of all programs together are masked off when x is "
        "loaded?",
        sums(KERNEL, "rows of five", (), AS_IN_THE_LESSON, {"BLOCK_SIZE": 8}, (0, 0)),
        idle_lanes("x_ptr"),
        "Each of the 3 programs has 8 lanes for 5 columns, so lanes 5, 6 and 7 of each do nothing.",
        course=9,
    ),
    Question(
        "total",
        "A row of fp16 numbers begins with 2048, and 1000 ones follow. What does your kernel store as its sum?",
        sums(KERNEL, "fp16, 2048 and a thousand ones", (), ONES_AFTER_2048, {"BLOCK_SIZE": 1024}, (0, 0)),
        value("out_ptr", 0),
        "In fp32 every 1 counts; in fp16, which has only even numbers from 2048 to 4096, 2048 + 1 is rounded back to "
        "2048.",
    ),
)

PUZZLE = Puzzle(
    id="w2",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    expected=expected,
    budget=budget,
    spaces=spaces(KERNEL, whole=True, largest=LARGEST, launcher=sums),
    large_cases=large_cases(KERNEL, block_of, sums),
    pictured=pictured(KERNEL, "four rows", (4, 64), {"BLOCK_SIZE": 64}, sums),
    misconceptions=(*SUMS, *rows.worded(chosen(rows.ADDRESSING, *OF_ROWS), rows.SUM_OF_A_ROW)),
    questions=QUESTIONS,
)
