"""Outputs of kernels with a wrong idea of the softmax: shared by all puzzles about it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from checker.catalog.lines import max_of_exponentials
from checker.catalog.numbers import exp32, rounded
from checker.catalog.softmax.reference import row_input, softmax
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Writes
from checker.course.text import stores_to

idea = Ideas(__file__)


def y_is(formula: Callable[[Array, Case], Array]) -> Writes:
    """The kernel writes `formula(x, case)` to y; x in float64."""
    return Writes(lambda case: {"y_ptr": formula(row_input(case), case)})


def total(x: Array) -> Array:
    """Sum over a row, kept as a column."""
    return np.asarray(x.sum(axis=-1, keepdims=True))


def shifted(x: Array) -> Array:
    """x minus its row's maximum."""
    return np.asarray(x - x.max(axis=-1, keepdims=True))


# Wrong ideas that any kernel for a row-wise softmax can have.
RESULTS = (
    idea("no-division", y_is(lambda x, _: np.exp(shifted(x))).at(max_of_exponentials, needed=True)),
    idea("no-division/exponentials", y_is(lambda x, _: np.exp(shifted(x)))),
    idea("base-two", y_is(lambda x, _: np.exp2(shifted(x)) / total(np.exp2(shifted(x))))),
    idea(
        "sum-for-its-logarithm",
        y_is(lambda x, _: exp32(shifted(x) - total(exp32(shifted(x))))).at(stores_to("y_ptr")),
        y_is(lambda x, _: exp32(x - total(exp32(x)))).at(stores_to("y_ptr")),
    ),
    idea("log-softmax", y_is(lambda x, _: shifted(x) - np.log(total(np.exp(shifted(x)))))),
    idea(
        "multiplied-by-the-sum",
        y_is(lambda x, _: exp32(shifted(x)) * total(exp32(shifted(x)))),
        y_is(lambda x, _: exp32(x) * total(exp32(x))),
    ),
    idea("mean-for-sum", y_is(lambda x, _: exp32(shifted(x)) / exp32(shifted(x)).mean(axis=-1, keepdims=True))),
    idea("mean-for-sum/as-well", y_is(lambda x, _: exp32(shifted(x)) / total(exp32(shifted(x))) / x.shape[1])),
    idea(
        "exponentials-in-half",
        y_is(lambda x, _: rounded(exp32(x)) / total(exp32(x))),
        y_is(lambda x, _: rounded(exp32(shifted(x))) / total(exp32(shifted(x)))),
    ),
    idea("base-two/numerator", y_is(lambda x, _: np.exp2(shifted(x)) / total(np.exp(shifted(x))))),
    idea("base-two/sum", y_is(lambda x, _: np.exp(shifted(x)) / total(np.exp2(shifted(x))))),
    idea("wrong-row-map", y_is(lambda x, _: np.broadcast_to(softmax(x[:1]), x.shape))),
)
