"""Wrong ideas about dropout in attention: which number an entry gets, what is kept, and where Z belongs."""

from __future__ import annotations

import numpy as np

from checker.catalog.attention.dropout.models import (
    at,
    from_exponentials,
    from_numbers,
    from_parts,
    in_32_bits,
    is_forward,
    queries_left_out,
    seeded,
    seeded_by_head,
    with_factors,
)
from checker.catalog.attention.dropped import scaled
from checker.catalog.attention.launch import Shape, shape_of
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Writes

idea = Ideas(__file__)


def _tile(s: Shape, i: Array, j: Array) -> Array:
    """Positions within a tile."""
    return np.asarray(i % s.Br * s.Bc + j % s.Bc)


def _numbered_tiles(_: Case, s: Shape, head: Array, i: Array, j: Array) -> Array:
    return np.asarray((((head * s.tr + i // s.Br) * s.tc + j // s.Bc) * s.Br * s.Bc) + _tile(s, i, j))


def _in_order_of_visits(case: Case, s: Shape, head: Array, i: Array, j: Array) -> Array:
    """Tiles numbered from 0 in each program, as its loop comes by."""
    visit = j // s.Bc if is_forward(case) else i // s.Br
    return np.asarray(visit * s.Br * s.Bc + _tile(s, i, j))


def _lengths(of_head: str, of_query: str) -> Writes:
    """Offsets with n_q or n_k in other places."""
    return at(lambda _, s, head, i, j: (head * getattr(s, of_head) + i) * getattr(s, of_query) + j)


def _only_kept(case: Case, e: Array, z: Array) -> tuple[Array, Array]:
    kept = np.where(z > 0, e, 0.0)
    return kept, kept.sum(axis=-1, keepdims=True)


def _kept_and_scaled(case: Case, e: Array, z: Array) -> tuple[Array, Array]:
    """Return the normaliser of what is kept, and the numerator scaled up."""
    return e * z, np.where(z > 0, e, 0.0).sum(axis=-1, keepdims=True)


# Numbers are those of the lesson: forward the scores 1 3 | 2 5 with v = 10 20 | 30 40 and p of 0.2, of which the second
# key is dropped; backward P of .25 and .75, v = 10 20 and do = 2, of which the second key is dropped.
POSITIONS = (
    idea(
        "numbers-of-the-tile",
        at(lambda _, s, head, i, j: _tile(s, i, j)),
        at(lambda _, s, head, i, j: (head * s.n_q + i) * s.n_k + j % s.Bc),
        at(lambda _, s, head, i, j: (head * s.n_q + i % s.Br) * s.n_k + j),
        at(lambda _, s, head, i, j: (head * s.n_q + i) * s.Bc + j % s.Bc),
        at(lambda _, s, head, i, j: (head * s.n_q + i % s.Br) * s.n_k + j % s.Bc),
    ),
    idea("numbers-of-the-tile/of-the-visit", at(_numbered_tiles), at(_in_order_of_visits)),
    idea("same-mask-in-every-head", at(lambda _, s, head, i, j: i * s.n_k + j)),
    idea(
        "offset-transposed",
        at(lambda _, s, head, i, j: (head * s.n_k + j) * s.n_q + i),
        at(lambda _, s, head, i, j: (head * s.n_q + j) * s.n_k + i),
    ),
    idea("offset-with-another-length", *(_lengths(*of) for of in (("n_k", "n_q"), ("n_k", "n_k"), ("n_q", "n_q")))),
    idea(
        "offset-with-another-length/of-a-tile",
        at(lambda _, s, head, i, j: (head * s.n_q + i) * s.Bc + j),
        with_factors(lambda case: seeded_by_head(case, shape_of(case).Bc)),
        at(lambda _, s, head, i, j: i * s.Bc + j),
        at(lambda _, s, head, i, j: (head * s.Br + i) * s.n_k + j),
    ),
    idea("offset-in-32-bits", with_factors(in_32_bits)),
    idea("seed-cut", seeded(lambda seed: seed & 0xFFFFFFFF), seeded(lambda seed: int(np.int64(seed).astype(np.int32)))),
)

KEPT = (
    idea("kept-not-scaled-up", from_numbers(lambda r, p: np.greater_equal(r, p) * 1.0)),
    idea("scaled-by-another-factor", from_numbers(lambda r, p: np.greater_equal(r, p) * (1 - p))),
    idea("scaled-by-another-factor/by-p", from_numbers(lambda r, p: np.greater_equal(r, p) * (1 / p if p else np.inf))),
    idea("scaled-by-another-factor/twice", from_numbers(lambda r, p: np.greater_equal(r, p) * (1 / (1 - p) ** 2))),
    idea(
        "mask-inverted",
        from_numbers(lambda r, p: scaled(np.less(r, p), p)),
        from_numbers(lambda r, p: np.less(r, p) * 1.0),
    ),
    idea("kept-above-p-only", from_numbers(lambda r, p: scaled(np.greater(r, p), p))),
)

FORWARD = (
    idea(
        "dropout-in-the-normaliser",
        from_exponentials(lambda case, e, z: (e * z, (e * z).sum(axis=-1, keepdims=True))),
        from_exponentials(_only_kept),
        from_exponentials(_kept_and_scaled),
    ),
)

BACKWARD = (
    idea("dv-without-mask", from_parts(lambda p, z, raw, delta: (p, p * (z * raw - delta)))),
    idea("dp-without-mask", from_parts(lambda p, z, raw, delta: (p * z, p * (raw - delta)))),
    idea("delta-dropped-too", from_parts(lambda p, z, raw, delta: (p * z, p * z * (raw - delta)))),
    idea("dropped-p-in-ds", from_parts(lambda p, z, raw, delta: (p * z, p * z * (z * raw - delta)))),
    idea(
        "kept-not-scaled-up/dv", from_parts(lambda p, z, raw, delta: (np.where(z > 0, p, 0.0), p * (z * raw - delta)))
    ),
    idea(
        "kept-not-scaled-up/dp", from_parts(lambda p, z, raw, delta: (p * z, p * (np.where(z > 0, raw, 0.0) - delta)))
    ),
    idea(
        "loop-to-another-end",
        queries_left_out(lambda case: -(-shape_of(case).n_k // shape_of(case).Br) * shape_of(case).Br),
    ),
    idea(
        "whole-tiles-only", queries_left_out(lambda case: shape_of(case).n_q // shape_of(case).Br * shape_of(case).Br)
    ),
)
DROPOUT = (*KEPT, *POSITIONS, *FORWARD, *BACKWARD)
