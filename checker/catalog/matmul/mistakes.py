"""Outputs and traffic of kernels with a wrong idea of a product of matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from checker.catalog.lines import elementwise, loads_of_minus_infinity
from checker.catalog.matmul.launch import Shape, shape_of, wide
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Load, Moves, Raises, Writes
from checker.course.text import products_of
from checker.course.verdict import Traffic

idea = Ideas(__file__)

Formula = Callable[[Array, Array, Shape], Array]
OF_TILES = products_of("a_ptr", "b_ptr")


def _c_is(formula: Formula) -> Writes:
    """The kernel writes `formula(a, b, shape)` to C; A and B in float64."""
    return Writes(lambda case: {"c_ptr": formula(*wide(case), shape_of(case))})


def _of_steps(weight: Callable[[Array, Shape], Array]) -> Formula:
    """C, with a weight for each column of A and B, by its number."""
    return lambda a, b, s: np.asarray((a * weight(np.arange(s.k), s)) @ b.T)


def _whole(s: Shape) -> bool:
    """Return whether all steps along k are whole."""
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


def _sliding(columns: Array, s: Shape, steps: int) -> Array:
    """Return how often each column is met by `steps` tiles that begin at 0, 1, 2 …"""
    first, last = np.maximum(columns - s.Bk + 1, 0), np.minimum(columns, steps - 1)
    return np.asarray(np.maximum(last - first + 1, 0))


def _stepping(step: Callable[[Shape], int]) -> Writes:
    """C, if tiles along k begin so many columns apart, and each has Bk of them."""

    def met(columns: Array, s: Shape) -> Array:
        first = np.arange(0, s.k, step(s))[:, None]
        return np.asarray(((columns >= first) & (columns < first + s.Bk)).sum(axis=0))

    return _c_is(_of_steps(met))


def _elementwise(a: Array, b: Array, s: Shape) -> Array:
    """C, if tiles are multiplied element by element, where that is possible."""
    if not s.Bm == s.Bn == s.Bk:
        return np.full((s.m, s.n), np.nan)
    tm, tn, tk = s.tiles
    a, b = (np.pad(x, ((0, -len(x) % s.Bk), (0, -s.k % s.Bk))) for x in (a, b))
    tiled = (x.reshape(count, s.Bk, tk, s.Bk) for x, count in ((a, tm), (b, tn)))
    return np.asarray(np.einsum("irtc,jrtc->irjc", *tiled).reshape(tm * s.Bm, tn * s.Bn)[: s.m, : s.n])


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
    idea("not-accumulated", _c_is(_of_steps(lambda c, s: c >= (s.tiles[2] - 1) * s.Bk))),
    idea("tile-and-step-differ", _stepping(lambda s: s.Bm), _stepping(lambda s: s.Bn)),
    idea(
        "elementwise-product",
        _c_is(_elementwise).at(elementwise, needed=True),
        Raises(r"incompatible dimensions|could not be broadcast|Cannot broadcast", elementwise),
    ),
    idea(
        "dot-shapes-do-not-fit",
        Raises(r"not compatible for matmul|equal reduction dimensions|mismatch in its core", OF_TILES),
    ),
    idea("k-tail-left-out", _c_is(_of_steps(lambda c, s: c < _whole_steps(s)))),
    idea(
        "loop-to-another-end",
        _c_is(_of_steps(lambda c, s: c < -(-s.m // s.Bk) * s.Bk)),
        _c_is(_of_steps(lambda c, s: c < -(-s.n // s.Bk) * s.Bk)),
    ),
    idea(
        "k-not-advanced",
        *(
            _c_is(lambda a, b, s, of=of: _stuck(a, b, s, *of))  # type: ignore[misc]
            for of in ((True, True), (True, True, True))
        ),
    ),
    idea(
        "k-not-advanced/a",
        *(_c_is(lambda a, b, s, of=of: _stuck(a, b, s, *of)) for of in ((True, False), (True, False, True))),  # type: ignore[misc]
    ),
    idea(
        "k-not-advanced/b",
        *(_c_is(lambda a, b, s, of=of: _stuck(a, b, s, *of)) for of in ((False, True), (False, True, True))),  # type: ignore[misc]
    ),
    idea(
        "steps-overlap",
        _c_is(_of_steps(lambda c, s: _sliding(c, s, s.k))),
        _c_is(_of_steps(lambda c, s: _sliding(c, s, s.tiles[2]))),
    ),
    idea("padding-counted", _c_is(lambda a, b, s: a @ b.T + (s.tiles[2] * s.Bk - s.k)).at(Load.PADDED)),
    idea(
        "padding-counted/minus-infinity",
        _c_is(_where(_whole, lambda a, b: a @ b.T, np.inf)).at(loads_of_minus_infinity),
        _c_is(_where(_whole, lambda a, b: a @ b.T)).at(loads_of_minus_infinity, needed=True),
    ),
    idea("b-not-transposed", _c_is(_where(lambda s: s.n == s.k, lambda a, b: a @ b))),
    idea("a-transposed", _c_is(_where(lambda s: s.m == s.k, lambda a, b: a.T @ b.T))),
    idea("c-transposed", _c_is(_where(lambda s: s.m == s.n, lambda a, b: (a @ b.T).T))),
    idea("a-for-b", _c_is(_where(lambda s: s.n <= s.m, lambda a, b: a @ a[: len(b)].T))),
    idea("rows-read-again", Moves(_reads_rows_again)),
    idea("accumulator-in-memory", Moves(lambda case, moved: moved["c_ptr"].loads > 0)),
)
