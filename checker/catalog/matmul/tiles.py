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
Mask = Literal["right", "none", "one too many", "of the other matrix"]
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
    other = s.n if name == "a_ptr" else s.m
    across = [program // s.tiles[0]] if name == "c_ptr" else range(s.tiles[2])
    for tile in across:
        (first, last), (left, right) = (
            (number * axis.block, _end(number * axis.block, axis.block, extent, mask, other))
            for number, axis, extent, mask in zip(
                (at, tile), tensor.axes, tensor.values.shape, (rows, columns), strict=True
            )
        )
        lowest, highest = first * apart[0] + left * apart[1], (last - 1) * apart[0] + (right - 1) * apart[1]
        yield Reach(name == "c_ptr", name, lowest, highest)


def _end(start: int, block: int, extent: int, mask: Mask, other: int) -> int:
    """Where the rows or columns of a tile end; `other`: rows of the other matrix."""
    return {
        "right": min(start + block, extent),
        "of the other matrix": min(start + block, other),
        "none": start + block,
        "one too many": min(start + block, extent + 1),
    }[mask]


def _past_k(name: str, rows: Mask) -> Reaches:
    """The accesses to a matrix without a mask along k, where that lets columns past the end through."""

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        apart = right_stride(case, name), 1
        reached = _reaches(case, program, name, apart, rows, "none")
        return tuple(one for one in reached if shape_of(case).k % shape_of(case).Bk)

    return Reaches(of)


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
        "rows. With 3 x 2 tiles, nobody makes the third row of tiles, because no program is number 2 along the second "
        "axis.",
        "tl.program_id(0) counts tiles of rows, tl.program_id(1) tiles of columns.",
        question="C is 48 x 32, so with tiles of 16 the grid is 3 x 2. Which rows and columns of C should program "
        "(2, 0) make, and which does yours make?",
        signs=(Unwritten(_ids_exchanged),),
    ),
    Misconception(
        "limits-exchanged",
        "The mask of the store compares rows with n, and columns with m",
        "C has m rows and n columns. If it is 48 x 32, rows from 32 on are left out, and columns past the last one are "
        "written. With fewer rows than columns it is the other way round.",
        "A lane of C is yours if its row and its column exist: (rows < m)[:, None] & (cols < n)[None, :].",
        question="C is 48 x 32. Does its entry in row 40, column 10 exist? What does your mask compare the 40 with?",
        signs=(Unwritten(_masks_exchanged), Reaches(_stored_with_masks_exchanged)),
    ),
    Misconception(
        "limits-exchanged",
        "The masks of the loads compare rows of A with n, or rows of B with m",
        "A has m rows and B has n. With m = 29 and n = 41, a row 30 of A passes a comparison with n, and does not "
        "exist. With m and n the other way round, rows of A that do exist are hidden.",
        "Each tile has the limit of its own matrix: (rows < m)[:, None] for A, (cols < n)[:, None] for B.",
        question="A has 29 rows and B has 41. Does row 30 of A exist, and row 30 of B? What does each of your masks "
        "compare the 30 with?",
        signs=tuple(reach(name, rows="of the other matrix") for name in ("a_ptr", "b_ptr")),
    ),
    Misconception(
        "wrong-tile-map",
        "Programs write to the same tile of C",
        "The addresses of the store lack a program id: what one program has written, another one overwrites, in any "
        "order. Other tiles of C are written by nobody.",
        "Both ids decide where a tile of C lies: rows begin at tl.program_id(0) * Bm, cols at tl.program_id(1) * Bn.",
        question="With tiles of 16, the tile of program (1, 2) begins in row 16 and column 32 of C. Where does your "
        "store begin in that program, and where in program (0, 0)?",
        signs=tuple(
            Unwritten(_all_but_tile(*which), shared=True) for which in ((True, True), (True, False), (False, True))
        ),
    ),
    Misconception(
        "inner-without-mask",
        "Columns past the end of k are loaded",
        "The last step along k has fewer than Bk columns if k is not a multiple of Bk. Of 40 columns in steps of 16 it "
        "has 8. The other 8 lanes read what belongs to somebody else, and it would be multiplied and added to C.",
        "In the masks of A and of B, compare the columns of this very step with k: (inner < k)[None, :], and "
        "other=0.0. The columns advance with the loop, so the mask does as well.",
        question="40 columns in steps of 16: which column numbers does the third step have, and which of them exist? "
        "What does the mask of each load say of the others in that step?",
        signs=tuple(sign for name in ("a_ptr", "b_ptr") for sign in (_past_k(name, "right"), _past_k(name, "none"))),
    ),
    Misconception(
        "rows-without-mask",
        "Rows past the last one are loaded",
        "The last tile of A has fewer than Bm rows if m is not a multiple of Bm, and the last one of B fewer than Bn. "
        "Nothing of the missing rows would be stored, but reading them is not allowed either.",
        "Mask the rows as well: (rows < m)[:, None] for A, (cols < n)[:, None] for B.",
        question="A has 40 rows, and a tile 16. Which numbers does `rows` hold in the last program, and what keeps "
        "your load from row 40? Ask the same of `cols` and B.",
        signs=(reach("a_ptr", rows="none"), reach("b_ptr", rows="none")),
    ),
    Misconception(
        "store-without-mask",
        "The store reaches past the last row or column of C",
        "Tiles at the lower and right edge of C are not full, and the store writes all of them. Of a C of 40 x 20, the "
        "last tile of 16 x 16 has 8 rows and 4 columns. What lies past these belongs to somebody else.",
        "A lane of C is yours if its row and its column exist: (rows < m)[:, None] & (cols < n)[None, :].",
        question="C is 40 x 20. Which of the entries (39, 19), (39, 20) and (40, 19) exist, and which of them may your "
        "store write?",
        signs=(
            reach("c_ptr", rows="none"),
            reach("c_ptr", columns="none"),
            reach("c_ptr", rows="none", columns="none"),
        ),
    ),
    Misconception(
        "mask-off-by-one",
        "The mask lets one row or column too many through",
        "Rows and columns count from 0, so the last of 40 rows is row 39. A mask that lets number 40 through as well "
        "reaches one row past the end.",
        "Compare with <, not with <=.",
        question="A has 40 rows. Which number has the last one, and what does your mask say of number 40?",
        signs=(
            *_everywhere("one too many", "right"),
            *_everywhere("right", "one too many"),
            *_everywhere("one too many", "one too many"),
        ),
    ),
    Misconception(
        "stride-of-another",
        "A matrix is addressed with the row stride of another one",
        "A, B and C are laid out separately, so each has a row stride of its own. If rows lie 64 elements apart in A "
        "and 48 in C, row 2 of A begins at element 128, and C's stride leads to element 96.",
        "a_row_stride belongs to a_ptr, b_row_stride to b_ptr, c_row_stride to c_ptr.",
        question="Rows lie 64 elements apart in A, 80 in B and 48 in C. Where does row 2 of each begin, and which "
        "stride does each of your three addresses use?",
        signs=tuple(reach(name, _stride_of(other)) for name, other in product(NAMES, NAMES) if name != other),
    ),
    Misconception(
        "width-as-stride",
        "Rows are assumed to follow each other without a gap",
        "The kernel steps k elements to the next row of A or B, or n to that of C. A matrix may be padded, or be a "
        "part of a larger one, so the distance between its rows is its stride, not its width.",
        "Multiply rows by a_row_stride and c_row_stride, and the rows of B by b_row_stride.",
        question="A has 40 columns, and its rows lie 64 elements apart. At which element does row 2 begin, and where "
        "does your kernel look for it?",
        signs=tuple(reach(name, _width) for name in NAMES),
    ),
    Misconception(
        "row-without-stride",
        "The row number is added to the pointer as it is",
        "A pointer counts elements, not rows. If rows lie 64 elements apart, row 2 begins 128 elements after the first "
        "one, and not 2.",
        "Multiply by the distance between rows: a_row_stride for A, b_row_stride for B, c_row_stride for C.",
        question="Rows lie 64 elements apart. How many elements after the pointer does row 2 begin, and how far does "
        "your address go?",
        signs=tuple(reach(name, _one) for name in NAMES),
    ),
    Misconception(
        "a-transposed",
        "A is read down its columns",
        "Neighbours in a row of A are 1 element apart, and a_row_stride leads to the next row. Here the two are "
        "exchanged, so the addresses run down a column and leave the matrix.",
        "Address A with rows[:, None] * a_row_stride plus its columns, inner[None, :].",
        question="Rows of A lie 64 elements apart. How many elements lie between its entries (0, 0) and (0, 1), how "
        "many between (0, 0) and (1, 0), and how many in your addresses?",
        signs=(reach("a_ptr", turned=True),),
    ),
    Misconception(
        "b-not-transposed",
        "B is read as if it had the shape (k, n)",
        "B is stored with a row for each column of C, shape (n, k). So b_row_stride leads from one column of C to the "
        "next, and not from one step along k to the next.",
        "Entry (i, j) of C multiplies row i of A with row j of B. Load B like A, rows by columns; tl.trans turns the "
        "tile for tl.dot.",
        question="B has n rows of k numbers, which lie 80 elements apart. How far apart are the first two numbers that "
        "entry (0, 0) of C needs, and how far are they in your addresses?",
        signs=(reach("b_ptr", turned=True),),
    ),
    Misconception(
        "c-transposed",
        "C is stored transposed",
        "Entry (i, j) goes where entry (j, i) belongs. C has m rows and n columns, so unless these are equal, such a "
        "store leaves C.",
        "Address C with rows[:, None] * c_row_stride + cols[None, :].",
        question="C is 40 x 20, and its rows lie 48 elements apart. At which element does row 2, column 5 lie, and "
        "where does your store put that entry?",
        signs=(reach("c_ptr", turned=True),),
    ),
    Misconception(
        "a-for-b",
        "Rows of A are loaded that only B has",
        "Both tiles are loaded from A. It has m rows and B has n, so where n is larger, rows are read that A does not "
        "have.",
        "Load the second tile from b_ptr, with b_row_stride.",
        question="A has 20 rows and B has 40. Which of the two has a row 30, and from which pointer does your kernel "
        "load row 30?",
        signs=(Reaches(_a_for_b),),
    ),
)
