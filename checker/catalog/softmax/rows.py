"""Mistakes in addressing rows: for kernels that own rows of x and y and walk them in blocks of columns.

A program owns one row, or BLOCK_ROWS of them. Each mistake is known by the elements that the first
refused access covers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from typing import Literal

import numpy as np

from checker.course.case import Array, Case, Role
from checker.course.misconception import Ideas, Misconception, Reach, Reaches, Unwritten
from checker.course.words import Words

idea = Ideas(__file__)

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
    texts = ((m, Words(m.title, m.explanation, m.hint, m.question)) for m in misconceptions)
    return tuple(replace(m, **asdict(words.filled(notation))) for m, words in texts)


Stride = Callable[[Case], int]  # how far apart a kernel believes rows to be
Mask = Literal["right", "none", "one too many", "end of the other"]


def stride(name: str) -> Stride:
    """Return the stride in this parameter; 0 if the kernel has no such parameter."""
    return lambda case: int(case.scalars.get(name, 0))


X, Y = stride("x_row_stride"), stride("y_row_stride")


def reach(
    store: bool, stride: Stride, columns_mask: Mask = "right", rows_mask: Mask = "right", first_row: int = 0
) -> Reaches:
    """Return what the accesses of a kernel cover, block after block, with its idea of strides and masks."""

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        n, block = columns(case), block_size(case)
        count, owned = row_count(case), rows_owned(case)
        first = program * owned + first_row
        ends = {"right": count + first_row, "one too many": count + 1, "none": first + owned, "end of the other": n}
        last = min(first + owned, ends[rows_mask])
        end = {"right": n, "one too many": n + 1, "none": n + block, "end of the other": count}[columns_mask]
        if first >= last or (first_row and last - first < 2 <= owned):
            return ()  # a single row below one's own may be any row past the end
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
    """Return the load of x and the store of y, with the same mistake."""
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
    """Return all rows but those of program 0, of an output with a row or a number for each row of x."""
    [(name, output)] = ((name, tensor) for name, tensor in case.tensors.items() if tensor.role is Role.OUTPUT)
    rows = np.arange(row_count(case)).reshape(-1, *(1,) * (output.values.ndim - 1)) >= rows_owned(case)
    return {name: np.broadcast_to(rows, output.values.shape)}


def _all_but_row_0(case: Case) -> dict[str, Array]:
    rows = np.arange(row_count(case))[:, None] > 0
    return {"y_ptr": np.broadcast_to(rows, case.tensors["y_ptr"].values.shape)}


def _row_by_row(store: bool, stride: Stride) -> Reaches:
    """Rows past the last one, each by an access of its own."""

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        n, block, owned, name = columns(case), block_size(case), rows_owned(case), "y_ptr" if store else "x_ptr"
        return tuple(
            Reach(store, name, row * stride(case) + column, row * stride(case) + min(column + block, n) - 1)
            for row in range(row_count(case), program * owned + owned)
            for column in range(0, n, block)
        )

    return Reaches(of)


ADDRESSING = (
    idea("only-first-row", Unwritten(_all_but_row_0)),
    idea("wrong-row-map", Unwritten(_all_but_first_rows, shared=True)),
    idea("wrong-row-map/loads", reach(False, X, first_row=1)),
    idea("wrong-axis", Reaches(_down_columns)),
    idea("load-without-mask", reach(False, X, columns_mask="none")),
    idea("store-without-mask", reach(True, Y, columns_mask="none")),
    idea("mask-off-by-one", *both(X, Y, columns_mask="one too many")),
    idea("y-with-x-stride", reach(True, X)),
    idea("x-with-y-stride", reach(False, Y)),
    idea("block-as-stride", *both(block_size, block_size)),
    idea("row-without-stride", *both(lambda case: 1, lambda case: 1)),
    idea("width-as-stride", *both(columns, columns)),
)
# Where a program has several rows, and may have some past the last one.
OF_SEVERAL_ROWS = (
    idea("rows-without-mask", *both(X, Y, rows_mask="none")),
    idea("rows-without-mask/row-by-row", _row_by_row(False, X), _row_by_row(True, Y)),
    idea("limits-swapped", *both(X, Y, columns_mask="end of the other", rows_mask="end of the other")),
    idea("rows-mask-off-by-one", *both(X, Y, rows_mask="one too many")),
)
