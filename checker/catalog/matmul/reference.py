"""The right product of matrices, and the budget of a launch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checker.catalog.attention.bounds import A_PROGRAM, A_VISIT
from checker.catalog.matmul.launch import shape_of, wide
from checker.catalog.numbers import EPS32, dot_eps
from checker.course.case import Array, Case
from checker.course.puzzle import Budget, Expected

WHY_BLOCKS = (
    "Tiles of Bm x Bk, Bn x Bk and Bm x Bn fit into the memory on the chip. Whole rows of A and B would not: k may be "
    "any size."
)


def expected(case: Case) -> Mapping[str, Expected]:
    """C, with a running-error bound.

    Each entry is a sum of k products. In tiles, a product is rounded at most Bk times by tl.dot and once for each tile
    when it is added up, each time by eps of what has been added up, which is never more than (|A| |B|ᵀ). On a GPU, fp32
    inputs may be rounded to TF32 first. C is rounded to its own type, which has a smallest step.
    """
    (a, b), c, s = wide(case), case.tensors["c_ptr"], shape_of(case)
    right = a @ b.T
    relative = EPS32 * (s.Bk + s.tiles[2]) + 4 * dot_eps(case)
    tolerance = (np.abs(a) @ np.abs(b).T) * relative + c.eps * np.abs(right) + max(c.smallest, 1e-30)
    return {"c_ptr": Expected(right, tolerance)}


def budget(case: Case) -> Mapping[str, Budget]:
    """Return a once for each of the Tn tiles of columns of C, B once for each of the Tm tiles of its rows, C stored
    once.

    None of them in small pieces.
    """
    s = shape_of(case)
    tm, tn, _ = s.tiles

    def part(rows: int, columns: int) -> int:
        return -(-rows * columns // 8)

    rows, columns, inner = min(s.m, s.Bm), min(s.n, s.Bn), min(s.k, s.Bk)
    return {
        "a_ptr": Budget(loads=tn * s.m * s.k, least_at_once=part(rows, inner)),
        "b_ptr": Budget(loads=tm * s.n * s.k, least_at_once=part(columns, inner)),
        "c_ptr": Budget(stores=s.m * s.n, least_at_once=part(rows, columns)),
    }


def work(case: Case) -> int:
    """Multiply-adds in whole tiles."""
    s = shape_of(case)
    tm, tn, tk = s.tiles
    return tm * tn * tk * s.Bm * s.Bn * s.Bk


def by_hand(case: Case) -> Array:
    """Elements that each program may multiply without tl.dot: a few tiles a step, where a product takes at least 16."""
    s = shape_of(case)
    tm, tn, tk = s.tiles
    return np.full(tm * tn, (A_VISIT * tk + A_PROGRAM) * s.largest_tile)


def largest_tile(case: Case) -> int:
    """Elements of the largest tile of the launch."""
    return shape_of(case).largest_tile
