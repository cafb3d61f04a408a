"""Wrong ideas about a bias on the scores: whether it is scaled, where it is added, and which of its numbers are loaded.

Numbers are those of the lesson: the scores 1 3 | 2 5 of one query, the values 10 20 | 30 40, and the bias 2 0 | 1 -2,
which makes all scores 3 and O 25.
"""

from __future__ import annotations

import numpy as np

from checker.catalog.attention.bias.models import (
    Address,
    added_after,
    from_addresses,
    in_place,
    merged,
    reaching,
    right_address,
    seen_lanes,
    strides_of,
    with_bias,
    with_scores,
)
from checker.catalog.attention.forward.mistakes import Q_K
from checker.catalog.attention.launch import shape_of, writes
from checker.catalog.attention.reference import bias, scaled_products
from checker.catalog.numbers import LN_2, exp32, rounded
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Writes

idea = Ideas(__file__)


def _scale(case: Case) -> float:
    return float(case.scalars["scale"])


def _contiguous(case: Case, head: Array, query: Array, key: Array) -> Array:
    s = shape_of(case)
    return np.asarray((head * s.n_q + query) * s.n_k + key)


def _exchanged(case: Case, head: Array, query: Array, key: Array) -> Array:
    of_head, of_row, of_column = strides_of(case)
    return np.asarray(head * of_head + query * of_column + key * of_row)


def _columns_side_by_side(case: Case, head: Array, query: Array, key: Array) -> Array:
    of_head, of_row, _ = strides_of(case)
    return np.asarray(head * of_head + query * of_row + key)


def _rows_dense(case: Case, head: Array, query: Array, key: Array) -> Array:
    of_head, _, of_column = strides_of(case)
    return np.asarray(head * of_head + query * shape_of(case).n_k + key * of_column)


def _as_q(case: Case, head: Array, query: Array, key: Array) -> Array:
    of_head, of_row = int(case.scalars["q_head_stride"]), int(case.scalars["q_row_stride"])
    return np.asarray(head * of_head + query * of_row + key)


def _first_keys(case: Case, head: Array, query: Array, key: Array) -> Array:
    return right_address(case, head, query, key % shape_of(case).Bc)


def _first_queries(case: Case, head: Array, query: Array, key: Array) -> Array:
    return right_address(case, head, query % shape_of(case).Br, key)


_STRIDES: tuple[tuple[str, Address], ...] = (
    ("bias-strides", _exchanged),
    ("bias-strides/dense", _contiguous),
    ("bias-strides/columns", _columns_side_by_side),
    ("bias-strides/rows", _rows_dense),
    ("bias-strides/of-q", _as_q),
)

BIAS_OF_SCORES = (
    idea(
        "bias-missing",
        with_scores(scaled_products),
        merged(lambda s, b: s + b, lambda s, b, m: exp32(s - m)),
        Writes(lambda case: with_bias(case, np.zeros(1)) if writes(case, "dbias") else {}),
    ),
    idea(
        "bias-scaled",
        with_scores(lambda case: scaled_products(case) + _scale(case) * bias(case)),
        Writes(lambda case: with_bias(case, _scale(case) * bias(case)) if writes(case, "dbias") else {}),
    ),
    idea(
        "bias-outside-the-exponential",
        merged(lambda s, b: s, lambda s, b, m: exp32(s - m) + b),
        merged(lambda s, b: s, lambda s, b, m: exp32(s - m) + np.where(np.isinf(s), 0.0, b)),
        merged(lambda s, b: s + b, lambda s, b, m: exp32(s + b - m) + b),
    ),
    idea("bias-outside-the-exponential/after-softmax", Writes(added_after)),
    idea("bias-after-the-maximum", merged(lambda s, b: s, lambda s, b, m: exp32(s + b - m))),
    idea("bias-of-head-0", Writes(lambda case: with_bias(case, in_place(case)[:1]))),
    *(
        # Addresses of a denser bias than this one leave it, or they are right.
        idea(key, *(from_addresses(address) if address is _exchanged else (reaching(address),)))
        for key, address in _STRIDES
    ),
    idea("bias-of-the-first-tile", *from_addresses(_first_keys)),
    idea("bias-of-the-first-tile/queries", *from_addresses(_first_queries)),
    idea("bias-without-mask", reaching(lanes=lambda case, q, k: (q >= 0) & (k >= 0))),
    idea("bias-without-mask/queries", reaching(lanes=lambda case, q, k: (q >= 0) & (k < shape_of(case).n_k))),
    idea("bias-without-mask/queries", reaching(lanes=seen_lanes)),
    idea("bias-without-mask/keys", reaching(lanes=lambda case, q, k: (q < shape_of(case).n_q) & (k >= 0))),
    idea("bias-in-another-base", with_scores(lambda case: scaled_products(case) + LN_2 * bias(case)).at(Q_K)),
    idea(
        "scores-in-half",
        Writes(lambda case: with_bias(case, rounded(scaled_products(case)) - scaled_products(case) + bias(case))),
        with_scores(lambda case: rounded(rounded(scaled_products(case)) + bias(case))).at(Q_K),
    ),
)
