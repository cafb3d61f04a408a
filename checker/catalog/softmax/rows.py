"""Mistakes in addressing rows: for kernels that own rows of x and y and walk them in blocks of columns.

A program owns one row, or BLOCK_ROWS of them. Each mistake is known by the elements that the first
refused access covers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from checker.course.case import Array, Case, Role
from checker.course.misconception import Misconception, Reach, Reaches, Unwritten

# How a kernel writes down which rows and columns are its own: what stands in braces in texts on rows.
ONE_ROW = {
    "block": "BLOCK_SIZE",
    "axis": "0",
    "rows": "row",
    "x": "x_ptr + row * x_row_stride + cols",
    "y": "y_ptr + row * y_row_stride + cols",
    "x_in_loop": "x_ptr + row * x_row_stride + start + cols",
    "y_in_loop": "y_ptr + row * y_row_stride + start + cols",
    "mask": "cols < n_cols",
    "mask_in_loop": "mask=cols < n_cols, or in a loop mask=start + cols < n_cols",
    "own": "row p: rows count from 0, as tl.program_id(0) does.",
    "is_own": "Is the row tl.program_id(0), and is it",
    "neighbours": "row is the element number `row`, not the beginning of that row",
    "output": "y",
    "apart": "x_row_stride and y_row_stride",
    "offsets": "row * x_row_stride for x and row * y_row_stride for y",
}
SUM_OF_A_ROW = {
    **ONE_ROW,
    "y": "out_ptr + row",
    "mask_in_loop": "mask=cols < n_cols",
    "output": "out",
    "apart": "x_row_stride",
    "offsets": "row * x_row_stride",
}
TILE_OF_ROWS = {
    "block": "BLOCK_COLS",
    "axis": "1",
    "rows": "rows[:, None]",
    "x": "x_ptr + rows[:, None] * x_row_stride + start + cols[None, :]",
    "y": "y_ptr + rows[:, None] * y_row_stride + start + cols[None, :]",
    "x_in_loop": "x_ptr + rows[:, None] * x_row_stride + start + cols[None, :]",
    "y_in_loop": "y_ptr + rows[:, None] * y_row_stride + start + cols[None, :]",
    "mask": "(start + cols < n_cols)[None, :]",
    "mask_in_loop": "(start + cols < n_cols)[None, :]",
    "own": "BLOCK_ROWS rows from p * BLOCK_ROWS on.",
    "is_own": "Do the rows begin at tl.program_id(0) * BLOCK_ROWS, and are they",
    "neighbours": "rows are neighbours in the first row, not the beginnings of these rows",
    "output": "y",
    "apart": "x_row_stride and y_row_stride",
    "offsets": "rows[:, None] * x_row_stride for x and rows[:, None] * y_row_stride for y",
}


def worded(misconceptions: Iterable[Misconception], notation: Mapping[str, str]) -> tuple[Misconception, ...]:
    """Misconceptions about rows in the notation of a kernel."""
    return tuple(
        replace(
            m,
            title=m.title.format_map(notation),
            explanation=m.explanation.format_map(notation),
            hint=m.hint.format_map(notation),
        )
        for m in misconceptions
    )


Stride = Callable[[Case], int]  # how far apart a kernel believes rows to be
Mask = Literal["right", "none", "one too many"]


def stride(name: str) -> Stride:
    """The stride in this parameter; 0 if the kernel has no such parameter."""
    return lambda case: int(case.scalars.get(name, 0))


X, Y = stride("x_row_stride"), stride("y_row_stride")


def reach(
    store: bool, stride: Stride, columns_mask: Mask = "right", rows_mask: Mask = "right", first_row: int = 0
) -> Reaches:
    """What the accesses of a kernel cover, block after block, with its idea of strides and masks."""

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        n, block = columns(case), block_size(case)
        count, owned = row_count(case), rows_owned(case)
        first = program * owned + first_row
        last = min(
            first + owned, {"right": count + first_row, "one too many": count + 1, "none": first + owned}[rows_mask]
        )
        end = {"right": n, "one too many": n + 1, "none": n + block}[columns_mask]
        return tuple(
            Reach(
                store,
                "y_ptr" if store else "x_ptr",
                first * stride(case) + column,
                (last - 1) * stride(case) + min(column + block, end) - 1,
            )
            for column in range(0, n, block)
        )

    return Reaches(of)


def both(x: Stride, y: Stride, columns_mask: Mask = "right", rows_mask: Mask = "right") -> tuple[Reaches, Reaches]:
    """The load of x and the store of y, with the same mistake."""
    return reach(False, x, columns_mask, rows_mask), reach(True, y, columns_mask, rows_mask)


def columns(case: Case) -> int:
    """Length of a row."""
    return int(case.scalars["n_cols"])


def row_count(case: Case) -> int:
    """Number of rows."""
    return int(case.tensors["x_ptr"].values.shape[0])


def block_size(case: Case) -> int:
    """Columns that one access covers."""
    return int(case.constexprs.get("BLOCK_COLS", 0) or case.constexprs["BLOCK_SIZE"])


def rows_owned(case: Case) -> int:
    """Rows of one program."""
    return int(case.constexprs.get("BLOCK_ROWS", 1))


def _down_columns(case: Case, program: int) -> tuple[Reach, ...]:
    if columns(case) == 1:
        return ()  # a column of one element is any element
    first = program * rows_owned(case)
    last = min(first + rows_owned(case), row_count(case)) - 1
    return (Reach(False, "x_ptr", first, last + (min(columns(case), block_size(case)) - 1) * X(case)),)


def _all_but_first_rows(case: Case) -> dict[str, Array]:
    """All rows but those of program 0, of an output with a row or a number for each row of x."""
    [(name, output)] = ((name, tensor) for name, tensor in case.tensors.items() if tensor.role is Role.OUTPUT)
    rows = np.arange(row_count(case)).reshape(-1, *(1,) * (output.values.ndim - 1)) >= rows_owned(case)
    return {name: np.broadcast_to(rows, output.values.shape)}


def _all_but_row_0(case: Case) -> dict[str, Array]:
    rows = np.arange(row_count(case))[:, None] > 0
    return {"y_ptr": np.broadcast_to(rows, case.tensors["y_ptr"].values.shape)}


ADDRESSING = (
    Misconception(
        "only-first-row",
        "Only row 0 of y is written",
        "In all other programs the mask of the store is false everywhere. That happens when it compares "
        "offsets into the whole matrix, which grow from row to row, with the length of one row.",
        "The mask compares columns: {mask}. Add the row's offset to the pointer only.",
        signs=(Unwritten(_all_but_row_0),),
    ),
    Misconception(
        "wrong-row-map",
        "All programs write to the rows of program 0",
        "The addresses of the store are the same in every program: each overwrites what another one has written, in "
        "any order, and the other rows of {output} are left out.",
        "{is_own} in the store's addresses? {y}.",
        signs=(Unwritten(_all_but_first_rows, shared=True),),
    ),
    Misconception(
        "wrong-row-map",
        "A program reads a row that is not its own",
        "The program's loads begin one row further down than its own row, so the last program leaves x.",
        "Program p owns {own}",
        signs=(reach(False, X, first_row=1),),
    ),
    Misconception(
        "wrong-axis",
        "A program reads a column of x instead of a row",
        "Neighbours in a row are 1 element apart; x_row_stride leads to the next row.",
        "Address the row with {x}.",
        signs=(Reaches(_down_columns),),
    ),
    Misconception(
        "load-without-mask",
        "The load has no mask, or one that does not end with the row",
        "A block has more lanes than what is left of the row, and the load reads all of them: what "
        "lies past the end of the row belongs to somebody else.",
        "Only columns below n_cols are yours, counted from the beginning of the row: {mask_in_loop}.",
        signs=(reach(False, X, columns_mask="none"),),
    ),
    Misconception(
        "store-without-mask",
        "The store has no mask, or one that does not end with the row",
        "The store writes all lanes of the block, also those past the end of the row.",
        "Store with the same mask as you load.",
        signs=(reach(True, Y, columns_mask="none"),),
    ),
    Misconception(
        "mask-off-by-one",
        "The mask lets one lane too many through",
        "The access covers columns 0 to n_cols, but the last column of a row is n_cols - 1.",
        "Columns count from 0: compare with <, not with <=.",
        signs=both(X, Y, columns_mask="one too many"),
    ),
    Misconception(
        "y-with-x-stride",
        "y is addressed with x's row stride",
        "x and y are laid out separately: the next row of y begins y_row_stride elements further on.",
        "Use {y} in the store.",
        signs=(reach(True, X),),
    ),
    Misconception(
        "x-with-y-stride",
        "x is addressed with y's row stride",
        "x and y are laid out separately: the next row of x begins x_row_stride elements further on.",
        "Use {x} in the load.",
        signs=(reach(False, Y),),
    ),
    Misconception(
        "block-as-stride",
        "{block} is used as the distance between rows",
        "The kernel steps {block} elements to the next row, as one does in a vector that is cut into blocks. "
        "Here the rows of a matrix are {apart} elements apart.",
        "Use {offsets}.",
        signs=both(block_size, block_size),
    ),
    Misconception(
        "row-without-stride",
        "The row number is added to the pointer as it is",
        "x_ptr + {neighbours}.",
        "Multiply by the distance between rows: {offsets}.",
        signs=both(lambda case: 1, lambda case: 1),
    ),
    Misconception(
        "width-as-stride",
        "Rows are assumed to follow each other without a gap",
        "The kernel steps n_cols elements to the next row. A tensor may be padded or be a slice of a "
        "larger one, so the distance between rows is its stride, not its width.",
        "Use {offsets}.",
        signs=both(columns, columns),
    ),
    Misconception(
        "rows-without-mask",
        "The mask lets rows past the last one through",
        "The last program owns fewer rows than BLOCK_ROWS, because the number of rows is no multiple of it. Its "
        "tile reaches beyond the last row.",
        "A lane is yours if its row and its column exist: (rows < n_rows)[:, None] & (start + cols < n_cols)[None, :].",
        signs=both(X, Y, rows_mask="none"),
    ),
    Misconception(
        "rows-mask-off-by-one",
        "The mask lets one row too many through",
        "The last row is n_rows - 1, because rows count from 0.",
        "The mask is rows < n_rows, not <=.",
        signs=both(X, Y, rows_mask="one too many"),
    ),
)
