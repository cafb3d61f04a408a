"""Mistakes of a softmax whose row is one block, and that subtracts no maximum."""

from __future__ import annotations

import numpy as np

from checker.catalog.lines import zeroed_infinity, zeroed_padding
from checker.catalog.softmax import rows
from checker.catalog.softmax.mistakes import y_is
from checker.catalog.softmax.reference import softmax
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Load, Writes

idea = Ideas(__file__)


def _padding(case: Case) -> int:
    return rows.block_size(case) - rows.columns(case)


def _over_padding(x: Array, case: Case) -> Array:
    """Softmax of the row continued with zeros to the end of the block."""
    padded = np.pad(x, ((0, 0), (0, _padding(case))))
    return softmax(padded)[:, : x.shape[1]]


def _of_zeroed(x: Array, case: Case) -> Array:
    """Return the same, with 0 for each -inf in the row as well."""
    return _over_padding(np.where(np.isneginf(x), 0.0, x), case)


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
    idea(
        "sum-of-x",
        y_is(lambda x, _: np.exp(x) / x.sum(axis=1, keepdims=True)),
        y_is(lambda x, case: np.exp(x) / (x.sum(axis=1, keepdims=True) - (np.inf if _padding(case) else 0.0))),
    ),
    idea("half-sum", y_is(_half_sum)),
)
