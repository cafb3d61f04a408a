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
    "mask_in_loop": "mask=start + cols < n_cols",
    "own": "row p: rows count from 0, as tl.program_id(0) does.",
    "is_own": "Is the row tl.program_id(0), and is it",
    "neighbours": "row is the element number `row`, not the beginning of that row",
    "output": "y",
    "apart": "x_row_stride and y_row_stride",
    "offsets": "row * x_row_stride for x and row * y_row_stride for y",
}
IN_ONE_BLOCK = {**ONE_ROW, "mask_in_loop": "mask=cols < n_cols"}
SUM_OF_A_ROW = {
    **IN_ONE_BLOCK,
    "y": "out_ptr + row",
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
            question=m.question.format_map(notation),
        )
        for m in misconceptions
    )


Stride = Callable[[Case], int]  # how far apart a kernel believes rows to be
Mask = Literal["right", "none", "one too many", "end of the other"]


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
        ends = {"right": count + first_row, "one too many": count + 1, "none": first + owned, "end of the other": n}
        last = min(first + owned, ends[rows_mask])
        end = {"right": n, "one too many": n + 1, "none": n + block, "end of the other": count}[columns_mask]
        if first >= last:
            return ()
        return tuple(
            Reach(
                store,
                "y_ptr" if store else "x_ptr",
                first * stride(case) + column,
                (last - 1) * stride(case) + min(column + block, end) - 1,
            )
            for column in range(0, min(n, end), block)
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
        "In all other programs the mask of the store is false everywhere. That happens when it compares offsets into "
        "the whole matrix with the length of one row: if rows of 10 columns are 16 elements apart, row 1 begins at "
        "offset 16, and 16 is not below 10.",
        "The mask compares columns: {mask_in_loop}. Add the row's offset to the pointer only.",
        question="Rows have 10 columns and are 16 elements apart. Which numbers does the mask of your store compare "
        "with n_cols in row 1, and which columns do they stand for?",
        signs=(Unwritten(_all_but_row_0),),
    ),
    Misconception(
        "wrong-row-map",
        "All programs write to the rows of program 0",
        "The addresses of the store are the same in every program. Each program overwrites what another one has "
        "written, in any order, and the other rows of {output} are left out.",
        "{is_own} in the store's addresses? {y}.",
        question="To which element of {output} does program 0 store first, and to which does program 3? Which part of "
        "your address makes them differ?",
        signs=(Unwritten(_all_but_first_rows, shared=True),),
    ),
    Misconception(
        "wrong-row-map",
        "A program reads a row that is not its own",
        "The program's loads begin one row further down than its own row. Nobody reads row 0, and the last program "
        "asks for a row that x does not have.",
        "Program p owns {own} Its loads begin at {x}.",
        question="Rows count from 0. Put 0 for the number of the program into the address of your load: which row is "
        "it?",
        signs=(reach(False, X, first_row=1),),
    ),
    Misconception(
        "wrong-axis",
        "A program reads a column of x instead of a row",
        "Neighbours in a row are 1 element apart, and x_row_stride leads to the next row. Here the columns are "
        "multiplied by x_row_stride, so each lane is in another row than the lane before it.",
        "Address the row with {x}.",
        question="If x_row_stride = 16, how far apart are lanes 0 and 1 of your load? How far apart are two "
        "neighbours in a row of x?",
        signs=(Reaches(_down_columns),),
    ),
    Misconception(
        "load-without-mask",
        "The load has no mask, or one that does not end with the row",
        "A block has more lanes than what is left of the row, and the load reads all of them. What lies past the end "
        "of the row belongs to somebody else: of a row of 10 in a block of 16, the six lanes from column 10 on.",
        "Only columns below n_cols are yours, counted from the beginning of the row: {mask_in_loop}.",
        question="Which columns does the last block of a row of 10 ask for? For which of them must the mask be false, "
        "and for which of them is yours?",
        signs=(reach(False, X, columns_mask="none"),),
    ),
    Misconception(
        "store-without-mask",
        "The store has no mask, or one that does not end with the row",
        "The store writes all lanes of the block, also those past the end of the row: of a row of 10 in a block of "
        "16, six too many. They lie in the gap after the row, or in the next one, which another program writes.",
        "Store with the same mask as you load: {mask_in_loop}.",
        question="With rows of 10 columns and {block} = 16, which lanes of your store lie past the row? What keeps "
        "such lanes out of your load, and does the store have it?",
        signs=(reach(True, Y, columns_mask="none"),),
    ),
    Misconception(
        "mask-off-by-one",
        "The mask lets one lane too many through",
        "The access covers columns 0 to n_cols, but the last column of a row is n_cols - 1. Of a row of 10, column 10 "
        "is one too many.",
        "Columns count from 0: compare with <, not with <=: {mask_in_loop}.",
        question="With n_cols = 10, how many columns from 0 on does your comparison let through?",
        signs=both(X, Y, columns_mask="one too many"),
    ),
    Misconception(
        "y-with-x-stride",
        "y is addressed with x's row stride",
        "x and y are laid out separately. If rows are 16 elements apart in x and 12 in y, row 1 of y begins at "
        "element 12, and this kernel writes it from element 16 on.",
        "Use {y} in the store.",
        question="Rows of x are 16 elements apart, and rows of y 12. At which element does row 2 of y begin, and "
        "where does your store begin it?",
        signs=(reach(True, X),),
    ),
    Misconception(
        "x-with-y-stride",
        "x is addressed with y's row stride",
        "x and y are laid out separately. If rows are 16 elements apart in x and 12 in y, row 1 of x begins at "
        "element 16, and this kernel reads it from element 12 on.",
        "Use {x} in the load.",
        question="Rows of x are 16 elements apart, and rows of y 12. At which element does row 2 of x begin, and "
        "where does your load begin it?",
        signs=(reach(False, Y),),
    ),
    Misconception(
        "block-as-stride",
        "{block} is used as the distance between rows",
        "The kernel steps {block} elements to the next row, as one does in a vector that is cut into blocks. Here the "
        "rows of a matrix are {apart} elements apart: if that is 20 and the block has 16, row 1 begins at element 20, "
        "not 16.",
        "Use {offsets}.",
        question="With {block} = 16 and rows that are 20 elements apart, at which element does row 3 begin, and where "
        "does your kernel begin it?",
        signs=both(block_size, block_size),
    ),
    Misconception(
        "row-without-stride",
        "The row number is added to the pointer as it is",
        "x_ptr + {neighbours}. If rows are 16 elements apart, row 2 begins at element 32, and element 2 is column 2 "
        "of row 0.",
        "Multiply by the distance between rows: {offsets}.",
        question="Rows of x are 16 elements apart. At which element does row 3 begin, and in which row and column "
        "does element 3 lie?",
        signs=both(lambda case: 1, lambda case: 1),
    ),
    Misconception(
        "width-as-stride",
        "Rows are assumed to follow each other without a gap",
        "The kernel steps n_cols elements to the next row. A tensor may be padded or be a slice of a larger one: the "
        "rows of wide[:, :10] are 16 elements apart if wide has 16 columns.",
        "Use {offsets}.",
        question="x is the first 10 columns of a tensor that has 16. At which element does row 2 of x begin, and "
        "which parameter knows that?",
        signs=both(columns, columns),
    ),
    Misconception(
        "rows-without-mask",
        "The mask lets rows past the last one through",
        "The last program owns fewer rows than BLOCK_ROWS, because the number of rows is not a multiple of it. With "
        "11 rows in tiles of 4, program 2 has rows 8 to 11, and row 11 does not exist.",
        "A lane is yours if its row and its column exist: (rows < n_rows)[:, None] & (start + cols < n_cols)[None, :].",
        question="With 11 rows in tiles of 4, which rows does the tile of program 2 have? What does your mask say of "
        "a lane in row 11 and column 0?",
        signs=both(X, Y, rows_mask="none"),
    ),
    Misconception(
        "limits-swapped",
        "Rows are compared with n_cols and columns with n_rows",
        "With 11 rows of 20 columns, this mask lets row 11 through, which does not exist, and leaves out columns 11 to "
        "19. With more rows than columns it is the other way round.",
        "A lane is yours if its row and its column exist: (rows < n_rows)[:, None] & (start + cols < n_cols)[None, :].",
        question="A matrix has 11 rows and 20 columns. With which of the two numbers does your mask compare rows, and "
        "with which does it compare columns?",
        signs=both(X, Y, columns_mask="end of the other", rows_mask="end of the other"),
    ),
    Misconception(
        "rows-mask-off-by-one",
        "The mask lets one row too many through",
        "The last row is n_rows - 1, because rows count from 0. Of 11 rows, row 11 is one too many, and this mask "
        "lets it through.",
        "The mask is (rows < n_rows)[:, None] & (start + cols < n_cols)[None, :], with < and not <=.",
        question="Of 11 rows, which is the last one? How many rows from 0 on does your comparison let through?",
        signs=both(X, Y, rows_mask="one too many"),
    ),
)
