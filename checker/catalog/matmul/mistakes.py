"""What kernels with a wrong idea of a product of matrices would write, or move."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from checker.catalog.matmul.launch import Shape, shape_of, wide
from checker.course.case import Array, Case
from checker.course.misconception import Access, Misconception, Moves, Part, Product, Raises, Writes
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


def _stepping(step: Callable[[Shape], int]) -> Writes:
    """C, if tiles along k begin so many columns apart, and each has Bk of them."""

    def met(columns: Array, s: Shape) -> Array:
        first = np.arange(0, s.k, step(s))[:, None]
        return np.asarray(((columns >= first) & (columns < first + s.Bk)).sum(axis=0))

    return _c_is(_of_steps(met)).at(Part.LOOP_END)


def _elementwise(a: Array, b: Array, s: Shape) -> Array:
    """C, if tiles are multiplied element by element, where that is possible."""
    if not s.Bm == s.Bn == s.Bk:
        return np.full((s.m, s.n), np.nan)
    tm, tn, tk = s.tiles
    a, b = (np.pad(x, ((0, -len(x) % s.Bk), (0, -s.k % s.Bk))) for x in (a, b))
    tiled = (x.reshape(count, s.Bk, tk, s.Bk) for x, count in ((a, tm), (b, tn)))
    return np.asarray(np.einsum("irtc,jrtc->irjc", *tiled).reshape(tm * s.Bm, tn * s.Bn)[: s.m, : s.n])


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
        "Each step's product takes the place of the one before it. In the lesson's example by hand, the first entry "
        "ends as 1, the product of iteration 2, and not as 5 + 1 = 6.",
        "Start a tile of zeros before the loop, and add each product to it: acc += tl.dot(a, tl.trans(b)).",
        question="In the lesson's example, the first entry is 5 after iteration 1 and 6 after iteration 2. Print your "
        "tile of C at the end of each iteration: what became of the 5?",
        signs=(_c_is(_of_steps(lambda c, s: c >= (s.tiles[2] - 1) * s.Bk)).at(OF_TILES),),
    ),
    Misconception(
        "start-times-step",
        "Column numbers grow by Bk times Bk",
        "The loop counts columns: with range(0, k, Bk), start is 0, 16, 32 for tiles of 16. Multiplied by Bk once "
        "more, it is 0, 256, 512, so the second step begins at column 256, and the mask hides what does not exist.",
        "Either range(0, k, Bk) and start + tl.arange(0, Bk), or range(0, tl.cdiv(k, Bk)) and start * Bk + "
        "tl.arange(0, Bk).",
        question="k = 40 and Bk = 16: which three values does start have, and which column numbers does each of the "
        "three steps load?",
        signs=(_c_is(_of_steps(lambda c, s: c // s.Bk % s.Bk == 0)).at(Part.START_TIMES_STEP, needed=True),),
    ),
    Misconception(
        "tile-and-step-differ",
        "The loop along k steps by the side of another tile",
        "Each step loads Bk columns, and start grows by Bm or Bn. Where that is larger than Bk, columns are left out: "
        "with Bm = 32 and Bk = 16, the columns 16 to 31. Where it is smaller, columns count twice.",
        "The step of the loop and the length of the tl.arange are the same: range(0, k, Bk).",
        question="Bm = 32, Bk = 16, k = 64: with which column does the second step begin, and which one follows the "
        "last column of the first step?",
        signs=(_stepping(lambda s: s.Bm), _stepping(lambda s: s.Bn)),
    ),
    Misconception(
        "divided-by-k",
        "The sum of products is divided by k",
        "Each entry of C is the mean of k products, and it should be their sum. In the lesson's example, with four "
        "columns, the first entry becomes 6 / 4 = 1.5 instead of 6.",
        "Store the sum as it is.",
        question="Entry (0, 0) of the lesson's example is 5 + 1. Which number is yours, and by what was it divided?",
        signs=(_c_is(lambda a, b, s: a @ b.T / s.k),),
    ),
    Misconception(
        "elementwise-product",
        "Tiles are multiplied element by element",
        "In Triton * multiplies each element with the one in the same place, as in NumPy. An entry of a matrix product "
        "is a sum over k: row 1 2 of a times row 2 1 of b is 1 · 2 + 2 · 1 = 4, and not the two numbers 2 2.",
        "Multiply tiles with tl.dot, and turn B's tile for it: acc += tl.dot(a, tl.trans(b)).",
        question="a is Bm x Bk, and b is Bn x Bk. Which shape must their product have, and over which side is it "
        "summed? What does * do with the two?",
        signs=(
            _c_is(_elementwise).at(Part.ELEMENTWISE, needed=True),
            Raises(re.compile(r"incompatible dimensions|could not be broadcast|Cannot broadcast"), Part.ELEMENTWISE),
        ),
    ),
    Misconception(
        "dot-shapes-do-not-fit",
        "The sides of a and b do not fit in tl.dot",
        "tl.dot(a, b) sums over the columns of a and the rows of b, and here that must be k. Loaded row by row, a is "
        "Bm x Bk and b is Bn x Bk. So b has to be turned, to Bk x Bn, and a stays as it is.",
        "tl.dot(a, tl.trans(b)). Or load b as Bk x Bn, with the columns of B down its rows, and leave out tl.trans.",
        question="Bm = 16, Bn = 32, Bk = 64: which shapes do your two arguments of tl.dot have? Which side of each is "
        "along k?",
        signs=(
            Raises(re.compile(r"not compatible for matmul|equal reduction dimensions|mismatch in its core"), OF_TILES),
        ),
    ),
    Misconception(
        "one-step-only",
        "Only the first Bk columns of A and B are multiplied",
        "C is right as far as the first step along k goes. An entry of C is the sum of k products, and one tile has "
        "Bk of them: of 40 columns, a tile of 16 leaves out 24.",
        "Loop over the columns of A and B in steps of Bk: for start in range(0, k, Bk).",
        question="A has 40 columns, and a tile has 16. How many tiles does a strip of A have, and how many of them "
        "does your program load?",
        signs=(_c_is(_of_steps(lambda c, s: c < s.Bk)).at(Part.LOOP_END),),
    ),
    Misconception(
        "k-tail-left-out",
        "The last step along k is left out when it is not whole",
        "The number of steps was rounded down. Of 40 columns in steps of 16, only two steps are taken, and the last 8 "
        "products of each sum are missing. If k is smaller than Bk, all of them are.",
        "range(0, k, Bk) takes the step that is not whole as well; a mask keeps it inside.",
        question="Columns 0 to 39 in steps of 16: with which columns do the steps begin, and with which ones do yours?",
        signs=(_c_is(_of_steps(lambda c, s: c < _whole_steps(s))).at(Part.LOOP_END),),
    ),
    Misconception(
        "loop-to-another-end",
        "The loop along k ends at m or n",
        "m and n count the rows of A and B, and k counts their columns. Where your end is smaller than k, products are "
        "missing. Where it is larger, the steps past the end of k multiply zeros.",
        "An entry of C is the sum of k products: range(0, k, Bk).",
        question="A is 3 x 5 and B is 2 x 5. How many products does an entry of C add up, and is that number m, n or "
        "k?",
        signs=(
            _c_is(_of_steps(lambda c, s: c < -(-s.m // s.Bk) * s.Bk)).at(Part.LOOP_END),
            _c_is(_of_steps(lambda c, s: c < -(-s.n // s.Bk) * s.Bk)).at(Part.LOOP_END),
        ),
    ),
    Misconception(
        "k-from-the-tile",
        "Where a program begins along k depends on its tile of C",
        "The columns of A and B that a step loads were made of rows or cols, which a program id moves. So the second "
        "tile of C begins with column 16 of A and B if its side is 16, and the products before that are missing.",
        "Along k a program has lanes of its own: inner = start + tl.arange(0, Bk).",
        question="Which columns of A does program (0, 0) need, and which ones does program (1, 0)? Print the column "
        "numbers that yours load in their first iteration.",
        signs=(
            _c_is(lambda a, b, s: _from_the_tile(a, b, s, s.Bm, s.tiles[0])),
            _c_is(lambda a, b, s: _from_the_tile(b, a, s, s.Bn, s.tiles[1]).T),
        ),
    ),
    Misconception(
        "k-not-advanced",
        "Each step along k loads the same tiles again",
        "The columns of A and B do not change in the loop: the first Bk of them are loaded in every step, and the "
        "others never. The first entry of the lesson's example becomes 5 + 5 = 10 instead of 5 + 1 = 6.",
        "Add the loop's own counter to the columns: start + tl.arange(0, Bk), if the loop is range(0, k, Bk).",
        question="Print the column numbers of a and of b in each iteration. With tiles of 16 columns, which should "
        "they be in the second one?",
        signs=tuple(
            _c_is(lambda a, b, s, of=of: _stuck(a, b, s, *of))  # type: ignore[misc]
            for of in ((True, True), (True, True, True))
        ),
    ),
    *(
        Misconception(
            "k-not-advanced",
            f"Each step along k loads the same tile of {name} again",
            f"The columns of {other} advance with the loop, and those of {name} do not: its first Bk columns are "
            f"loaded in every step, and meet columns of {other} that are not theirs.",
            f"Let the columns of {name} advance as well: start + tl.arange(0, Bk), if the loop is range(0, k, Bk). If "
            f"the loop adds Bk to pointers, it adds it to those of {name}, too.",
            question="Print the column numbers of a and of b in each iteration, or their pointers. With tiles of 16 "
            "columns, which should they be in the second one?",
            signs=tuple(
                _c_is(lambda a, b, s, of=of: _stuck(a, b, s, *of)).at(line)  # type: ignore[misc]
                for of in (moved, (*moved, True))
            ),
        )
        for name, other, moved, line in (
            ("A", "B", (True, False), Access("a_ptr")),
            ("B", "A", (False, True), Access("b_ptr")),
        )
    ),
    Misconception(
        "steps-overlap",
        "Tiles of two steps overlap",
        "Each tile begins one column after the one before it, so most columns of A and B count several times. If the "
        "lesson's example takes a step at each of its four columns, the first entry becomes 11 instead of 6.",
        "Either the loop counts columns, range(0, k, Bk), or it counts tiles, and then tile t begins at t * Bk.",
        question="Tiles of 16 columns: at which column does your first tile end, and at which one does your second "
        "tile begin?",
        signs=(
            _c_is(_of_steps(lambda c, s: _sliding(c, s, s.k))).at(Part.LOOP_END),
            _c_is(_of_steps(lambda c, s: _sliding(c, s, s.tiles[2]))).at(Part.LOOP_END),
        ),
    ),
    Misconception(
        "added-twice",
        "What was added up is added to itself",
        "Each step adds its product and, once more, the whole sum so far. If tl.dot is given the accumulator as a "
        "third argument, its result contains it already. In the lesson's example the first entry becomes "
        "5 + (5 + 1) = 11 instead of 6.",
        "Write acc = tl.dot(a, b, acc), or acc += tl.dot(a, b).",
        question="In the lesson's example, iteration 2 should add 1 to the first entry, which is 5. Print your tile "
        "before and after iteration 2: how much was added, and what is it made of?",
        signs=(_c_is(_of_steps(_added_twice)).at(OF_TILES),),
    ),
    Misconception(
        "padding-counted",
        "What lies past the end of k is counted",
        "Lanes past the end of k hold 1 in both tiles, so each of them adds 1 · 1 to every entry of C. In the lesson's "
        "example with three columns, 5 2 over 2 4 becomes 6 3 over 3 5.",
        "A lane that should add nothing to a sum of products holds 0: other=0.0 in both loads.",
        question="A lane past the end of k meets another such lane, and their product goes into the sum. Which number "
        "must they hold, so that the sum does not change?",
        signs=(_c_is(lambda a, b, s: a @ b.T + (s.tiles[2] * s.Bk - s.k)).at(Part.PADDING),),
    ),
    Misconception(
        "padding-counted",
        "What lies past the end of k is counted",
        "Lanes past the end of k hold -inf. That suits a maximum, but here they are multiplied and added. One of them "
        "makes inf of an entry of C, or NaN, because -inf * 0 is not a number.",
        "A lane that should add nothing to a sum of products holds 0: other=0.0 in both loads.",
        question="A lane that holds -inf meets 2, -2 or 0 in the other tile. What does each of the three products add "
        "to the sum?",
        signs=(
            _c_is(_where(_whole, lambda a, b: a @ b.T, np.inf)).at(Part.LOAD_OF_MINUS_INFINITY),
            _c_is(_where(_whole, lambda a, b: a @ b.T)).at(Part.LOAD_OF_MINUS_INFINITY, needed=True),
        ),
    ),
    Misconception(
        "tile-of-the-other-axis",
        "The rows of B are chosen by the program's place along the rows of C",
        "Program (i, j) multiplies A's tile i with B's tile i. Then all tiles of C in a row of tiles are the same: "
        "programs (1, 0) and (1, 1) compute the same numbers.",
        "The columns of C are the rows of B: cols, which tl.program_id(1) decides, chooses them.",
        question="Program (1, 0) makes rows 16 to 31 and columns 0 to 15 of C. Which rows of A and which rows of B "
        "does it need, and which does yours load?",
        signs=(_c_is(_b_of_the_row_tile),),
    ),
    Misconception(
        "tile-of-the-other-axis",
        "The rows of A are chosen by the program's place along the columns of C",
        "Program (i, j) multiplies A's tile j with B's tile j. Then all tiles of C in a column of tiles are the same: "
        "programs (0, 1) and (1, 1) compute the same numbers.",
        "The rows of C are the rows of A: rows, which tl.program_id(0) decides, chooses them.",
        question="Program (0, 1) makes rows 0 to 15 and columns 16 to 31 of C. Which rows of A and which rows of B "
        "does it need, and which does yours load?",
        signs=(_c_is(_a_of_the_column_tile),),
    ),
    Misconception(
        "b-not-transposed",
        "This is A B, not A Bᵀ",
        "The sum runs down the columns of B, as if B had the shape (k, n). It has a row for each column of C, shape "
        "(n, k). With the two tiles of the lesson's iteration 1, the first entry becomes 1 · 1 + 2 · 0 = 1 instead of "
        "1 · 1 + 2 · 2 = 5.",
        "Entry (i, j) of C multiplies row i of A with row j of B. Load B like A, rows by columns; tl.trans turns the "
        "tile for tl.dot.",
        question="In iteration 1 of the lesson's example, a is 1 2 over 0 1, and so is b. Which four of these numbers "
        "make the 5, and which four does your kernel multiply?",
        signs=(_c_is(_where(lambda s: s.n == s.k, lambda a, b: a @ b)),),
    ),
    Misconception(
        "a-transposed",
        "This is Aᵀ Bᵀ, not A Bᵀ",
        "The sum runs down the columns of A, where it should run along its rows. With 1 2 over 0 1 as A, the first "
        "entry of C then takes 1 and 0 instead of 1 and 2.",
        "Address A with rows[:, None] * a_row_stride plus its columns, inner[None, :].",
        question="With 1 2 over 0 1 as A, memory holds 1 2 0 1. Which two of these offsets, 0 to 3, does entry (0, 0) "
        "of C need, and which two does your kernel load for it?",
        signs=(_c_is(_where(lambda s: s.m == s.k, lambda a, b: a.T @ b.T)),),
    ),
    Misconception(
        "c-transposed",
        "C is stored transposed",
        "Entry (i, j) lies where entry (j, i) belongs. Where C has as many rows as columns, all of it is written, but "
        "only its diagonal is right.",
        "Address C with rows[:, None] * c_row_stride + cols[None, :].",
        question="C is 16 x 16. How many elements after the first one does row 2, column 5 lie, and where does your "
        "store put that entry?",
        signs=(_c_is(_where(lambda s: s.m == s.n, lambda a, b: (a @ b.T).T)),),
    ),
    Misconception(
        "a-for-b",
        "This is A Aᵀ: B is not looked at",
        "Both tiles are loaded from A, so entry (i, j) of C is row i of A times row j of A. In the lesson's example "
        "the last entry becomes 1 + 9 = 10 instead of 4.",
        "Load the second tile from b_ptr, with b_row_stride.",
        question="Read your two loads aloud. Which pointer, which numbers of rows and which stride has each, and which "
        "of these three should differ?",
        signs=(_c_is(_where(lambda s: s.n <= s.m, lambda a, b: a @ a[: len(b)].T)),),
    ),
    Misconception(
        "rows-read-again",
        "Rows past the last one read real rows again",
        "The last tile has more rows than are left, and its addresses were brought back inside. Nothing outside is "
        "read then, but real rows are read once more for nothing: of 40 rows in tiles of 16, rows 0 to 7.",
        "Mask the rows that do not exist, and leave their addresses as they are, without % m or % n.",
        question="40 rows in tiles of 16: which row numbers does the last tile have, and which rows of A or B does it "
        "load in your kernel?",
        signs=(Moves(_reads_rows_again),),
    ),
    Misconception(
        "accumulator-in-memory",
        "C goes back and forth between memory and the chip",
        "C is read, so the sum is kept in memory between two steps. With 64 columns in steps of 16, each entry is "
        "stored four times, where one store is enough. A tile of Bm x Bn fits into registers until the last step.",
        "Add up in a tile that starts with tl.zeros, and store C once, after the loop.",
        question="Only one program works on a tile of C. Where can it keep the sum from one step to the next, so that "
        "nothing of C is ever loaded?",
        signs=(Moves(lambda case, moved: moved["c_ptr"].loads > 0),),
    ),
)
