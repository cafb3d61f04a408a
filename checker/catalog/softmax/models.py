"""Models of softmax kernels that walk a row in blocks: one of several passes, and one that is online.

Their arguments are the steps of the algorithm. A mistake replaces one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from checker.catalog.numbers import FINITE, exp32
from checker.catalog.softmax.mistakes import y_is
from checker.catalog.softmax.rows import block_size, rows_owned
from checker.course.case import Array, Case
from checker.course.misconception import Writes

Exponential = Callable[[Array, Array], Array]  # of x relative to m
Maximum = Callable[[Array, Array], Array]  # of two maxima, each of shape (rows, 1)
Reduction = Callable[[Array], Array]  # from (rows, blocks, lanes) to a shape that broadcasts to it

# Axes of an array of shape (rows, blocks, lanes): a reduction along them gives one number for each row, lane or block.
ROW, LANE, BLOCK = (1, 2), 1, 2

ABOVE_A_ROW = tuple(number for number in FINITE if number >= -65504.0)  # some row of the cases is below, throughout
NEAR_A_ROW = tuple(number for number in FINITE if number >= -1e9)  # has launches with rows on both sides, if in a text


def relative(x: Array, m: Array) -> Array:
    """Return exp(x - m), the right exponential."""
    return exp32(x - m)


# Equal to exp(x - m) on paper, but the maximum is subtracted after the exponential.
LATE: tuple[Exponential, ...] = (lambda x, m: exp32(x) / exp32(m), lambda x, m: exp32(x) * exp32(-m))


def max_over(x: Array, axes: int | tuple[int, ...] = ROW) -> Array:
    """Return the maximum along these axes, which are kept."""
    return np.asarray(x.max(axis=axes, keepdims=True))


def sum_over(x: Array, axes: int | tuple[int, ...] = ROW) -> Array:
    """Return the sum along these axes, which are kept."""
    return np.asarray(x.sum(axis=axes, keepdims=True))


def in_blocks(x: Array, case: Case, other: float = -np.inf) -> Array:
    """Return rows in blocks, shape (rows, blocks, lanes), with `other` in padded lanes; x has shape (rows, n_cols)."""
    padding = -x.shape[1] % block_size(case)
    return np.pad(x, ((0, 0), (0, padding)), constant_values=other).reshape(len(x), -1, block_size(case))


def by_passes(
    m: Reduction = max_over,
    l: Reduction = sum_over,
    *,
    term: Exponential = relative,
    result: Exponential = relative,
    m_in_result: Reduction | None = None,
    x_in_result: Reduction = lambda x: x,
    other: float = -np.inf,
    other_in_max: float | None = None,
    zeroed: Literal["", "in statistics", "everywhere"] = "",
) -> Writes:
    """Return a softmax with one pass each for the maximum m, the sum l of `term(x, m)`, and `result(x, m) / l`.

    `m_in_result`: the maximum in the last pass, if not m. `x_in_result`: the values in the last pass.
    `other`: the value of padded lanes in the first two passes. `other_in_max`: their value in the first pass, if not
    `other`. `zeroed`: -inf in x becomes 0, in the first two passes or in all.
    """

    def formula(x: Array, case: Case) -> Array:
        finite = np.where(np.isneginf(x), 0.0, x) if zeroed else x
        of_max = in_blocks(finite, case, other if other_in_max is None else other_in_max)
        of_sum = in_blocks(finite, case, other)
        of_result = x_in_result(in_blocks(finite if zeroed == "everywhere" else x, case))
        normaliser = l(term(of_sum, m(of_max)))
        y = result(of_result, (m_in_result or m)(of_max)) / normaliser
        return np.asarray(np.broadcast_to(y, of_max.shape).reshape(len(x), -1)[:, : x.shape[1]])

    return y_is(formula)


Guard = Callable[[Array, bool], Array]  # the number to subtract in place of a maximum; whether the block is the first


def unguarded(m: Array, first: bool = False) -> Array:
    """Return the maximum, -inf or not."""
    return m


def guarded(m: Array, first: bool = False) -> Array:
    """Return the maximum, or 0 where it is -inf."""
    return np.where(np.isinf(m), 0.0, m)


def online(
    factor: Exponential = relative,
    guard: Guard = guarded,
    *,
    term: Exponential = relative,
    result: Exponential = relative,
    new_max: Maximum = np.maximum,
    next_max: Maximum = lambda m_new, m_block: m_new,
    block_max_in_term: bool = False,
    new_part_rescaled: bool = False,
    padded: bool = False,
    over_tile: Literal["", "sum", "both"] = "",
    divided_by: Literal["", "running l", "last l"] = "",
) -> Writes:
    """Return a softmax that updates m and l with each block, `l = l * factor(m, m_new) + sum(term(x, m_new))`.

    `guard`: see `Guard`. `new_max(m, m_block)`: m_new. `next_max(m_new, m_block)`: m for the next block.
    `block_max_in_term`: m_block in place of m_new. `new_part_rescaled`: the factor also applies to the new terms.
    `padded`: padded lanes count as terms. `over_tile`: the sum, or sum and maximum, are of all rows in a tile.
    `divided_by`: the first pass stores terms divided by this, and there is no second one.
    """

    def of_tile(x: Array, case: Case) -> Array:
        m, l, stored = np.full((len(x), 1), -np.inf), np.zeros((len(x), 1)), []
        for number, block in enumerate(in_blocks(x, case).swapaxes(0, 1)):
            lanes = block if padded else block[:, : x.shape[1] - number * block_size(case)]
            m_block = np.full_like(m, lanes.max()) if over_tile == "both" else max_over(lanes, 1)
            m_new = new_max(m, m_block)
            shift = guard(m_new, number == 0)
            terms = term(lanes, m_block if block_max_in_term else shift)
            new = np.full_like(l, terms.sum()) if over_tile else sum_over(terms, 1)
            rescaling = factor(m, shift)
            l = (l + new) * rescaling if new_part_rescaled else l * rescaling + new
            m = next_max(m_new, m_block)
            stored.append(terms / l if divided_by == "running l" else terms)
        if divided_by:
            return np.concatenate(stored, axis=1) / (l if divided_by == "last l" else 1.0)
        return np.asarray(result(x, m) / l)

    def formula(x: Array, case: Case) -> Array:
        rows = rows_owned(case) if over_tile else len(x)
        return np.concatenate([of_tile(x[first : first + rows], case) for first in range(0, len(x), rows)])

    return y_is(formula)
