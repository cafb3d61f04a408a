"""Figures of tiles: where one lies and goes to, which stick out, and which a product walks over."""

from __future__ import annotations

import math
from collections.abc import Callable

from canvas import GREY, INK, PALE, PAPER, arrow, board, cell, cells, frame, grid, word
from matplotlib.axes import Axes
from matplotlib.figure import Figure

Shape = tuple[int, int]


def _matrix(axes: Axes, left: float, top: float, shape: Shape, tile: Shape, own: Shape) -> None:
    """A matrix of `shape`, row-major and without gaps, under tiles of size `tile`.

    At its sides stands what each row and column adds to an offset, in the tile `own` the sum.
    """
    (n_rows, n_cols), (rows, cols) = shape, tile
    high, wide = math.ceil(n_rows / rows) * rows, math.ceil(n_cols / cols) * cols
    grid(axes, left, top, (high, wide), shape)
    for row in range(n_rows):
        word(axes, left - 0.3, top + row + 0.5, str(row * n_cols), ha="right", bold=row // rows == own[0])
    for col in range(n_cols):
        word(axes, left + col + 0.5, top - 0.4, str(col), bold=col // cols == own[1])
    for row in range(own[0] * rows, (own[0] + 1) * rows):
        offsets = [str(row * n_cols + col) for col in range(own[1] * cols, (own[1] + 1) * cols)]
        cells(axes, left + own[1] * cols, top + row, offsets, fill=GREY)
    for row in range(0, high, rows):
        for col in range(0, wide, cols):
            frame(axes, left + col, top + row, cols, rows)


def transposed_tile() -> Figure:
    """w3: the tile of program (1, 1) in a matrix of 5 by 10, and in its transpose."""
    figure, axes = board(27, 15.4, 0.31)
    for left, name, stride, shape, tile in ((2.4, "x", 10, (5, 10), (2, 4)), (20.2, "y", 5, (10, 5), (4, 2))):
        _matrix(axes, left, 2.9, shape, tile, (1, 1))
        title = f"{name}, {shape[0]} × {shape[1]}"
        word(axes, left - 1, 0.5, title, ha="left", size=9, bold=True)
        word(axes, left - 1, 1.5, f"row · {stride} + column", ha="left", size=9)
    arrow(axes, (14.8, 6.0), (18.4, 8.9))
    word(axes, 16.8, 5.4, "transposed", size=9)
    top = 10.4
    word(axes, 1.4, top - 0.4, "The grey tile of x, as a sum of two blocks:", ha="left", size=9)
    for row, start in enumerate((20, 30)):
        cell(axes, 2.4, top + 0.6 + row, str(start), PALE)
        cells(axes, 9.9, top + 0.6 + row, [str(start + col) for col in range(4, 8)], fill=GREY)
    word(axes, 4.1, top + 1.6, "+", size=9)
    cells(axes, 4.8, top + 1.1, ["4", "5", "6", "7"], fill=PALE)
    word(axes, 9.35, top + 1.6, "=", size=9)
    word(axes, 2.9, top + 3.5, "rows[:, None]\n· 10\n(2, 1)")
    word(axes, 6.8, top + 3.5, "cols[None, :]\n\n(1, 4)")
    word(axes, 11.9, top + 3.5, "offsets\n\n(2, 4)")
    return figure


def tiled_rows() -> Figure:
    """p4: tiles of 4 by 4 over a matrix of 5 by 10, and the axis of the reductions."""
    side, rows_past, cols_past = 4, (5, 12), (5, 10)
    figure, axes = board(26, 11.6, 0.31)
    left, top = 4, 2.0
    grid(axes, left, top, (2 * side, 3 * side), cols_past)
    for row in range(side):
        cells(axes, left, top + row, [""] * side, fill=GREY)
    for at, name in enumerate("ml"):
        x = left + 14 + 1.6 * at
        grid(axes, x, top, (2 * side, 1), rows_past)
        word(axes, x + 0.5, top - 0.5, name, size=9)
        for program in range(2):
            frame(axes, x, top + side * program, 1, side)
    for program in range(2):
        word(axes, left - 0.3, top + side * program + 2, f"program {program}", ha="right", size=9)
        for tile in range(3):
            frame(axes, left + side * tile, top + side * program, side, side)
    for row in range(side):
        arrow(axes, (left + 0.3, top + row + 0.5), (left + 3.7, top + row + 0.5))
        arrow(axes, (left + 12.3, top + row + 0.5), (left + 13.8, top + row + 0.5), INK)
    word(axes, left + 2, top - 0.6, "reduced along axis 1")
    arrow(axes, (left + 4.6, top - 0.6), (left + 11.6, top - 0.6), INK)
    word(axes, left + 8.1, top - 1.3, "then the next tiles of this program")
    word(axes, left + 17.2, top + 2, "one m and one l\nfor each row:\nshape (4,)", ha="left")
    word(axes, left, top + 8.8, "hatched: past the end of 5 rows and 10 columns, so masked", ha="left")
    return figure


def product_tiles() -> Figure:
    """a1: the tiles of A and B that one tile of C walks over."""
    m, n, k, side = 3, 4, 3, 1.9
    i, j = 1, 2
    figure, axes = board(23.4, 15)
    left, top = 8.6, 7.4  # of C

    def tiles(x: float, y: float, shape: Shape, own: Callable[[int, int], str]) -> None:
        for row in range(shape[0]):
            for col in range(shape[1]):
                text = own(row, col)
                cell(axes, x + col * side, y + row * side, text, GREY if text else PAPER, side, side, size=9)

    tiles(left - side * k - 1, top, (m, k), lambda row, col: f"a{col + 1}" if row == i else "")
    tiles(left, top - side * k - 1, (k, n), lambda row, col: f"b{row + 1}ᵀ" if col == j else "")
    tiles(left, top, (m, n), lambda row, col: "acc" if (row, col) == (i, j) else "")
    frame(axes, left + side * j, top + side * i, side, side)
    y, x = top + side * (i + 0.82), left + side * (j + 0.82)
    arrow(axes, (left - side * k - 0.8, y), (left - 1.2, y))
    arrow(axes, (x, top - side * k - 0.8), (x, top - 1.2))
    word(axes, left - 1 - side * k / 2, top - 0.5, "A, m × k", size=9)
    word(axes, left - 0.3, top - 1 - side * k / 2, "Bᵀ, k × n\n(B lies in memory\nas n × k)", ha="right", size=9)
    word(axes, left + side * n / 2, top + side * m + 0.6, "C, m × n", size=9)
    beside, middle = left + side * n + 0.6, left - 1 - side * k / 2
    notes = "\n".join(["acc = 0", *(f"acc += a{t} b{t}ᵀ" for t in range(1, k + 1)), "store acc"])
    word(axes, beside, top + side * m / 2, notes, ha="left", size=9)
    once = "a strip is loaded once for each\nof the"
    word(axes, beside, top - 1 - side * k / 2, f"{once} {m} tiles of C below", ha="left")
    word(axes, middle, top + side * m + 0.9, f"{once} {n} tiles of C beside it")
    return figure
