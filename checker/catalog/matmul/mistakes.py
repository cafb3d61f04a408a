"""What kernels with a wrong idea of a product of matrices would write, or move."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from checker.catalog.matmul.launch import Shape, shape_of, wide
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Moves, Part, Product, Writes
from checker.course.verdict import Traffic

Formula = Callable[[Array, Array, Shape], Array]
OF_TILES = Product(frozenset(("a_ptr", "b_ptr")))


def _c_is(formula: Formula) -> Writes:
    """The kernel writes `formula(a, b, shape)` to C; A and B in float64."""
    return Writes(lambda case: {"c_ptr": formula(*wide(case), shape_of(case))})


def _of_steps(weight: Callable[[Array, Shape], Array]) -> Formula:
    """C, with a weight for each column of A and B, by its number."""
    return lambda a, b, s: np.asarray((a * weight(np.arange(s.k), s)) @ b.T)


def _whole(s: Shape) -> bool:
    """Whether all steps along k are whole."""
    return s.k % s.Bk == 0


def _whole_steps(s: Shape) -> int:
    """Columns of A and B in steps that are whole."""
    return s.k // s.Bk * s.Bk


def _stuck(a: Array, b: Array, s: Shape, of_a: bool, of_b: bool, mask_advances: bool = False) -> Array:
    """C, if each step loads the first tile of A, of B, or of both, again; where the mask counts on, less at last."""
    total = np.zeros((s.m, s.n))
    for start in range(0, s.k, s.Bk):
        width = min(s.Bk, s.k - start)
        tiles = []
        for x, fixed in ((a, of_a), (b, of_b)):
            tile = np.zeros((len(x), s.Bk))
            part = x[:, : width if mask_advances else s.Bk] if fixed else x[:, start : start + s.Bk]
            tile[:, : part.shape[1]] = part
            tiles.append(tile)
        total += tiles[0] @ tiles[1].T
    return total


def _added_twice(columns: Array, s: Shape) -> Array:
    """What was added up before is doubled at each step."""
    return np.asarray(2.0 ** (s.tiles[2] - 1 - columns // s.Bk))


def _sliding(columns: Array, s: Shape, steps: int) -> Array:
    """How often each column is met by `steps` tiles that begin at 0, 1, 2 …"""
    first, last = np.maximum(columns - s.Bk + 1, 0), np.minimum(columns, steps - 1)
    return np.asarray(np.maximum(last - first + 1, 0))


def _from_the_tile(a: Array, b: Array, s: Shape, side: int, own: int) -> Array:
    """C, if a program's columns along k begin at the first row of its own tile of A, and not at 0.

    `side`: of a tile of A. `own`: how many tiles of A there are.
    """
    starts = np.arange(own)[:, None] * side + np.arange(s.tiles[2]) * s.Bk
    columns = np.arange(s.k) - starts[..., None]
    met = ((columns >= 0) & (columns < side)).sum(1)  # by tile and column: how often
    return np.asarray((a * met[np.arange(len(a)) // side]) @ b.T)


def _rows_of(x: Array, numbers: Array) -> Array:
    """Rows of x, zeros for those past its end."""
    return np.where((numbers < len(x))[:, None], x[np.minimum(numbers, len(x) - 1)], 0.0)


def _b_of_the_row_tile(a: Array, b: Array, s: Shape) -> Array:
    """Tile (i, j) of C, from B's tile i."""
    i, within = np.arange(s.m) // s.Bm, np.arange(s.n) % s.Bn
    return np.asarray([[ai @ row for row in _rows_of(b, tile * s.Bn + within)] for ai, tile in zip(a, i, strict=True)])


def _a_of_the_column_tile(a: Array, b: Array, s: Shape) -> Array:
    """Tile (i, j) of C, from A's tile j."""
    return _b_of_the_row_tile(b, a, Shape(s.n, s.m, s.k, s.Bn, s.Bm, s.Bk)).T


def _where(
    fits: Callable[[Shape], bool], formula: Callable[[Array, Array], Array], otherwise: float = np.nan
) -> Formula:
    """C by a formula, in launches that it fits; in others such a kernel does not get that far, or makes `otherwise`."""
    return lambda a, b, s: formula(a, b) if fits(s) else np.full((s.m, s.n), otherwise)


def _reads_rows_again(case: Case, moved: Mapping[str, Traffic]) -> bool:
    """Tiles past the end of A or B, with % for instance, read rows from the beginning once more."""
    s = shape_of(case)
    tm, tn, _ = s.tiles
    right, again = tn * s.m * s.k, tn * s.k * tm * min(s.Bm, s.m)
    b_right, b_again = tm * s.n * s.k, tm * s.k * tn * min(s.Bn, s.n)
    a, b = moved["a_ptr"].loads, moved["b_ptr"].loads
    return a in (right, again) and b in (b_right, b_again) and (a, b) != (right, b_right)


PRODUCTS = (
    Misconception(
        "not-accumulated",
        "Only the last step along k is left in C",
        "Each step's product takes the place of the one before it. An entry of C is the sum of k products: each step "
        "contributes Bk of them.",
        "Start a tile of zeros before the loop, and add each product to it.",
        signs=(_c_is(_of_steps(lambda c, s: c >= (s.tiles[2] - 1) * s.Bk)).at(OF_TILES),),
    ),
    Misconception(
        "one-step-only",
        "Only the first Bk columns of A and B are multiplied",
        "C is right as far as the first step along k goes. An entry of C is the sum of k products, and one tile has "
        "Bk of them.",
        "Loop over the columns of A and B in steps of Bk.",
        signs=(_c_is(_of_steps(lambda c, s: c < s.Bk)).at(Part.LOOP_END),),
    ),
    Misconception(
        "k-tail-left-out",
        "The last step along k is left out when it is not whole",
        "The loop takes k // Bk steps, rounded down. If Bk does not divide k, the last k % Bk products of each sum are "
        "missing; if k is smaller than Bk, all of them.",
        "range(0, k, Bk) takes the step that is not whole as well; a mask keeps it inside.",
        signs=(_c_is(_of_steps(lambda c, s: c < _whole_steps(s))).at(Part.LOOP_END),),
    ),
    Misconception(
        "loop-to-another-end",
        "The loop along k ends at m or n",
        "m and n count the rows of A and B. Where they are smaller than k, products are missing; where they are "
        "larger, the steps past the end of k multiply zeros.",
        "An entry of C is the sum of k products: range(0, k, Bk).",
        signs=(
            _c_is(_of_steps(lambda c, s: c < -(-s.m // s.Bk) * s.Bk)).at(Part.LOOP_END),
            _c_is(_of_steps(lambda c, s: c < -(-s.n // s.Bk) * s.Bk)).at(Part.LOOP_END),
        ),
    ),
    Misconception(
        "k-from-the-tile",
        "Where a program begins along k depends on its tile of C",
        "The columns of A and B that a step loads were made of rows or cols, which a program id moves. Every program "
        "sums over all k columns, so it begins with column 0.",
        "Along k a program has lanes of its own: start + tl.arange(0, Bk).",
        signs=(
            _c_is(lambda a, b, s: _from_the_tile(a, b, s, s.Bm, s.tiles[0])),
            _c_is(lambda a, b, s: _from_the_tile(b, a, s, s.Bn, s.tiles[1]).T),
        ),
    ),
    Misconception(
        "k-not-advanced",
        "Each step along k loads the same tile again",
        "The offsets along k do not change in the loop: the first Bk columns are multiplied in every step, and the "
        "others never.",
        "Add the loop's own counter to the columns: start + tl.arange(0, Bk), if the loop is range(0, k, Bk).",
        signs=tuple(
            _c_is(lambda a, b, s, of=of: _stuck(a, b, s, *of))  # type: ignore[misc]
            for of in ((True, True), (True, True, True), (True, False), (False, True))
        ),
    ),
    Misconception(
        "steps-overlap",
        "Tiles of two steps overlap",
        "The loop goes on by 1 where it should go on by Bk, so one tile begins a column after the other: most columns "
        "of A and B count several times.",
        "Either the loop counts columns, range(0, k, Bk), or it counts tiles, and then tile t begins at t * Bk.",
        signs=(
            _c_is(_of_steps(lambda c, s: _sliding(c, s, s.k))).at(Part.LOOP_END),
            _c_is(_of_steps(lambda c, s: _sliding(c, s, s.tiles[2]))).at(Part.LOOP_END),
        ),
    ),
    Misconception(
        "added-twice",
        "What was added up is added to itself",
        "tl.dot(a, b, acc) is acc + a b already. With acc += in front of it, all earlier steps count twice as much "
        "with each step.",
        "Write acc = tl.dot(a, b, acc), or acc += tl.dot(a, b).",
        signs=(_c_is(_of_steps(_added_twice)).at(OF_TILES),),
    ),
    Misconception(
        "padding-counted",
        "What lies past the end of k is counted",
        "Lanes past the end of k hold 1 in both tiles, so each of them adds 1 · 1 to every entry of C.",
        "A lane that shall add nothing to a sum of products holds 0.",
        signs=(_c_is(lambda a, b, s: a @ b.T + (s.tiles[2] * s.Bk - s.k)).at(Part.PADDING),),
    ),
    Misconception(
        "padding-counted",
        "What lies past the end of k is counted",
        "Lanes past the end of k hold -inf. That is for a maximum: here they are multiplied and added, so one of them "
        "makes inf of an entry of C, or NaN, because -inf * 0 is no number.",
        "A lane that shall add nothing to a sum of products holds 0.",
        signs=(
            _c_is(_where(_whole, lambda a, b: a @ b.T, np.inf)).at(Part.LOAD_OF_MINUS_INFINITY),
            _c_is(_where(_whole, lambda a, b: a @ b.T)).at(Part.LOAD_OF_MINUS_INFINITY, needed=True),
        ),
    ),
    Misconception(
        "tile-of-the-other-axis",
        "The rows of B are chosen by the program's place along the rows of C",
        "Program (i, j) multiplies A's tile i with B's tile i. Then all tiles of C in a row of tiles are the same.",
        "The columns of C are the rows of B: cols, which tl.program_id(1) decides, chooses them.",
        signs=(_c_is(_b_of_the_row_tile),),
    ),
    Misconception(
        "tile-of-the-other-axis",
        "The rows of A are chosen by the program's place along the columns of C",
        "Program (i, j) multiplies A's tile j with B's tile j. Then all tiles of C in a column of tiles are the same.",
        "The rows of C are the rows of A: rows, which tl.program_id(0) decides, chooses them.",
        signs=(_c_is(_a_of_the_column_tile),),
    ),
    Misconception(
        "b-not-transposed",
        "This is A B, not A Bᵀ",
        "B is stored with a row for each column of C, shape (n, k). Here it is read as if it had the shape (k, n): the "
        "sum runs down B's columns.",
        "Entry (i, j) of C multiplies row i of A with row j of B. Load B like A, rows by columns; tl.trans turns the "
        "tile for tl.dot.",
        signs=(_c_is(_where(lambda s: s.n == s.k, lambda a, b: a @ b)),),
    ),
    Misconception(
        "a-transposed",
        "This is Aᵀ Bᵀ, not A Bᵀ",
        "The sum runs down A's columns. Neighbours along k are neighbours in a row of A.",
        "Address A with rows[:, None] * a_row_stride plus its columns.",
        signs=(_c_is(_where(lambda s: s.m == s.k, lambda a, b: a.T @ b.T)),),
    ),
    Misconception(
        "c-transposed",
        "C is stored transposed",
        "Entry (i, j) lies where entry (j, i) belongs.",
        "Address C with rows[:, None] * c_row_stride + cols[None, :].",
        signs=(_c_is(_where(lambda s: s.m == s.n, lambda a, b: (a @ b.T).T)),),
    ),
    Misconception(
        "a-for-b",
        "This is A Aᵀ: B is not looked at",
        "Both tiles are loaded from A.",
        "Load the second tile from b_ptr, with b_row_stride.",
        signs=(_c_is(_where(lambda s: s.n <= s.m, lambda a, b: a @ a[: len(b)].T)),),
    ),
    Misconception(
        "rows-read-again",
        "Rows past the last one read real rows again",
        "The last tile has more rows than are left. Its addresses were brought back inside, with % m or % n. Nothing "
        "is read outside then, but real rows are read once more, for nothing.",
        "Mask the rows that do not exist, and leave their addresses as they are.",
        signs=(Moves(_reads_rows_again),),
    ),
    Misconception(
        "accumulator-in-memory",
        "C goes back and forth between memory and the chip",
        "C is read, so the sum is kept in memory. It fits into registers: one tile of Bm x Bn, until the last step.",
        "Add up in a tile that starts with tl.zeros, and store C once, after the loop.",
        signs=(Moves(lambda case, moved: moved["c_ptr"].loads > 0),),
    ),
)
