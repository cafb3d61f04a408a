"""Mistakes of a kernel that transposes a matrix tile by tile: in the addresses, the masks and the map of programs.

A lane of a tile has a row and a column of x. Its address is row · a + column · b: in x with a = x_row_stride and b = 1,
in y with a = 1 and b = y_row_stride. Most mistakes are other numbers in these places, or other limits of the lanes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from checker.catalog.softmax.rows import Stride, X, Y, block_size, columns, row_count, rows_owned
from checker.course.case import Array, Case
from checker.course.misconception import Mask, Misconception, Raises, Reach, Reaches, Unwritten

# Where the lanes of a tile end: where the matrix does, one lane later, at the tile's own end, or after as many lanes
# as are left along the other axis; or where the matrix ends along the other axis.
Limit = Literal["right", "one too many", "none", "left along the other", "end of the other"]


def _one(case: Case) -> int:
    return 1


def _end(limit: Limit, first: int, block: int, size: int, other: tuple[int, int, int]) -> int:
    """The first row or column past a tile's lanes; `other` are the same three numbers of the other axis."""
    other_first, other_block, other_size = other
    ends = {
        "right": size,
        "one too many": size + 1,
        "none": first + block,
        "left along the other": first + min(other_block, other_size - other_first),
        "end of the other": other_size,
    }
    return min(ends[limit], first + block)


def _axes(case: Case, program: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """(first, block, size) of a program's rows and of its columns."""
    high, wide = rows_owned(case), block_size(case)
    row_tile, column_tile = program % case.grid[0], program // case.grid[0]
    return (row_tile * high, high, row_count(case)), (column_tile * wide, wide, columns(case))


def _access(store: bool, a: Stride, b: Stride, rows: Limit = "right", cols: Limit = "right") -> Reaches:
    """The one load or store of each program, at row · a + column · b, with lanes up to these limits."""

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        of_rows, of_columns = _axes(case, program)
        last_row = _end(rows, *of_rows, other=of_columns) - 1
        last_column = _end(cols, *of_columns, other=of_rows) - 1
        if last_row < of_rows[0] or last_column < of_columns[0]:
            return ()
        lowest = of_rows[0] * a(case) + of_columns[0] * b(case)
        highest = last_row * a(case) + last_column * b(case)
        return (Reach(store, "y_ptr" if store else "x_ptr", lowest, highest),)

    return Reaches(of)


def _load(a: Stride, b: Stride, rows: Limit = "right", cols: Limit = "right") -> Reaches:
    return _access(False, a, b, rows, cols)


def _store(a: Stride, b: Stride, rows: Limit = "right", cols: Limit = "right") -> Reaches:
    return _access(True, a, b, rows, cols)


def _both(rows: Limit = "right", cols: Limit = "right") -> tuple[Reaches, Reaches]:
    """The load and the store, with their own strides and the same limits."""
    return _load(X, _one, rows, cols), _store(_one, Y, rows, cols)


def _either_mask(store: bool, a: Stride, b: Stride) -> Reaches:
    """Lanes whose row exists, or whose column does: all but a corner of the tile."""

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        wider = (_access(store, a, b, "right", "none"), _access(store, a, b, "none", "right"))
        reached = [reach for sign in wider for reach in sign.accesses(case, program)]
        return (max(reached, key=lambda reach: reach.highest),) if reached else ()

    return Reaches(of)


def _missing(which: Callable[[Case, Array, Array], Mask], shared: bool = False) -> Unwritten:
    """What is not written of y: `which` gets the case and the rows and columns of x, as a row and a column."""

    def elements(case: Case) -> Mapping[str, Mask]:
        n, count = case.tensors["y_ptr"].values.shape
        return {"y_ptr": np.broadcast_to(which(case, np.arange(count)[None, :], np.arange(n)[:, None]), (n, count))}

    return Unwritten(elements, shared)


def _either_way(which: Callable[[Case, Array, Array], Mask]) -> tuple[Unwritten, Unwritten]:
    """The same, whether or not programs meet in what is written."""
    return _missing(which), _missing(which, shared=True)


def _columns_apart(step: Stride) -> Callable[[Case, Array, Array], Mask]:
    """Columns in no tile, if tiles begin so far apart."""

    def missing(case: Case, _: Array, cols: Array) -> Mask:
        starts = np.arange(case.grid[1]) * step(case)
        inside = (cols >= starts) & (cols < starts + block_size(case))
        return np.asarray(~inside.any(axis=1, keepdims=True))

    return missing


TRANSPOSES = (
    Misconception(
        "not-transposed",
        "y is addressed as x is: the tile is stored as it lies in x",
        "The offsets of the store are rows * y_row_stride + cols, so what is stored is a copy. A column of x is a "
        "row of y.",
        "Column c of x becomes row c of y: multiply cols by y_row_stride, and add rows.",
        signs=(
            _store(Y, _one),
            _store(Y, _one, "left along the other", "left along the other"),
        ),
    ),
    Misconception(
        "x-read-transposed",
        "x is addressed as y is: it is read as if it were its own transpose",
        "The offsets of the load are cols * x_row_stride + rows. A row of x begins at rows * x_row_stride.",
        "Load the tile as it lies in x, rows[:, None] * x_row_stride + cols[None, :], and transpose on the way out.",
        signs=(_load(_one, X),),
    ),
    Misconception(
        "shapes-do-not-fit",
        "Two blocks have shapes that do not fit together",
        "A tile of x has the shape (BLOCK_ROWS, BLOCK_COLS), a tile of y (BLOCK_COLS, BLOCK_ROWS). In a load or store "
        "the addresses, the mask and the values must all have the same one. If both sides are equal, nothing "
        "complains, but the wrong lanes go together.",
        "Write down the shape of each block in this line. [:, None] lays a vector down as a column, [None, :] as a "
        "row, and tl.trans exchanges the sides of a tile; of a mask, too.",
        signs=(
            Raises(re.compile(r"incompatible dimensions|could not be broadcast|Cannot broadcast")),
            _load(X, _one, "left along the other", "left along the other"),
            _store(_one, Y, "left along the other", "left along the other"),
        ),
    ),
    Misconception(
        "y-with-x-stride",
        "y is addressed with x's row stride",
        "x and y are laid out separately: the next row of y begins y_row_stride elements further on.",
        "In the store, multiply cols by y_row_stride.",
        signs=(_store(_one, X),),
    ),
    Misconception(
        "x-with-y-stride",
        "x is addressed with y's row stride",
        "x and y are laid out separately: the next row of x begins x_row_stride elements further on.",
        "In the load, multiply rows by x_row_stride.",
        signs=(_load(Y, _one),),
    ),
    Misconception(
        "width-as-stride",
        "Rows are assumed to follow each other without a gap",
        "The kernel steps as many elements to the next row as a row has. A tensor may be padded or be a slice of a "
        "larger one, so the distance between rows is its stride, not its width.",
        "Use rows * x_row_stride for x and cols * y_row_stride for y.",
        signs=(_load(columns, _one), _store(_one, row_count), _store(_one, columns)),
    ),
    Misconception(
        "block-as-stride",
        "The side of a tile is used as the distance between rows",
        "Rows of a tile are as far apart as rows of the matrix. The tile is a part of it, without memory of its own.",
        "Use rows * x_row_stride for x and cols * y_row_stride for y.",
        signs=(_load(block_size, _one), _store(_one, rows_owned)),
    ),
    Misconception(
        "row-without-stride",
        "The row number is added to the pointer as it is",
        "Element number `row` of a tensor is a neighbour in its first row, not the beginning of that row.",
        "Multiply by the distance between rows: rows * x_row_stride for x, cols * y_row_stride for y.",
        signs=(_load(_one, _one), _store(_one, _one)),
    ),
    Misconception(
        "access-without-mask",
        "The access has no mask, or one that does not end with the matrix",
        "All lanes of the tile take part. Those past the last row or the last column belong to somebody else.",
        "A lane takes part if its row and its column exist: (rows < n_rows)[:, None] & (cols < n_cols)[None, :].",
        signs=_both("none", "none"),
    ),
    Misconception(
        "rows-without-mask",
        "The mask lets rows past the last one through",
        "The number of rows need not be a multiple of BLOCK_ROWS, so the last tiles may reach beyond the last row.",
        "The mask needs a second half: (rows < n_rows)[:, None] & ...",
        signs=_both("none", "right"),
    ),
    Misconception(
        "columns-without-mask",
        "The mask lets columns past the last one through",
        "The number of columns need not be a multiple of BLOCK_COLS, so the last tiles may reach beyond the last "
        "column: in x that is the gap after a row or the next row.",
        "The mask needs a second half: ... & (cols < n_cols)[None, :].",
        signs=_both("right", "none"),
    ),
    Misconception(
        "masks-joined-with-or",
        "A lane takes part if its row or its column exists",
        "Two masks joined with | let a lane through that is inside in one direction only. A lane belongs to the matrix "
        "if its row exists and its column does.",
        "Join the two masks with &.",
        signs=(_either_mask(False, X, _one), _either_mask(True, _one, Y)),
    ),
    Misconception(
        "mask-off-by-one",
        "The mask lets one row or one column too many through",
        "Rows and columns count from 0: the last ones are n_rows - 1 and n_cols - 1.",
        "Compare with <, not with <=.",
        signs=(
            *_both("one too many", "right"),
            *_both("right", "one too many"),
            *_both("one too many", "one too many"),
        ),
    ),
    Misconception(
        "mask-off-by-one",
        "The last row or the last column is left out",
        "Rows and columns count from 0: the last ones are n_rows - 1 and n_cols - 1, and they belong to the matrix.",
        "The mask is rows < n_rows and cols < n_cols.",
        signs=(
            _missing(lambda case, rows, cols: (rows == row_count(case) - 1) | (cols < 0)),
            _missing(lambda case, rows, cols: (cols == columns(case) - 1) | (rows < 0)),
            _missing(lambda case, rows, cols: (rows == row_count(case) - 1) | (cols == columns(case) - 1)),
        ),
    ),
    Misconception(
        "limits-swapped",
        "Rows are compared with n_cols and columns with n_rows",
        "In a wide matrix that lets rows through that do not exist, and leaves columns out. In a tall one it is the "
        "other way round. Only in a square one does it make no difference.",
        "rows and cols count in x: there are n_rows and n_cols of them. It is only y that has them exchanged.",
        signs=(
            *_both("end of the other", "end of the other"),
            _missing(lambda case, rows, cols: (rows >= columns(case)) | (cols >= row_count(case))),
        ),
    ),
    Misconception(
        "only-whole-tiles",
        "Tiles that stick out of the matrix are left out",
        "Where the number of rows or columns is no multiple of the tile's side, the last tiles have fewer rows or "
        "columns. They were not written at all.",
        "The mask decides lane by lane, not tile by tile: a lane takes part if its row and its column exist.",
        signs=(
            _missing(
                lambda case, rows, cols: (
                    (rows >= row_count(case) // rows_owned(case) * rows_owned(case))
                    | (cols >= columns(case) // block_size(case) * block_size(case))
                )
            ),
        ),
    ),
    Misconception(
        "columns-of-first-tile",
        "All programs work on the first tile of columns",
        "cols begins at 0 in every program. The grid has two axes: tl.program_id(0) counts tiles of rows, "
        "tl.program_id(1) tiles of columns.",
        "cols begin at tl.program_id(1) * BLOCK_COLS, as rows begin at tl.program_id(0) * BLOCK_ROWS.",
        signs=(_missing(lambda case, rows, cols: (cols >= block_size(case)) | (rows < 0), shared=True),),
    ),
    Misconception(
        "columns-from-axis-0",
        "rows and cols come from the same axis of the grid",
        "Both depend on tl.program_id(0), so only tiles on the diagonal are written, and each of them by several "
        "programs.",
        "tl.program_id(1) counts tiles of columns.",
        signs=(_missing(lambda case, rows, cols: rows // rows_owned(case) != cols // block_size(case), shared=True),),
    ),
    Misconception(
        "grid-axes-swapped",
        "The axes of the grid are exchanged",
        "tl.program_id(0) counts tiles of rows here, and tl.program_id(1) tiles of columns. Exchanged, they reach all "
        "tiles only if there are as many of one as of the other.",
        "Keep the stub's rows, and take cols from tl.program_id(1).",
        signs=(
            _missing(
                lambda case, rows, cols: (
                    (rows // rows_owned(case) >= case.grid[1]) | (cols // block_size(case) >= case.grid[0])
                )
            ),
        ),
    ),
    Misconception(
        "tiles-not-a-tile-apart",
        "Tiles of columns do not begin BLOCK_COLS columns apart",
        "Program (i, j) has the columns from j * BLOCK_COLS on. With another step tiles overlap or leave gaps.",
        "cols = tl.program_id(1) * BLOCK_COLS + ...: the factor is the length of the tl.arange.",
        signs=(*_either_way(_columns_apart(rows_owned)), *_either_way(_columns_apart(_one))),
    ),
    Misconception(
        "row-offset-32-bit",
        "A 32-bit offset overflows",
        "A product of 32-bit integers passes 2**31, as rows * x_row_stride does in a large x, and "
        "cols * y_row_stride in a large y: the address is then far away from the row.",
        "Make both program ids 64 bits wide, as the stub does for rows: tl.program_id(1).to(tl.int64).",
        signs=(Raises(re.compile(r"int32 overflow detected")),),
    ),
)
