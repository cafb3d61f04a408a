"""Mistakes of a softmax whose row is one block, and that subtracts no maximum."""

from __future__ import annotations

from functools import partial

import numpy as np

from checker.catalog.lines import branches_swapped, zeroed_infinity, zeroed_padding
from checker.catalog.numbers import exp32
from checker.catalog.softmax import rows
from checker.catalog.softmax.mistakes import y_is
from checker.catalog.softmax.reference import softmax
from checker.course.case import Array, Case
from checker.course.misconception import Load, Writes
from checker.course.words import Ideas

idea = Ideas(__file__)


def _padding(case: Case) -> int:
    return rows.block_size(case) - rows.columns(case)


def _over_padding(x: Array, case: Case) -> Array:
    """Softmax of the row continued with zeros to the end of the block."""
    padded = np.pad(x, ((0, 0), (0, _padding(case))))
    return softmax(padded)[:, : x.shape[1]]


def _of_zeroed(x: Array, case: Case) -> Array:
    """The same, with 0 for each -inf in the row as well."""
    return _over_padding(np.where(np.isneginf(x), 0.0, x), case)


def _by_group(x: Array, case: Case, of: int) -> Array:
    """Each group of so many lanes divided by its own sum."""
    e = np.pad(exp32(x), ((0, 0), (0, _padding(case))))
    grouped = e.reshape(len(x), -1, min(of, e.shape[1]))
    made = grouped / grouped.sum(axis=2, keepdims=True)
    return np.asarray(made.reshape(len(x), -1)[:, : x.shape[1]])


def _half_sum(x: Array, case: Case) -> Array:
    if case.tensors["x_ptr"].values.dtype != np.float16:
        return softmax(x)
    e = np.exp(x).astype(np.float16)
    return np.asarray(e / e.sum(axis=1, keepdims=True, dtype=np.float16))


def _with_epsilon(epsilon: float) -> Writes:
    return y_is(lambda x, _: np.exp(x) / (np.exp(x).sum(axis=1, keepdims=True) + epsilon))


WHOLE_ROW = (
    idea("sums-padded-lanes", y_is(_over_padding).at(zeroed_padding, needed=True)),
    idea("sums-padded-lanes/infinity", y_is(_of_zeroed).at(zeroed_infinity, needed=True)),
    idea("sums-padded-lanes/sum", y_is(_over_padding).at(Load.LAST)),
    idea(
        "sums-padded-lanes/taken-out",
        y_is(lambda x, case: np.exp(x) / (np.exp(x).sum(axis=1, keepdims=True) + _padding(case) - x.shape[1])),
    ),
    idea("epsilon-in-the-sum", *(_with_epsilon(10.0**-digits) for digits in range(3, 17))),
    idea("infinite-padding", y_is(lambda x, case: np.zeros_like(x) if _padding(case) else softmax(x)).at(Load.LAST)),
    idea("no-division", y_is(lambda x, _: np.exp(x))),
    idea("sum-by-group", *(y_is(partial(_by_group, of=of)) for of in (32, 64, 16, 128, 8, 4, 2, 256))),
    idea("sum-by-lane", y_is(lambda x, _: exp32(x) / exp32(x))),
    idea("divides-by-max", y_is(lambda x, _: np.exp(x) / x.max(axis=1, keepdims=True))),
    idea("no-exponential", y_is(lambda x, _: x / x.sum(axis=1, keepdims=True))),
    idea(
        "sum-of-x",
        y_is(lambda x, _: np.exp(x) / x.sum(axis=1, keepdims=True)),
        y_is(lambda x, case: np.exp(x) / (x.sum(axis=1, keepdims=True) - (np.inf if _padding(case) else 0.0))),
    ),
    idea("half-sum", y_is(_half_sum)),
    idea("branches-swapped", y_is(lambda x, _: np.full_like(x, np.nan)).at(branches_swapped, needed=True)),
)
