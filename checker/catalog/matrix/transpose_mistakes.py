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
from checker.course.misconception import Mask, Misconception, Part, Raises, Reach, Reaches, Undefined, Unwritten, Writes

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


def _in_old_place(case: Case, program: int) -> tuple[Reach, ...]:
    """The transposed tile, in the tile of y that has the numbers of the program."""
    (first_row, high, count), (first_column, wide, n) = _axes(case, program)
    row, column = first_row // high * wide, first_column // wide * high
    last_row, last_column = row + min(wide, n - first_column) - 1, column + min(high, count - first_row) - 1
    return (Reach(True, "y_ptr", row * Y(case) + column, last_row * Y(case) + last_column),)


def _not_in_old_place(case: Case, rows: Array, cols: Array) -> Mask:
    """What that leaves out of y: elements in no such tile."""
    written = np.zeros((columns(case), row_count(case)), bool)
    for program in range(case.grid[0] * case.grid[1]):
        for reach in _in_old_place(case, program):
            (top, left), (bottom, right) = divmod(reach.lowest, Y(case)), divmod(reach.highest, Y(case))
            written[top : bottom + 1, left : right + 1] = True
    return ~written


def _reshaped(case: Case) -> Mapping[str, Array]:
    """y, if each tile of x keeps the order of its elements; past the end of x they are 0."""
    x, high, wide = case.tensors["x_ptr"].values, rows_owned(case), block_size(case)
    count, n = x.shape
    padded = np.pad(x.astype(np.float64), ((0, -count % high), (0, -n % wide)))
    y = np.zeros(padded.shape[::-1])
    for row in range(0, count, high):
        for column in range(0, n, wide):
            tile = padded[row : row + high, column : column + wide]
            y[column : column + wide, row : row + high] = tile.reshape(wide, high)
    return {"y_ptr": y[:n, :count]}


TRANSPOSES = (
    Misconception(
        "not-transposed",
        "y is addressed as x is: the tile is stored as it lies in x",
        "The store addresses y in the way that the load addresses x, so y gets a copy. In the lesson's matrix, the "
        "element in row 1 and column 4 ends in row 1 and column 4 of y. It belongs in row 4 and column 1.",
        "Column c of x becomes row c of y: cols are multiplied by y_row_stride, and rows are added. For the "
        "transposed tile, tl.trans(x), that is y_ptr + cols[:, None] * y_row_stride + rows[None, :].",
        question="With y_row_stride = 5, how many elements after y_ptr does row 4, column 1 of y lie? How many after "
        "y_ptr does your store put the element of row 1, column 4 of x?",
        signs=(
            _store(Y, _one),
            _store(Y, _one, "left along the other", "left along the other"),
        ),
    ),
    Misconception(
        "tile-in-its-old-place",
        "The tile is transposed, but it goes to the place that it has in x",
        "Two things change places: the elements in a tile, and the tiles. With tiles of 2 x 4, tile (1, 2) of x holds "
        "rows 2 and 3 and columns 8 to 11. Transposed, it belongs in rows 8 to 11 and columns 2 and 3 of y. This "
        "kernel puts it into rows 4 to 7 and columns 4 and 5.",
        "Use the rows and cols of the load: in y, cols count rows, and rows count columns. That is y_ptr + cols[:, "
        "None] * y_row_stride + rows[None, :], and program_id(0) stays with the rows of x.",
        question="With tiles of 2 x 4, program (1, 2) has loaded rows 2 and 3 of x, and columns 8 to 11. In which rows "
        "and columns of y do these elements belong, and where does your store put them?",
        signs=(Reaches(_in_old_place), *_either_way(_not_in_old_place)),
    ),
    Misconception(
        "reshaped",
        "The tile is reshaped, not transposed",
        "A reshape keeps the order of the elements, and only counts them off in rows of another length: the tile 0 1 2 "
        "3 | 4 5 6 7 becomes 0 1 | 2 3 | 4 5 | 6 7. Transposed it is 0 4 | 1 5 | 2 6 | 3 7.",
        "tl.trans(x) exchanges rows and columns.",
        question="A tile has the rows 0 1 2 3 and 4 5 6 7. What is the first row of its transpose, and what is the "
        "first row after your kernel's change of shape?",
        signs=(Writes(_reshaped, Part.RESHAPE, needs_line=True),),
    ),
    Misconception(
        "undefined-masked-lanes",
        "Lanes that the load left out are stored",
        "A masked load without `other` leaves its masked lanes undefined: on a GPU they hold anything. A transpose "
        "only moves numbers, so none of them may reach y. Here the store writes lanes that were masked off in the "
        "load.",
        "A lane that is masked off in the load must be masked off in the store. The mask is turned with the tile, "
        "tl.trans(mask), and only then do the two belong together.",
        question="Take a lane in which the mask of your load is false. To which place does it move on the way to the "
        "store, and what does the mask of the store say there?",
        signs=(Undefined(),),
    ),
    Misconception(
        "x-read-transposed",
        "x is addressed as y is: it is read as if it were its own transpose",
        "Columns are multiplied by x_row_stride here, and rows are not. With rows of x that are 10 elements apart, "
        "the element in row 1 and column 4 lies at offset 14, and this kernel looks for it at offset 41.",
        "Load the tile as it lies in x, rows[:, None] * x_row_stride + cols[None, :], and transpose on the way out.",
        question="With x_row_stride = 10, at which offset does the element in row 2 and column 3 of x lie, and which "
        "offset does your load compute for it?",
        signs=(_load(_one, X),),
    ),
    Misconception(
        "shapes-do-not-fit",
        "Two blocks have shapes that do not fit together",
        "A tile of x has the shape (BLOCK_ROWS, BLOCK_COLS), a tile of y (BLOCK_COLS, BLOCK_ROWS). In a load or store "
        "the addresses, the mask and the values must all have the same one. If both sides are equal, nothing "
        "complains, but the wrong lanes go together.",
        "[:, None] lays a vector down as a column, [None, :] as a row, and tl.trans exchanges the sides of a tile; of "
        "a mask, too. For tl.trans(x), the addresses are y_ptr + cols[:, None] * y_row_stride + rows[None, :], and "
        "the mask is tl.trans(mask).",
        question="With BLOCK_ROWS = 2 and BLOCK_COLS = 4, what is the shape of each block on this line? Which one is "
        "not like the others?",
        signs=(
            Raises(re.compile(r"incompatible dimensions|could not be broadcast|Cannot broadcast")),
            _load(X, _one, "left along the other", "left along the other"),
            _store(_one, Y, "left along the other", "left along the other"),
        ),
    ),
    Misconception(
        "y-with-x-stride",
        "y is addressed with x's row stride",
        "x and y are laid out separately. In the lesson the rows of x are 10 elements apart and those of y 5, so row "
        "3 of y begins at element 15, and this kernel looks for it at element 30.",
        "In the store, multiply cols by y_row_stride.",
        question="With x_row_stride = 10 and y_row_stride = 5, at which element does row 4 of y begin, and where does "
        "your store begin it?",
        signs=(_store(_one, X),),
    ),
    Misconception(
        "x-with-y-stride",
        "x is addressed with y's row stride",
        "x and y are laid out separately. In the lesson the rows of x are 10 elements apart and those of y 5, so row "
        "2 of x begins at element 20, and this kernel looks for it at element 10.",
        "In the load, multiply rows by x_row_stride.",
        question="With x_row_stride = 10 and y_row_stride = 5, at which element does row 3 of x begin, and where does "
        "your load begin it?",
        signs=(_load(Y, _one),),
    ),
    Misconception(
        "width-as-stride",
        "Rows are assumed to follow each other without a gap",
        "The kernel steps as many elements to the next row as a row has. A tensor may be padded or be a slice of a "
        "larger one: the rows of wide[:, :10] are 16 elements apart if wide has 16 columns.",
        "Use rows * x_row_stride for x and cols * y_row_stride for y.",
        question="x is the first 10 columns of a tensor that has 16. At which element does row 2 of x begin, and "
        "which parameter knows that?",
        signs=(_load(columns, _one), _store(_one, row_count), _store(_one, columns)),
    ),
    Misconception(
        "block-as-stride",
        "The side of a tile is used as the distance between rows",
        "Rows of a tile are as far apart as rows of the matrix. The tile is a part of it, without memory of its own. "
        "With rows 10 elements apart and tiles 4 columns wide, this kernel looks for row 1 at element 4, and it "
        "begins at element 10.",
        "Use rows * x_row_stride for x and cols * y_row_stride for y.",
        question="In the lesson, tile (1, 1) has the offsets 24 to 27 and 34 to 37. How far apart are its two rows, "
        "and how far apart are they in your kernel?",
        signs=(_load(block_size, _one), _store(_one, rows_owned)),
    ),
    Misconception(
        "row-without-stride",
        "The row number is added to the pointer as it is",
        "Element number `row` of a tensor is a neighbour in its first row, not the beginning of that row. With rows "
        "10 elements apart, x_ptr + 2 is column 2 of row 0, and row 2 begins at element 20.",
        "Multiply by the distance between rows: rows[:, None] * x_row_stride in x, and cols times y_row_stride in y.",
        question="Rows of x are 10 elements apart. Which row and which column lie at x_ptr + 3, and at which element "
        "does row 3 begin?",
        signs=(_load(_one, _one), _store(_one, _one)),
    ),
    Misconception(
        "access-without-mask",
        "The access has no mask, or one that does not end with the matrix",
        "All lanes of the tile take part. Those past the last row or the last column belong to somebody else: in the "
        "lesson's matrix, 6 of the 8 lanes of program (2, 2).",
        "A lane takes part if its row and its column exist: (rows < n_rows)[:, None] & (cols < n_cols)[None, :].",
        question="The lesson's matrix is 5 x 10. Program (2, 2) has rows 4 and 5 and columns 8 to 11. Which of its "
        "eight lanes lie in the matrix, and what keeps the others away in your kernel?",
        signs=_both("none", "none"),
    ),
    Misconception(
        "rows-without-mask",
        "The mask lets rows past the last one through",
        "The number of rows need not be a multiple of BLOCK_ROWS, so the last tiles may reach past the last row. With "
        "5 rows in tiles of 2, the last tile has rows 4 and 5, and row 5 does not exist.",
        "The mask asks about columns, and must ask about rows as well: (rows < n_rows)[:, None] & (cols < "
        "n_cols)[None, :].",
        question="With 5 rows in tiles of 2, what does your mask say of a lane in row 5 and column 0?",
        signs=_both("none", "right"),
    ),
    Misconception(
        "columns-without-mask",
        "The mask lets columns past the last one through",
        "The number of columns need not be a multiple of BLOCK_COLS, so the last tiles may reach past the last "
        "column. With 10 columns in tiles of 4, the last tile has columns 8 to 11. In x, what lies at column 10 is "
        "the gap after a row or the next row.",
        "The mask asks about rows, and must ask about columns as well: (rows < n_rows)[:, None] & (cols < "
        "n_cols)[None, :].",
        question="With 10 columns in tiles of 4, what does your mask say of a lane in row 0 and column 10?",
        signs=_both("right", "none"),
    ),
    Misconception(
        "masks-joined-with-or",
        "A lane takes part if its row or its column exists",
        "A lane belongs to the matrix if its row exists and its column does. Two masks joined with | also let a lane "
        "through that is inside in one direction only: in a matrix of 5 x 10, the lane in row 4 and column 10.",
        "Join the two masks with &: (rows < n_rows)[:, None] & (cols < n_cols)[None, :].",
        question="In a matrix of 5 x 10, row 4 exists and column 10 does not. Should a lane in row 4 and column 10 "
        "take part, and what does your mask say?",
        signs=(_either_mask(False, X, _one), _either_mask(True, _one, Y)),
    ),
    Misconception(
        "mask-off-by-one",
        "The mask lets one row or one column too many through",
        "Rows and columns count from 0: the last ones are n_rows - 1 and n_cols - 1. In a matrix of 5 x 10, this mask "
        "is true for row 5 or for column 10.",
        "Compare with <, not with <=.",
        question="In a matrix of 5 x 10, for which of the rows 3, 4 and 5 is your mask true, and for which of the "
        "columns 8, 9 and 10?",
        signs=(
            *_both("one too many", "right"),
            *_both("right", "one too many"),
            *_both("one too many", "one too many"),
        ),
    ),
    Misconception(
        "mask-off-by-one",
        "The last row or the last column is left out",
        "Rows and columns count from 0: the last ones are n_rows - 1 and n_cols - 1, and they belong to the matrix. "
        "In a matrix of 5 x 10, this mask is false for row 4 or for column 9.",
        "The mask is (rows < n_rows)[:, None] & (cols < n_cols)[None, :], without subtracting 1.",
        question="In a matrix of 5 x 10, for which of the rows 3, 4 and 5 is your mask true, and for which of the "
        "columns 8, 9 and 10?",
        signs=(
            _missing(lambda case, rows, cols: (rows == row_count(case) - 1) | (cols < 0)),
            _missing(lambda case, rows, cols: (cols == columns(case) - 1) | (rows < 0)),
            _missing(lambda case, rows, cols: (rows == row_count(case) - 1) | (cols == columns(case) - 1)),
        ),
    ),
    Misconception(
        "limits-swapped",
        "Rows are compared with n_cols and columns with n_rows",
        "In a matrix of 5 x 10 with tiles of 2 x 4, this mask lets row 5 through, which does not exist, and leaves "
        "out columns 5 to 9. In a tall matrix it is the other way round. Only in a square one does it make no "
        "difference.",
        "rows and cols count in x: there are n_rows and n_cols of them, (rows < n_rows)[:, None] & (cols < "
        "n_cols)[None, :]. It is only y that has them exchanged.",
        question="A matrix x has 5 rows and 10 columns. With which of the two numbers does your mask compare rows, "
        "and with which does it compare columns?",
        signs=(
            *_both("end of the other", "end of the other"),
            _missing(lambda case, rows, cols: (rows >= columns(case)) | (cols >= row_count(case))),
        ),
    ),
    Misconception(
        "only-whole-tiles",
        "Tiles that stick out of the matrix are left out",
        "Where the number of rows or columns is not a multiple of the tile's side, the last tiles have fewer rows or "
        "columns. Here they were not written at all: in a matrix of 5 x 10 with tiles of 2 x 4, row 4 and columns 8 "
        "and 9 are missing.",
        "The mask decides lane by lane, not tile by tile: (rows < n_rows)[:, None] & (cols < n_cols)[None, :].",
        question="Of the eight lanes of tile (2, 2) in the lesson, two lie in the matrix. Does your kernel decide for "
        "each lane, or once for the whole tile?",
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
        "cols begin at 0 in every program. In the lesson all programs then work on columns 0 to 3, and nobody writes "
        "columns 4 to 9 of x into y. The grid has two axes, and only one of them was asked.",
        "cols begin at tl.program_id(1) * BLOCK_COLS, as rows begin at tl.program_id(0) * BLOCK_ROWS.",
        question="With BLOCK_COLS = 4, which columns does program (0, 1) own, and which ones does it have in your "
        "kernel? In which of its two numbers does it differ from program (0, 0)?",
        signs=(_missing(lambda case, rows, cols: (cols >= block_size(case)) | (rows < 0), shared=True),),
    ),
    Misconception(
        "columns-from-axis-0",
        "rows and cols come from the same axis of the grid",
        "rows and cols both come from tl.program_id(0), so programs (1, 0), (1, 1) and (1, 2) all work on tile (1, "
        "1). Only tiles on the diagonal are written, and each of them by several programs.",
        "cols begin at tl.program_id(1) * BLOCK_COLS: axis 1 of the grid counts tiles of columns.",
        question="Programs (1, 0) and (1, 2) have the same rows. Which columns does each of them own, and which of "
        "its two numbers says so?",
        signs=(_missing(lambda case, rows, cols: rows // rows_owned(case) != cols // block_size(case), shared=True),),
    ),
    Misconception(
        "grid-axes-swapped",
        "The axes of the grid are exchanged",
        "Axis 0 of the grid counts tiles of rows, and axis 1 tiles of columns. Exchanged, they reach all tiles only "
        "if there are as many of one as of the other: with 2 tiles of rows and 3 of columns, the third tile of "
        "columns is never reached.",
        "Keep the stub's rows, and take cols from tl.program_id(1).",
        question="A matrix has 2 tiles of rows and 3 tiles of columns, so the grid is (2, 3). Up to which number does "
        "each axis count, and which of them do your cols need?",
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
        "Tiles of columns must lie side by side. Here they begin closer together or further apart than they are wide, "
        "so they overlap or leave gaps: if tiles of 4 columns begin 2 columns apart, columns 2 and 3 are in two of "
        "them, and the last columns in none.",
        "cols = tl.program_id(1) * BLOCK_COLS + tl.arange(0, BLOCK_COLS): the factor is the length of the tl.arange.",
        question="With BLOCK_COLS = 4, which four columns do programs (0, 0), (0, 1) and (0, 2) own, and which do "
        "they have in your kernel?",
        signs=(*_either_way(_columns_apart(rows_owned)), *_either_way(_columns_apart(_one))),
    ),
    Misconception(
        "row-offset-32-bit",
        "A 32-bit offset overflows",
        "A 32-bit integer ends at 2,147,483,647. In a large x, rows * x_row_stride passes that, and in a large y, "
        "cols * y_row_stride does. The address is then far away from the row.",
        "Make both program ids 64 bits wide, as the stub does for rows: tl.program_id(1).to(tl.int64).",
        question="Rows of y are 40,000 elements apart. At which element does row 70,000 of y begin? How many bits "
        "wide are your rows, and how many your cols?",
        signs=(Raises(re.compile(r"int32 overflow detected")),),
    ),
)
