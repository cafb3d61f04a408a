"""Q, K and V for puzzles about attention: plain ones, hard ones, and some that fp16 or bf16 can just hold."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from checker.catalog.attention.launch import Shape, tensors
from checker.catalog.numbers import BF16
from checker.catalog.softmax.cases import RISE, RISE_IN_FP16, SMALL_TERM
from checker.course.case import Array, Tensor, as_bf16

LARGEST_SCORE = 1e12  # two fp16 rows of 128 give no more: what is larger may stand for infinity
# A GPU rounds scale * s - m once, after the difference: half a unit in the last place of m is left, whose exponential
# has to be finite.
LARGEST_ON_GPU = 1e8
# A power of two, beside one large term: where a row of Q and one of K hold one number throughout, all other terms are
# alike, and a number with more bits would be rounded the same way each time that one is added.
SMALLER = 1 / 8
CREEPING = 1e-4  # a maximum that grows by as much is to be followed


@dataclass(frozen=True)
class Inputs:
    """Q, K, V in the dtype of the launch, a scale, and what the queries are, in a few words each."""

    q: Array
    k: Array
    v: Array
    scale: float
    kinds: tuple[str, ...] = ()
    bf16: bool = False  # fp32 values that bf16 can hold, passed as bf16

    @property
    def half(self) -> bool:
        """Whether they are fp16 or bf16."""
        return self.bf16 or self.q.dtype == np.float16

    def tensors(self, shape: Shape) -> dict[str, Tensor]:
        """Q, K and V as arguments of a launch."""
        return tensors(shape, {"q": self.q, "k": self.k, "v": self.v}, kinds=self.kinds, bf16=self.bf16)


def normal_inputs(
    random: np.random.Generator,
    shape: Shape,
    dtype: npt.DTypeLike = np.float32,
    factor: float = 1.0,
    unit_scale: bool = False,
) -> Inputs:
    """Standard normal Q, K and V; a scale, never 1/sqrt(D), that makes the scores' sigma about 2.

    One row of each holds one number throughout: it is a row like any other.

    `factor`, a power of two: the scale is so many times as large, and Q so many times as small. `unit_scale`: so that
    the scale is 1. One key and one row of V are 0.
    """
    if dtype is BF16:
        return in_bf16(normal_inputs(random, shape, np.float32, factor, unit_scale))
    q, k, v = (
        random.normal(0.0, 1.0, (shape.heads, rows, shape.D)).astype(dtype)
        for rows in (shape.n_q, shape.n_k, shape.n_k)
    )
    for x in (q, k, v):
        if x.shape[1] > 4:
            x[:, int(random.integers(x.shape[1]))] = 0.5
    for x in (k, v):
        if shape.n_k > 4:  # one like any other, which padding only looks like; the first query may see nothing else
            x[:, int(random.integers(shape.n_k) * random.integers(2))] = 0.0
    scale = np.float32(random.uniform(1.7, 2.2) / np.sqrt(shape.D))
    if unit_scale:
        return Inputs((q * scale).astype(dtype), k, v, 1.0)
    return Inputs((q / factor).astype(dtype), k, v, float(scale * factor))


def drawn_factor(random: np.random.Generator, dtype: npt.DTypeLike) -> float:
    """Return how many times as large a scale is; in fp16 not so small that dS, multiplied by it, would have no digits
    left.
    """
    return float(random.choice([1 / 1024 if dtype == np.float32 else 1 / 64, 1, 8]))


def large_scores(random: np.random.Generator, shape: Shape, largest: float = LARGEST_SCORE) -> Inputs:
    """Scores around 1e5 and -1e5, or all at `largest` or its negative, by query; a V whose exponential would overflow.

    That is beyond fp16, and beyond what only looks like minus infinity.
    """
    plain = normal_inputs(random, shape)
    q, k, v = plain.q.copy(), plain.k.copy(), plain.v.copy()
    k[..., 0] = 1.0
    q[:, 2::4], q[:, 3::4] = 0.0, 0.0  # all scores alike: what is left of a difference is not asked for
    q[..., 0] = np.resize([1e5, -1e5, largest, -largest], shape.n_q) / plain.scale
    v[..., -1] *= 1e4
    return replace(plain, q=q, k=k, v=v)


def rising_scores(random: np.random.Generator, shape: Shape, dtype: npt.DTypeLike) -> Inputs:
    """Return scores of which those of every other query rise from tile to tile, by `RISE` or by `RISE_IN_FP16`."""
    plain = normal_inputs(random, shape, dtype)
    q, k = plain.q.copy(), plain.k.copy()
    k[..., 0] = np.arange(shape.n_k) // shape.Bc
    q[:, 3::4] *= SMALLER
    q[..., 0] = np.resize([0.0, RISE, 0.0, RISE_IN_FP16], shape.n_q) / plain.scale
    return replace(plain, q=q, k=k)


def scores_far_below(random: np.random.Generator, shape: Shape) -> Inputs:
    """Return scores of keys so far below the one in the middle that each counts for nothing, but all for something.

    How far is another number for each query of a tile: from 8 to 18.5. In the next tile of queries all scores rise from
    tile to tile of keys, by as little as `CREEPING`, and V with them.
    """
    plain = normal_inputs(random, shape)
    q, k, v, creeping = plain.q * SMALLER, plain.k.copy(), plain.v.copy(), np.arange(shape.n_q) >= shape.Br
    q[:, creeping], q[:, ~creeping, 1] = 0.0, 0.0
    q[:, ~creeping, 0] = np.linspace(-8.0, -18.5, shape.Br) / plain.scale
    k[..., 0] = np.arange(shape.n_k) != shape.n_k // 2
    q[:, creeping, 1], k[..., 1] = CREEPING / plain.scale, np.arange(shape.n_k) // shape.Bc
    v[..., 0] = np.arange(shape.n_k) / shape.n_k
    return replace(plain, q=q, k=k, v=v)


def hard_inputs(
    random: np.random.Generator, shape: Shape, dtype: npt.DTypeLike = np.float32, huge: float = 300.0
) -> Inputs:
    """Queries of every kind, one after the other, over keys of more than two blocks; V has one `huge` row.

    Four dimensions are used to place scores at will: one in which all keys are 1, and three in which
    only one key is, in the first block, in the middle, and at the end.
    """
    plain = normal_inputs(random, shape)
    q, k, v = plain.q.astype(np.float64), plain.k.astype(np.float64), plain.v.astype(np.float64)
    peaks = (int(random.integers(min(shape.Bc, shape.n_k))), shape.n_k // 2, shape.n_k - 1)
    k[..., :4] = 0.0
    k[..., 0] = 1.0
    for dimension, key in enumerate(peaks, start=1):
        k[:, key, dimension] = 1.0
    q[..., :4] = 0.0
    kinds = []
    for query in range(shape.n_q):
        dimension, score, kind = (
            (0, 0.0, "normal scores"),
            (0, 200.0, "scores around +200"),
            (0, -200.0, "scores around -200"),
            (1, 150.0, "largest score in the first block of keys"),
            (2, 150.0, "largest score in the middle"),
            (3, 150.0, "largest score at the last key"),
            (0, 0.0, "all scores alike"),
            (0, 0.0, "scores of sigma 6"),
        )[query % 8]
        q[:, query] *= {"all scores alike": 0.0, "scores of sigma 6": 3.0}.get(kind, 1.0)
        q[:, query, dimension] = score / plain.scale
        kinds.append(kind)
    v[:, int(random.integers(shape.n_k))] *= huge
    return Inputs(q.astype(dtype), k.astype(dtype), v.astype(dtype), plain.scale, tuple(kinds))


def with_low_scores(inputs: Inputs) -> Inputs:
    """Scores around -30: 0 is so far above them that fp16 cannot hold exp(0 - m)."""
    q, k = inputs.q.copy(), inputs.k.copy()
    q[..., 0], k[..., 0] = -30.0 / inputs.scale, 1.0
    return replace(inputs, q=q, k=k)


def with_cancelling_terms(inputs: Inputs, first: int = 1) -> Inputs:
    """Scores with two large terms of Q that nearly cancel, and two of K: what is lost when either is rounded stays.

    `first`: the first of four dimensions that have them.
    """
    q, k = inputs.q.copy(), inputs.k.copy()
    a, b, c, d = range(first, first + 4)
    large = ((60 + 20 * q[..., a]) / inputs.scale).astype(q.dtype)
    q[..., a], q[..., b] = large, q[..., b] - large
    k[..., b] = k[..., a]
    large = (200 + 60 * k[..., c]).astype(k.dtype)
    k[..., c], k[..., d] = large, k[..., d] - large
    q[..., d] = q[..., c]
    return replace(inputs, q=q, k=k)


def with_large_v(inputs: Inputs) -> Inputs:
    """V with one dimension around 1500: fp16 cannot hold its sum over more than 44 keys, but its average."""
    v = inputs.v.copy()
    v[..., -1] += np.asarray(1500, v.dtype)
    return replace(inputs, v=v)


def with_small_v(inputs: Inputs) -> Inputs:
    """V with one dimension around 3e-6, which fp16 can just hold: what is added up in it has hardly a digit left."""
    v = inputs.v.copy()
    v[..., 0] = (v[..., 0].astype(np.float64) * 3e-6).astype(v.dtype)
    return replace(inputs, v=v)


def long_sums(random: np.random.Generator, shape: Shape) -> Inputs:
    """fp16 inputs whose sums have many small terms: in half, all but those of the first two tiles of keys are lost.

    One dimension holds the scores, and V is 1 in another one: there each O is 1, and its sum the normaliser.
    """
    plain = normal_inputs(random, shape)
    scores = random.normal(SMALL_TERM, 0.05, shape.n_k) + 2.0
    scores[: 2 * shape.Bc] = 2.0
    q, k, v = plain.q * SMALLER, plain.k * SMALLER, plain.v
    k[:, : 2 * shape.Bc] = 0.0  # exactly: the sum of these is a power of two
    q[..., 0], k[..., 0], v[..., -1] = 1.0 / plain.scale, scores, 1.0
    half = [x.astype(np.float16) for x in (q, k, v)]
    return Inputs(half[0], half[1], half[2], plain.scale)


def beyond_fp16(D: int) -> Array:
    """Return what lifts every other dimension above fp16 and leaves the others as they are, shape (D,)."""
    return np.where(np.arange(D) % 2, 2.0**24, 1.0).astype(np.float32)


def in_bf16(inputs: Inputs) -> Inputs:
    """Return the same inputs, rounded to what bf16 can hold; every other dimension beyond fp16, Q below, K and V above.

    The scores are the same.
    """
    by = beyond_fp16(inputs.q.shape[-1])
    return replace(inputs, q=as_bf16(inputs.q) / by, k=as_bf16(inputs.k) * by, v=as_bf16(inputs.v) * by, bf16=True)
