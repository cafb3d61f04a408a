"""Mistakes in addressing rows, for kernels whose programs own one row of x and y each.

Such a kernel walks its row in blocks of BLOCK_SIZE columns (one block is enough if the row fits).
Each mistake is known by the elements that the first refused access covers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from checker.puzzle import Case, Misconception, Reach

Offset = Callable[[Case, int], int]  # where a kernel believes its program's row to begin
Mask = Literal["right", "none", "one too many"]


def stride(name: str) -> Offset:
    """A row's beginning, with the stride of this parameter."""
    return lambda case, program: program * int(case.scalars[name])


X, Y = stride("x_row_stride"), stride("y_row_stride")


def reach(store: bool, offset: Offset, mask: Mask = "right") -> Callable[[Case, int], tuple[Reach, ...]]:
    """What the accesses of a kernel cover, block after block, with its idea of offset and mask."""

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        n, block = columns(case), block_size(case)
        start = offset(case, program)
        end = {"right": n, "one too many": n + 1, "none": n + block}[mask]
        covered = ((first, min(first + block, end)) for first in range(0, n, block))
        return tuple(Reach(store, "y_ptr" if store else "x_ptr", start + a, start + b - 1) for a, b in covered)

    return of


def both(offset: Offset) -> Callable[[Case, int], tuple[Reach, ...]]:
    """The load of x and the store of y, both at the same wrong offset."""
    load, store = reach(False, offset), reach(True, offset)
    return lambda case, program: (*load(case, program), *store(case, program))


def columns(case: Case) -> int:
    """Length of a row."""
    return int(case.scalars["n_cols"])


def block_size(case: Case) -> int:
    """Columns that one access covers."""
    return int(case.constexprs["BLOCK_SIZE"])


def _down_a_column(case: Case, program: int) -> tuple[Reach, ...]:
    if columns(case) == 1:
        return ()  # a column of one element is any element
    last = (min(columns(case), block_size(case)) - 1) * int(case.scalars["x_row_stride"])
    return (Reach(False, "x_ptr", program, program + last),)


ADDRESSING = (
    Misconception(
        "wrong-row-map",
        "A program reads a row that is not its own",
        "The program's loads begin one row further down than its own row, so the last program leaves x.",
        "Program p owns row p: rows count from 0, as tl.program_id(0) does.",
        reach=reach(False, lambda case, program: X(case, program + 1)),
    ),
    Misconception(
        "wrong-axis",
        "A program reads a column of x instead of a row",
        "Neighbours in a row are 1 element apart; x_row_stride leads to the next row.",
        "Address the row with x_ptr + row * x_row_stride + cols.",
        reach=_down_a_column,
    ),
    Misconception(
        "load-without-mask",
        "The load has no mask",
        "A block of BLOCK_SIZE lanes is longer than what is left of the row, and the load reads all of them: what "
        "lies behind the row belongs to somebody else.",
        "Only lanes with cols < n_cols are yours: tl.load(..., mask=cols < n_cols, other=-float('inf')).",
        reach=reach(False, X, mask="none"),
    ),
    Misconception(
        "store-without-mask",
        "The store has no mask",
        "The store writes all BLOCK_SIZE lanes of the block, also those behind the end of the row.",
        "Store with the same mask as you load: tl.store(..., mask=cols < n_cols).",
        reach=reach(True, Y, mask="none"),
    ),
    Misconception(
        "mask-off-by-one",
        "The mask lets one lane too many through",
        "The access covers columns 0 to n_cols, but the last column of a row is n_cols - 1.",
        "Columns count from 0: the mask is cols < n_cols, not <=.",
        reach=lambda case, program: (
            *reach(False, X, mask="one too many")(case, program),
            *reach(True, Y, mask="one too many")(case, program),
        ),
    ),
    Misconception(
        "y-with-x-stride",
        "y is addressed with x's row stride",
        "x and y are laid out separately: the next row of y begins y_row_stride elements further on.",
        "Use y_ptr + row * y_row_stride + cols in the store.",
        reach=reach(True, X),
    ),
    Misconception(
        "x-with-y-stride",
        "x is addressed with y's row stride",
        "x and y are laid out separately: the next row of x begins x_row_stride elements further on.",
        "Use x_ptr + row * x_row_stride + cols in the load.",
        reach=reach(False, Y),
    ),
    Misconception(
        "block-as-stride",
        "BLOCK_SIZE is used as the distance between rows",
        "The kernel steps BLOCK_SIZE elements to the next row, as one does in a vector that is cut into blocks. "
        "Here the rows of a matrix are x_row_stride and y_row_stride elements apart.",
        "Use row * x_row_stride for x and row * y_row_stride for y.",
        reach=both(lambda case, program: program * block_size(case)),
    ),
    Misconception(
        "row-without-stride",
        "The row number is added to the pointer as it is",
        "x_ptr + row is the element number `row`, not the beginning of that row.",
        "Multiply by the distance between rows: row * x_row_stride for x, row * y_row_stride for y.",
        reach=both(lambda case, program: program),
    ),
    Misconception(
        "width-as-stride",
        "Rows are assumed to follow each other without a gap",
        "The kernel steps n_cols elements to the next row. A tensor may be padded or be a slice of a "
        "larger one, so the distance between rows is its stride, not its width.",
        "Use row * x_row_stride for x and row * y_row_stride for y.",
        reach=both(lambda case, program: program * columns(case)),
    ),
)
