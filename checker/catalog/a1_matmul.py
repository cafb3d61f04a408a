"""Puzzle a1: C = A Bᵀ, a program per tile of C, which walks along k."""

from __future__ import annotations

import numpy as np

from checker.catalog.matmul.cases import CaseMaker, large_cases, pictured
from checker.catalog.matmul.launch import Shape, launch, spaces
from checker.catalog.matmul.mistakes import PRODUCTS
from checker.catalog.matmul.reference import WHY_BLOCKS, budget, by_hand, expected, largest_tile, work
from checker.catalog.matmul.tiles import ADDRESSING
from checker.catalog.matmul.timing import products_timed
from checker.course.case import Case
from checker.course.kernel import kernel_of
from checker.course.puzzle import Draw, Property, Puzzle, Tuning
from checker.course.question import Question, multiply_adds, reads

KERNEL = kernel_of(
    "matmul_kernel", "a_ptr b_ptr c_ptr a_row_stride b_row_stride c_row_stride m n k", constexprs="Bm Bn Bk"
)

PROPERTIES = (
    Property("values", "rows of every kind of value", 20),
    Property("any-size", "any m and n, any tile", 20),
    Property("any-k", "any k: the mask along k", 15),
    Property("strides", "rows that lie apart in memory, in each matrix differently", 10),
    Property("half", "half precision in and out, fp32 inside", 10),
    Property("far-rows", "row offsets beyond 2**31", 5),
    Property("traffic", "reads A and B once for each tile of C across and down, writes C once", 20, traffic=True),
)


def cases(draw: Draw) -> list[Case]:
    """Up to three tiles a side, square and not; tails along m, n and k; of real size."""
    make = CaseMaker(KERNEL, draw, draw.case("sizes"))
    normal, hard, some = make.normal, make.hard, make.some
    made = [
        normal("two by two tiles, two steps", ("any-size", "traffic"), Shape(32, 32, 32)),
        normal("a tail along k", "any-k", Shape(16, 32, 32 + some())),
        normal("tails along m and n", ("any-size", "traffic"), Shape(16 + some(), 32 + some(), 48, Bn=32)),
        normal("tails everywhere", ("any-k", "traffic"), Shape(32 + some(), 16 + some(), 32 + some(), 32, 16, 16)),
        hard("every kind of row", ("values", "traffic"), Shape(40, 16 + some(), 32 + some(), Bn=32), np.float32, 1e4),
        normal("smaller than a tile", "any-size", Shape(some(), some(), some())),
        normal("more columns than rows", "any-size", Shape(some(), 48 + some(), 20)),
        normal("three strides", "strides", Shape(20 + some(), 20, 16 + some())),
        hard("fp16", "half", Shape(40, 18, 32 + some()), np.float16, 30.0),
        normal("a single entry", "any-size", Shape(1, 1, 1)),
        *make.far_cases(),
        make.long_sum(),
        *make.many_tiles(),
        *make.of_real_size(),
        *make.of_every_class(),
        *make.plain_cases(),
    ]
    return [*made, *make.of_every_order(made)]


TUNINGS = tuple(
    Tuning({"Bm": Bm, "Bn": Bn, "Bk": Bk}, warps, stages)
    for Bm, Bn, Bk, warps, stages in (
        (128, 128, 32, 4, 4),
        (128, 128, 64, 4, 3),
        (128, 128, 64, 8, 3),
        (128, 256, 64, 8, 3),
        (128, 256, 64, 8, 4),
        (256, 128, 64, 8, 3),
    )
)

A, B = (np.random.default_rng(0).normal(size=(rows, 40)).astype(np.float32) for rows in (48, 32))
OF_THE_LESSON = launch(KERNEL, "three by two tiles", (), Shape(m=48, n=32, k=40), A, B)
QUESTIONS = (
    Question(
        "a_reads",
        "With m = 48, n = 32, k = 40, and 16 for Bm, Bn and Bk, how often is each element of A read?",
        OF_THE_LESSON,
        reads("a_ptr"),
        "C has 2 tiles side by side, and each of their programs reads the whole strip of A.",
    ),
    Question(
        "b_reads",
        "With m = 48, n = 32, k = 40, and 16 for Bm, Bn and Bk, how often is each element of B read?",
        OF_THE_LESSON,
        reads("b_ptr"),
        "C has 3 tiles one below the other, and each of their programs reads the whole strip of B.",
    ),
    Question(
        "multiply_adds",
        "With m = 48, n = 32, k = 40, and 16 for Bm, Bn and Bk, how many multiply-adds does tl.dot make? The product "
        "needs 48 · 32 · 40 = 61,440.",
        OF_THE_LESSON,
        multiply_adds,
        "6 programs make 3 products of 16 · 16 · 16 each, and half of every third one is zeros past the end of k.",
        course=73728,
    ),
)

PUZZLE = Puzzle(
    id="a1",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    expected=expected,
    budget=budget,
    spaces=spaces(KERNEL),
    large_cases=lambda draw: large_cases(KERNEL, draw),
    work=work,
    by_hand=by_hand,
    largest_block=largest_tile,
    timed=lambda _: products_timed(KERNEL, TUNINGS),
    pictured=pictured(KERNEL),
    why_blocks=WHY_BLOCKS,
    misconceptions=(*PRODUCTS, *ADDRESSING),
    questions=QUESTIONS,
)
