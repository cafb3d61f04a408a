"""Long rows: p3's softmax, each row split over programs that wait for each other.

Not a puzzle: it has no lesson and no grade, only tuned versions in `solutions/tuned/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from checker.catalog.p3_online_softmax import KERNEL as ONLINE
from checker.catalog.softmax.cases import CaseMaker
from checker.catalog.softmax.launch import Proves, launch
from checker.catalog.softmax.puzzle import puzzle
from checker.catalog.softmax.reference import budget
from checker.catalog.softmax.timing import LONG_ROWS, rows_timed
from checker.course.case import Array, Axis, AxisKind, Case, Role, Tensor, blank
from checker.course.kernel import Kernel, kernel_of
from checker.course.puzzle import Draw, Property, Timed, Tuning

KERNEL = kernel_of(
    "long_rows_kernel",
    "x_ptr y_ptr words_ptr ticket_ptr x_row_stride y_row_stride n_cols n_parts",
    constexprs="BLOCK_SIZE SLOTS",
    atomics=True,
)

PROPERTIES = (
    Property("values", "rows of every kind of value", 20),
    Property("any-length", "rows of any length", 20),
    Property("strides", "rows that lie apart in memory, x and y differently", 10),
    Property("half", "half precision in and out, fp32 inside", 10),
    Property("far-rows", "row offsets beyond 2**31", 5),
    Property("prefix", "rows that begin with a block of -inf", 10),
    Property("again", "launches in a row, with nothing reset between them", 10),
    Property("traffic", "reads x once, writes y once", 15, traffic=True),
)

LENGTHS = (32768, 131072, 524288, 1 << 20)  # that are timed, in fp32 and bf16
# With at most 80 registers a core of an H100 holds six programs with blocks of 8192 in place of four; what the compiler
# spills for it changes with every detail of a kernel. Shorter blocks need fewer registers, and make more words.
TUNINGS = (
    Tuning({"BLOCK_SIZE": 4096}, 4),
    Tuning({"BLOCK_SIZE": 8192}, 4),
    Tuning({"BLOCK_SIZE": 8192}, 4, maxnreg=80),
    Tuning({"BLOCK_SIZE": 16384}, 16),
)


def split(kernel: Kernel, name: str, proves: Proves, x: Array, blocks: Mapping[str, int], **how: Any) -> Case:
    """Return a launch with a program for each block of each row; as many run at a time as one row has.

    Each program has a 64-bit word, and all together one ticket counter: 0 before the first launch, and never reset.
    """
    case = launch(kernel, name, proves, x, blocks, **how)
    count, n = x.shape
    parts = -(-n // blocks["BLOCK_SIZE"])
    words = Tensor(blank((count * parts,), np.int64), (1,), Role.SCRATCH, (Axis(AxisKind.WORD),))
    ticket = Tensor(blank((1,), np.int64), (1,), Role.SCRATCH, (Axis(AxisKind.COUNTER),))
    return replace(
        case,
        grid=(count * parts,),
        tensors={**case.tensors, "words_ptr": words, "ticket_ptr": ticket},
        scalars={**case.scalars, "n_parts": parts},
        constexprs={**blocks, "SLOTS": 1 << (parts - 1).bit_length()},
        resident=parts,
    )


def cases(draw: Draw) -> list[Case]:
    """As for p3, but for a launch of a few of many programs: who has a ticket has no place of its own."""
    make = CaseMaker(KERNEL, draw, {"BLOCK_SIZE": int(draw.case("sizes").choice([16, 32]))}, split)
    of_rows = [case for case in make.safe_cases() if not case.programs]
    again = make.launch("four launches in a row", "again", make.normal("again", 3, 3 * make.width + 1), (8, 8))
    return [*of_rows, *make.empty_blocks(), make.long_sum_case(), replace(again, in_a_row=4)]


def timed(free: int) -> list[Timed]:
    """Rows of each length in fp32 and in bf16; nobody asks for less than all of them."""
    tunings = dict.fromkeys(LENGTHS, TUNINGS)
    launched = partial(rows_timed, KERNEL, tunings, free, LENGTHS, launcher=split)
    return [*launched(), *launched(bf16=True)]


def of_puzzle_3(free: int) -> list[Timed]:
    """Return the same sizes for p3's kernel, which is the baseline: a program for each row, x read twice."""
    tunings = dict.fromkeys(LENGTHS, LONG_ROWS[131072])
    launched = partial(rows_timed, ONLINE, tunings, free, LENGTHS, own_limit=2 / 3)
    return [*launched(), *launched(bf16=True)]


def largest_block(case: Case) -> int:
    """Return a block of a row, or the words of a whole row."""
    return max(int(case.constexprs["BLOCK_SIZE"]), int(case.constexprs["SLOTS"]))


PUZZLE = puzzle(
    id="s3",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    budget=budget(passes=1),
    largest_block=largest_block,
    timed=timed,
)
