"""Wrong ideas about the gradient of a bias that all heads share.

Numbers are those of the lesson: one query and two keys with the bias 0 and 1.0986. Head 0 has P .25 .75, dP 20 40 and
delta 35; head 1 has P .5 .5, dP 8 4 and delta 6. So dS is -3.75 3.75 and 1 -1, and dB is -2.75 2.75.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from checker.catalog.attention.backward.gradients import Gradients
from checker.catalog.attention.backward.models import delta_of
from checker.catalog.attention.bias.models import (
    Address,
    Lanes,
    gradient_is,
    gradient_with_p,
    in_tile,
    reaching,
    right_address,
    sum_in_half,
)
from checker.catalog.attention.launch import shape_of, wide, writes
from checker.catalog.attention.reference import bias, scaled_products, scores
from checker.catalog.numbers import LOG2_E, exp32
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Moves, Reaches, Unwritten, Writes
from checker.course.verdict import Traffic

idea = Ideas(__file__)


def _scale(case: Case) -> float:
    return float(case.scalars["scale"])


def _base_two(case: Case, factor: float) -> Array:
    """P of exp2, with a factor on the scores only."""
    with np.errstate(all="ignore"):
        return exp32((factor * scores(case) - wide(case, "lse")[..., None]) * np.log(2))


def _in_each_head(case: Case, moved: Mapping[str, Traffic]) -> bool:
    heads = shape_of(case).heads
    return (
        heads > 1 and "dbias_ptr" in moved and moved["bias_ptr"].loads == heads * case.tensors["bias_ptr"].values.size
    )


def _left_by_exchanged_ids(case: Case) -> dict[str, Array]:
    """Tiles of dB that no program has for its own which takes the axes of the grid for one another."""
    if not writes(case, "dbias"):
        return {}
    s = shape_of(case)
    queries, keys = np.ogrid[: s.n_q, : s.n_k]
    return {"dbias_ptr": (queries // s.Br >= s.tc) | (keys // s.Bc >= s.tr)}


def _rows_of_n_q(case: Case, head: Array, query: Array, key: Array) -> Array:
    return query * shape_of(case).n_q + key


def _left_by_rows_of_n_q(case: Case) -> dict[str, Array]:
    """Return what is left of dB by rows that begin n_q apart, where they overlap."""
    if not writes(case, "dbias"):
        return {}
    s = shape_of(case)
    left = np.ones(s.n_q * s.n_k, bool)
    if s.n_q <= s.n_k:
        left[_rows_of_n_q(case, np.zeros(1), *np.ogrid[: s.n_q, : s.n_k])] = False
    return {"dbias_ptr": left.reshape(s.n_q, s.n_k)}


def _storing(address: Address = right_address, lanes: Lanes = in_tile) -> Reaches:
    return reaching(address, lanes, "dbias_ptr", stores=True)


def _dense(case: Case, head: Array, query: Array, key: Array) -> Array:
    return query * shape_of(case).n_k + key


def _summed(ds: Callable[[Case, Gradients], Array]) -> Writes:
    """Return the sum over the heads of another dS."""
    return gradient_is(lambda case, g: ds(case, g).sum(axis=0))


BIAS_GRADIENT = (
    idea("dbias-scaled", gradient_is(lambda case, g: _scale(case) * g.ds.sum(axis=0))),
    idea("dbias-scaled/divided", gradient_is(lambda case, g: g.ds.sum(axis=0) / _scale(case))),
    idea("dbias-of-one-head", gradient_is(lambda case, g: g.ds[-1])),
    idea("dbias-of-one-head/first", gradient_is(lambda case, g: g.ds[0])),
    idea("delta-missing", _summed(lambda case, g: g.p * g.dp)),
    idea("delta-outside-the-product", _summed(lambda case, g: g.p * g.dp - delta_of(case))),
    idea("dp-scaled", _summed(lambda case, g: g.p * (_scale(case) * g.dp - delta_of(case)))),
    idea("scores-not-scaled", gradient_with_p(lambda case: scaled_products(case) / _scale(case) + bias(case))),
    idea("base-two", gradient_is(lambda case, g: (_base_two(case, 1.0) * (g.dp - delta_of(case))).sum(axis=0))),
    idea(
        "base-two/not-in-lse",
        gradient_is(lambda case, g: (_base_two(case, LOG2_E) * (g.dp - delta_of(case))).sum(axis=0)),
    ),
    idea("bias-in-the-loop", Moves(_in_each_head)),
    idea("accumulator-in-half", gradient_is(sum_in_half)),
    idea("program-ids-exchanged", Unwritten(_left_by_exchanged_ids), Unwritten(_left_by_exchanged_ids, shared=True)),
    idea("dbias-rows", _storing()),
    idea(
        "dbias-rows/n-q-apart",
        _storing(_rows_of_n_q),
        Unwritten(_left_by_rows_of_n_q),
        Unwritten(_left_by_rows_of_n_q, shared=True),
    ),
    idea("store-without-mask", _storing(_dense, lambda case, q, k: (q >= 0) & (k >= 0))),
    idea("store-without-mask/rows", _storing(_dense, lambda case, q, k: (q >= 0) & (k < shape_of(case).n_k))),
    idea("store-without-mask/columns", _storing(_dense, lambda case, q, k: (q < shape_of(case).n_q) & (k >= 0))),
)
