"""The right softmax, its traffic budget, and a law that it obeys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from checker.catalog.numbers import EPS32, THREADS
from checker.course.case import Array, Case, Outputs, Tensor
from checker.course.misconception import Ideas, Moves
from checker.course.puzzle import Budget, Expected, Invariant
from checker.course.verdict import Traffic

idea = Ideas(__file__)

LARGEST_EXPONENT = 88.0  # from 88.7 on, exp is infinite in fp32


def row_input(case: Case) -> Array:
    """Return the case's x in float64, shape (rows, n_cols)."""
    return case.tensors["x_ptr"].values.astype(np.float64)


def softmax(x: Array) -> Array:
    """Softmax over the last axis in the precision of `x`."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def expected(case: Case) -> Mapping[str, Expected]:
    """Return the softmax of x, and what a right kernel in fp32 may differ by.

    An exponential of a rounded argument x errs by about |x|·eps, hence the tolerance grows with the
    largest finite |x| of a row. Elements at the maximum are rounded as that is, and have the exponential 1: all that
    they err by is in the sum, of others, or is what exp(x) errs by where nothing is subtracted, up to 88. Then the sum
    is rounded once a block, all in one direction if the terms are alike, and so on a GPU is that of each thread, which
    adds up its part of a block term by term, by half an eps each. The result is rounded to the output's type, which has
    a smallest step; a rounding costs half an eps, and a whole one is allowed.
    """
    x = row_input(case)
    y = case.tensors["y_ptr"]
    width = min(y.axes[1].block or x.shape[1], x.shape[1])
    additions = -(-x.shape[1] // width) + (width / THREADS / 2 if case.on_gpu else 0)
    values = softmax(x)
    magnitude = np.max(np.abs(x), axis=-1, keepdims=True, where=np.isfinite(x), initial=0.0)
    below = x < x.max(axis=-1, keepdims=True)
    of_others = np.maximum(below, np.sum(values * below, axis=-1, keepdims=True))
    shift = np.maximum(np.minimum(magnitude, LARGEST_EXPONENT), magnitude * of_others)
    relative = EPS32 * (16 + 4 * shift + additions) + y.eps
    return {"y_ptr": Expected(values, values * relative + max(y.smallest, 1e-30))}


def budget(passes: int) -> Callable[[Case], Mapping[str, Budget]]:
    """Traffic of a softmax that reads x `passes` times and writes y once, neither in small pieces."""

    def of(case: Case) -> Mapping[str, Budget]:
        x = case.tensors["x_ptr"]
        elements, part = x.values.size, -(-_at_once(x) // 4)
        return {
            "x_ptr": Budget(loads=passes * elements, least_at_once=part),
            "y_ptr": Budget(stores=elements, least_at_once=part),
        }

    return of


def _at_once(x: Tensor) -> int:
    """Elements of a whole block, or of all there is."""
    (count, n), (rows, columns) = x.values.shape, x.axes
    return int(min(rows.block or 1, count) * min(columns.block, n))


def blockwise_budget(passes: int) -> Callable[[Case], Mapping[str, Budget]]:
    """Return the same, for rows that are walked in blocks: between two passes, one block of each row may be kept.

    Who reads x twice has merged the passes for the maximum and the sum, which is welcome in any puzzle.
    """

    def of(case: Case) -> Mapping[str, Budget]:
        x, most = case.tensors["x_ptr"], budget(passes)(case)
        count, n = x.values.shape
        least = count * (2 * n - min(x.axes[1].block, n))
        return {**most, "x_ptr": replace(most["x_ptr"], least_loads=least, least_at_once=_at_once(x), anew="each pass")}

    return of


def _keeps_the_row(case: Case, moved: Mapping[str, Traffic]) -> bool:
    return moved["x_ptr"].loads < blockwise_budget(2)(case)["x_ptr"].least_loads


ROW_KEPT = idea("row-kept-in-registers", Moves(_keeps_the_row))


def _rows_not_one(case: Case, outputs: Outputs) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    y = outputs["y_ptr"].astype(np.float64)
    slack = y.shape[-1] * case.tensors["y_ptr"].eps + 4 * float(np.max(expected(case)["y_ptr"].tolerance))
    return np.asarray(np.abs(y.sum(axis=-1) - 1.0) > slack)


ROWS_SUM_TO_ONE = Invariant(
    id="rows-do-not-sum-to-one",
    title="The rows do not sum to 1",
    explanation="A softmax is a probability distribution: each row of y must sum to 1.",
    broken=_rows_not_one,
)
