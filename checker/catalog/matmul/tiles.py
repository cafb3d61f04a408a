"""Mistakes in addressing tiles of A, B and C, each known by the elements that the first refused access covers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Literal

import numpy as np

from checker.catalog.matmul.launch import shape_of
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Reach, Reaches, Unwritten

Stride = Callable[[Case, str], int]  # what a kernel takes for the row stride of a matrix
Mask = Literal["right", "none", "one too many"]
NAMES = ("a_ptr", "b_ptr", "c_ptr")


def right_stride(case: Case, name: str) -> int:
    """That of the launch."""
    return int(case.scalars[f"{name.removesuffix('_ptr')}_row_stride"])


def _width(case: Case, name: str) -> int:
    return int(case.tensors[name].values.shape[1])


def _one(case: Case, name: str) -> int:
    return 1


def _stride_of(other: str) -> Stride:
    return lambda case, name: right_stride(case, other)


def reach(
    name: str, stride: Stride = right_stride, rows: Mask = "right", columns: Mask = "right", turned: bool = False
) -> Reaches:
    """What the accesses to a matrix cover, tile by tile, with a kernel's idea of its stride and its masks.

    `turned`: rows lie 1 apart, and columns a row stride.
    """

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        apart = (1, right_stride(case, name)) if turned else (stride(case, name), 1)
        return tuple(_reaches(case, program, name, apart, rows, columns))

    return Reaches(of)


def _reaches(
    case: Case, program: int, name: str, apart: tuple[int, int], rows: Mask, columns: Mask, of: str = ""
) -> Iterator[Reach]:
    """`of`: the matrix whose tiles these are, if it is another one than the one that is accessed."""
    s, tensor = shape_of(case), case.tensors[of or name]
    at = {"a_ptr": program % s.tiles[0], "b_ptr": program // s.tiles[0], "c_ptr": program % s.tiles[0]}[of or name]
    across = [program // s.tiles[0]] if name == "c_ptr" else range(s.tiles[2])
    for tile in across:
        (first, last), (left, right) = (
            (number * axis.block, _end(number * axis.block, axis.block, extent, mask))
            for number, axis, extent, mask in zip(
                (at, tile), tensor.axes, tensor.values.shape, (rows, columns), strict=True
            )
        )
        lowest, highest = first * apart[0] + left * apart[1], (last - 1) * apart[0] + (right - 1) * apart[1]
        yield Reach(name == "c_ptr", name, lowest, highest)


def _end(start: int, block: int, extent: int, mask: Mask) -> int:
    return {
        "right": min(start + block, extent),
        "none": start + block,
        "one too many": min(start + block, extent + 1),
    }[mask]


def _a_for_b(case: Case, program: int) -> tuple[Reach, ...]:
    """B's tiles, looked for in A."""
    both = ((right_stride(case, name), 1) for name in ("a_ptr", "b_ptr"))
    return tuple(one for apart in both for one in _reaches(case, program, "a_ptr", apart, "right", "right", "b_ptr"))


def _ids_exchanged(case: Case) -> dict[str, Array]:
    """What is left of C if program (i, j) makes tile (j, i), where there is one."""
    s = shape_of(case)
    tm, tn, _ = s.tiles
    down, across = np.arange(s.m) // s.Bm >= tn, np.arange(s.n) // s.Bn >= tm
    return {"c_ptr": down[:, None] | across[None, :]}


def _masks_exchanged(case: Case) -> dict[str, Array]:
    """What is left of C if its rows are compared with n, and its columns with m."""
    s = shape_of(case)
    return {"c_ptr": (np.arange(s.m) >= s.n)[:, None] | (np.arange(s.n) >= s.m)[None, :]}


def _stored_with_masks_exchanged(case: Case, program: int) -> tuple[Reach, ...]:
    s, stride = shape_of(case), right_stride(case, "c_ptr")
    row, column = program % s.tiles[0] * s.Bm, program // s.tiles[0] * s.Bn
    last_row, last_column = min(row + s.Bm, s.n) - 1, min(column + s.Bn, s.m) - 1
    return (Reach(True, "c_ptr", row * stride + column, last_row * stride + last_column),)


def _all_but_tile(down: bool, across: bool) -> Callable[[Case], dict[str, Array]]:
    """C without its first tiles along these axes."""

    def of(case: Case) -> dict[str, Array]:
        s = shape_of(case)
        rows, columns = np.arange(s.m) >= s.Bm, np.arange(s.n) >= s.Bn
        return {"c_ptr": (down & rows)[:, None] | (across & columns)[None, :]}

    return of


def _everywhere(rows: Mask, columns: Mask) -> tuple[Reaches, ...]:
    return tuple(reach(name, rows=rows, columns=columns) for name in NAMES)


ADDRESSING = (
    Misconception(
        "program-ids-exchanged",
        "The two axes of the grid are exchanged",
        "The program takes its number along the first axis for the columns of C, and along the second one for the "
        "rows. Where C has more tiles on one side than on the other, some are made by nobody.",
        "tl.program_id(0) counts tiles of rows, tl.program_id(1) tiles of columns.",
        signs=(Unwritten(_ids_exchanged),),
    ),
    Misconception(
        "limits-exchanged",
        "The mask of the store compares rows with n, and columns with m",
        "C has m rows and n columns. Where it has more rows than columns, rows from n on are left out, and columns "
        "past the last one are written. Where it has fewer, it is the other way round.",
        "A lane of C is yours if its row and its column exist: rows < m and cols < n.",
        signs=(Unwritten(_masks_exchanged), Reaches(_stored_with_masks_exchanged)),
    ),
    Misconception(
        "wrong-tile-map",
        "Programs write to the same tile of C",
        "The addresses of the store lack a program id: what one program has written, another one overwrites, in any "
        "order, and other tiles of C are left out.",
        "Both ids decide where a tile of C lies: rows begin at tl.program_id(0) * Bm, cols at tl.program_id(1) * Bn.",
        signs=tuple(
            Unwritten(_all_but_tile(*which), shared=True) for which in ((True, True), (True, False), (False, True))
        ),
    ),
    Misconception(
        "inner-without-mask",
        "Columns past the end of k are loaded",
        "The last step along k has fewer than Bk columns, because k is no multiple of it. What lies there belongs to "
        "somebody else, and it would be multiplied and added to C.",
        "In the masks of A and of B, compare with k the columns that this very step loads: they move on with the "
        "loop. Masked lanes must hold 0.",
        signs=tuple(
            sign
            for name in ("a_ptr", "b_ptr")
            for sign in (reach(name, columns="none"), reach(name, rows="none", columns="none"))
        ),
    ),
    Misconception(
        "rows-without-mask",
        "Rows past the last one are loaded",
        "The last tile of A has fewer than Bm rows if m is no multiple of it, and the last one of B fewer than Bn. "
        "Nothing of such rows would be stored, but reading them is not allowed either.",
        "Mask the rows as well: rows < m for A, cols < n for B.",
        signs=(reach("a_ptr", rows="none"), reach("b_ptr", rows="none")),
    ),
    Misconception(
        "store-without-mask",
        "The store reaches past the last row or column of C",
        "Tiles at the lower and right edge of C are not full, and the store writes all of them. What lies there "
        "belongs to somebody else.",
        "A lane of C is yours if its row and its column exist: rows < m and cols < n.",
        signs=(
            reach("c_ptr", rows="none"),
            reach("c_ptr", columns="none"),
            reach("c_ptr", rows="none", columns="none"),
        ),
    ),
    Misconception(
        "mask-off-by-one",
        "The mask lets one row or column too many through",
        "They count from 0, so the last of m rows is m - 1.",
        "Compare with <, not with <=.",
        signs=(
            *_everywhere("one too many", "right"),
            *_everywhere("right", "one too many"),
            *_everywhere("one too many", "one too many"),
        ),
    ),
    Misconception(
        "stride-of-another",
        "A matrix is addressed with the row stride of another one",
        "A, B and C are laid out separately: each has a row stride of its own.",
        "a_row_stride belongs to a_ptr, b_row_stride to b_ptr, c_row_stride to c_ptr.",
        signs=tuple(reach(name, _stride_of(other)) for name, other in product(NAMES, NAMES) if name != other),
    ),
    Misconception(
        "width-as-stride",
        "Rows are assumed to follow each other without a gap",
        "The kernel steps k elements to the next row of A or B, or n to that of C. A matrix may be padded, or be a "
        "part of a larger one, so the distance between its rows is its stride, not its width.",
        "Multiply rows by a_row_stride and c_row_stride, and the rows of B by b_row_stride.",
        signs=tuple(reach(name, _width) for name in NAMES),
    ),
    Misconception(
        "row-without-stride",
        "The row number is added to the pointer as it is",
        "a_ptr + rows is the element number rows, not the beginning of that row.",
        "Multiply by the distance between rows: a_row_stride for A, b_row_stride for B, c_row_stride for C.",
        signs=tuple(reach(name, _one) for name in NAMES),
    ),
    Misconception(
        "a-transposed",
        "A is read down its columns",
        "Neighbours in a row are 1 element apart; a_row_stride leads to the next row.",
        "Address A with rows[:, None] * a_row_stride plus its columns.",
        signs=(reach("a_ptr", turned=True),),
    ),
    Misconception(
        "b-not-transposed",
        "B is read as if it had the shape (k, n)",
        "B is stored with a row for each column of C, shape (n, k).",
        "Entry (i, j) of C multiplies row i of A with row j of B. Load B like A, rows by columns; tl.trans turns the "
        "tile for tl.dot.",
        signs=(reach("b_ptr", turned=True),),
    ),
    Misconception(
        "c-transposed",
        "C is stored transposed",
        "Entry (i, j) goes where entry (j, i) belongs. C has m rows and n columns.",
        "Address C with rows[:, None] * c_row_stride + cols[None, :].",
        signs=(reach("c_ptr", turned=True),),
    ),
    Misconception(
        "a-for-b",
        "Rows of A are loaded that only B has",
        "Both tiles are loaded from A. It has m rows, and B has n.",
        "Load the second tile from b_ptr, with b_row_stride.",
        signs=(Reaches(_a_for_b),),
    ),
)
