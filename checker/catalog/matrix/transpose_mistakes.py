"""Mistakes of a kernel that transposes a matrix tile by tile: in the addresses, the masks and the map of programs.

A lane of a tile has a row and a column of x. Its address is row · a + column · b: in x with a = x_row_stride and b = 1,
in y with a = 1 and b = y_row_stride. Most mistakes are other numbers in these places, or other limits of the lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from checker.catalog.lines import reshape
from checker.catalog.softmax.rows import Stride, X, Y, block_size, columns, row_count, rows_owned
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Mask, Raises, Reach, Reaches, Undefined, Unwritten, Writes

idea = Ideas(__file__)

# Where the lanes of a tile end: where the matrix does, one lane later, at the tile's own end, or after as many lanes
# as are left along the other axis; or where the matrix ends along the other axis.
Limit = Literal["right", "one too many", "none", "left along the other", "end of the other"]


def _one(case: Case) -> int:
    return 1


def _end(limit: Limit, first: int, block: int, size: int, other: tuple[int, int, int]) -> int:
    """Return the first row or column past a tile's lanes; `other` are the same three numbers of the other axis."""
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
    """Return the one load or store of each program, at row · a + column · b, with lanes up to these limits."""

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
    """Return the load and the store, with their own strides and the same limits."""
    return _load(X, _one, rows, cols), _store(_one, Y, rows, cols)


def _either_mask(store: bool, a: Stride, b: Stride) -> Reaches:
    """Lanes whose row exists, or whose column does: all but a corner of the tile."""

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        wider = (_access(store, a, b, "right", "none"), _access(store, a, b, "none", "right"))
        reached = [reach for sign in wider for reach in sign.accesses(case, program)]
        return (max(reached, key=lambda reach: reach.highest),) if reached else ()

    return Reaches(of)


def _missing(which: Callable[[Case, Array, Array], Mask], shared: bool = False) -> Unwritten:
    """Return what is not written of y: `which` gets the case and the rows and columns of x, as a row and a column."""

    def elements(case: Case) -> Mapping[str, Mask]:
        n, count = case.tensors["y_ptr"].values.shape
        return {"y_ptr": np.broadcast_to(which(case, np.arange(count)[None, :], np.arange(n)[:, None]), (n, count))}

    return Unwritten(elements, shared)


def _either_way(which: Callable[[Case, Array, Array], Mask]) -> tuple[Unwritten, Unwritten]:
    """Return the same, whether or not programs meet in what is written."""
    return _missing(which), _missing(which, shared=True)


def _columns_apart(step: Stride) -> Callable[[Case, Array, Array], Mask]:
    """Columns in no tile, if tiles begin so far apart."""

    def missing(case: Case, _: Array, cols: Array) -> Mask:
        starts = np.arange(case.grid[1]) * step(case)
        inside = (cols >= starts) & (cols < starts + block_size(case))
        return np.asarray(~inside.any(axis=1, keepdims=True))

    return missing


def _in_old_place(case: Case, program: int) -> tuple[Reach, ...]:
    """Return the transposed tile, in the tile of y that has the numbers of the program."""
    (first_row, high, count), (first_column, wide, n) = _axes(case, program)
    row, column = first_row // high * wide, first_column // wide * high
    last_row, last_column = row + min(wide, n - first_column) - 1, column + min(high, count - first_row) - 1
    return (Reach(True, "y_ptr", row * Y(case) + column, last_row * Y(case) + last_column),)


def _not_in_old_place(case: Case, rows: Array, cols: Array) -> Mask:
    """Return what that leaves out of y: elements in no such tile."""
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
    idea("not-transposed", _store(Y, _one), _store(Y, _one, "left along the other", "left along the other")),
    idea("tile-in-its-old-place", Reaches(_in_old_place), *_either_way(_not_in_old_place)),
    idea("reshaped", Writes(_reshaped, reshape, needs_line=True)),
    idea("undefined-masked-lanes", Undefined()),
    idea("x-read-transposed", _load(_one, X)),
    idea(
        "shapes-do-not-fit",
        Raises(r"incompatible dimensions|could not be broadcast|Cannot broadcast"),
        _load(X, _one, "left along the other", "left along the other"),
        _store(_one, Y, "left along the other", "left along the other"),
    ),
    idea("y-with-x-stride", _store(_one, X)),
    idea("x-with-y-stride", _load(Y, _one)),
    idea("width-as-stride", _load(columns, _one), _store(_one, row_count), _store(_one, columns)),
    idea("block-as-stride", _load(block_size, _one), _store(_one, rows_owned)),
    idea("row-without-stride", _load(_one, _one), _store(_one, _one)),
    idea("access-without-mask", *_both("none", "none")),
    idea("rows-without-mask", *_both("none", "right")),
    idea("columns-without-mask", *_both("right", "none")),
    idea("masks-joined-with-or", _either_mask(False, X, _one), _either_mask(True, _one, Y)),
    idea(
        "mask-off-by-one",
        *_both("one too many", "right"),
        *_both("right", "one too many"),
        *_both("one too many", "one too many"),
    ),
    idea(
        "mask-off-by-one/left-out",
        _missing(lambda case, rows, cols: (rows == row_count(case) - 1) | (cols < 0)),
        _missing(lambda case, rows, cols: (cols == columns(case) - 1) | (rows < 0)),
        _missing(lambda case, rows, cols: (rows == row_count(case) - 1) | (cols == columns(case) - 1)),
    ),
    idea(
        "limits-swapped",
        *_both("end of the other", "end of the other"),
        _missing(lambda case, rows, cols: (rows >= columns(case)) | (cols >= row_count(case))),
    ),
    idea(
        "only-whole-tiles",
        _missing(
            lambda case, rows, cols: (
                (rows >= row_count(case) // rows_owned(case) * rows_owned(case))
                | (cols >= columns(case) // block_size(case) * block_size(case))
            )
        ),
    ),
    idea(
        "columns-of-first-tile", _missing(lambda case, rows, cols: (cols >= block_size(case)) | (rows < 0), shared=True)
    ),
    idea(
        "columns-from-axis-0",
        _missing(lambda case, rows, cols: rows // rows_owned(case) != cols // block_size(case), shared=True),
    ),
    idea(
        "grid-axes-swapped",
        _missing(
            lambda case, rows, cols: (
                (rows // rows_owned(case) >= case.grid[1]) | (cols // block_size(case) >= case.grid[0])
            )
        ),
    ),
    idea("tiles-not-a-tile-apart", *_either_way(_columns_apart(rows_owned)), *_either_way(_columns_apart(_one))),
    idea("row-offset-32-bit", Raises(r"int32 overflow detected")),
)
