"""Models of forward kernels: what each writes, given its scores. All wrong ideas of the forward pass build on these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import numpy as np

from checker.catalog.attention.bounds import looked_at
from checker.catalog.attention.dropped import dropped
from checker.catalog.attention.launch import shape_of, wide, writes
from checker.catalog.attention.reference import bias, is_causal, scores, sees
from checker.catalog.numbers import exp32
from checker.course.case import Array, Case
from checker.course.misconception import Writes

Outputs = Mapping[str, Array]
Formula = Callable[[Array, Array, Case], Outputs]  # (scores with -inf where hidden, V, case) → outputs
Over = Literal["", "sum", "max", "both"]  # reductions that run over a whole tile


def from_scores(formula: Formula) -> Writes:
    """Return what a kernel with this formula writes, which gets the right scores; of the outputs
    that the launch has.
    """

    def outputs(case: Case) -> Outputs:
        if not writes(case, "o"):
            return {}
        s = np.where(sees(case), scores(case), -np.inf)
        return _written(case, formula(s, wide(case, "v"), case))

    return Writes(outputs)


def tiles(s: Array, v: Array, case: Case) -> Iterator[tuple[Array, Array]]:
    """Scores and values of one tile of keys after the other."""
    block = shape_of(case).Bc
    for start in range(0, s.shape[-1], block):
        yield s[..., start : start + block], v[:, start : start + block]


def with_lse(m: Array, l: Array, o: Array) -> Outputs:
    """Return all that a forward kernel may write; m and l with a last axis of 1."""
    return {"o_ptr": o, "l_ptr": l[..., 0], "m_ptr": m[..., 0], "lse_ptr": (m + np.log(l))[..., 0]}


def guarded(m: Array) -> Array:
    """Return what a right kernel subtracts for a maximum: 0 for -inf, but not for inf."""
    return np.where(np.isneginf(m), 0.0, m)


def attention(s: Array, v: Array, case: Case | None = None) -> Outputs:
    """Return what a right kernel writes, of these scores; exponentials in fp32. `case`: the launch, if it may have
    dropout.
    """
    m = s.max(axis=-1, keepdims=True)
    e = exp32(s - guarded(m))
    l = e.sum(axis=-1, keepdims=True)
    return with_lse(m, l, ((dropped(case, e) if case else e) @ v) / np.where(l == 0, 1.0, l))


def of_scores(case: Case, s: Array, seen: Array, v: Array | None = None) -> Outputs:
    """Return what a kernel with these scores writes, where `seen` holds; of the outputs that the launch has."""
    if not writes(case, "o"):
        return {}
    with np.errstate(all="ignore"):
        made = attention(np.where(seen, s, -np.inf), wide(case, "v") if v is None else v, case)
    return _written(case, made)


def _written(case: Case, made: Outputs) -> Outputs:
    return {name: o for name, o in made.items() if writes(case, name.removesuffix("_ptr"))}


def padded(s: Array, v: Array, case: Case) -> tuple[Array, Array]:
    """Scores and V with the last tile of keys filled up: such keys have the score 0, if no causal mask hides them."""
    missing = -s.shape[-1] % shape_of(case).Bc
    extra_s = np.full((*s.shape[:-1], missing), -np.inf if is_causal(case) else 0.0)
    return np.concatenate([s, extra_s], axis=-1), np.concatenate([v, np.zeros((len(v), missing, v.shape[-1]))], axis=1)


def in_whole_tiles(s: Array, case: Case) -> Array:
    """Scores with the last tile of queries filled up: queries past the end are loaded as 0, and so are their scores."""
    return np.pad(s, ((0, 0), (0, -s.shape[1] % shape_of(case).Br), (0, 0)))


def reduced(how: Callable[..., Array], x: Array, case: Case, whole: bool) -> Array:
    """np.max or np.sum of each query, or of its whole tile, with a last axis of 1."""
    if not whole:
        return np.asarray(how(x, axis=-1, keepdims=True))
    tiled = x.reshape(len(x), -1, shape_of(case).Br, x.shape[-1])
    of_tile = how(tiled, axis=(2, 3), keepdims=True)
    return np.broadcast_to(of_tile, (*tiled.shape[:3], 1)).reshape(*x.shape[:2], 1)


def without_max(guarded: bool) -> Writes:
    """Return exponentials of the scores themselves, in V's type before they meet V.

    `guarded`: where they sum to 0, O is divided by 1, as the lessons do.
    """

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        e = exp32(s)
        l = e.sum(axis=-1, keepdims=True)
        p = dropped(case, e).astype(case.tensors["v_ptr"].values.dtype).astype(np.float64)
        o = (p @ v) / (np.where(l == 0, 1.0, l) if guarded else l)
        return {"o_ptr": o, "l_ptr": l[..., 0], "lse_ptr": np.log(l[..., 0])}

    return from_scores(formula)


def last_looked_at(case: Case) -> Array:
    """Return the last tile of keys that each query looks at."""
    tile = np.arange(shape_of(case).n_k) // shape_of(case).Bc
    return np.asarray(np.max(np.where(looked_at(case), tile, -1), axis=1))


def one(x: Array) -> Array:
    """Return the factor 1, for a factor that is missing."""
    return np.ones_like(x)


def rescaled(s: Array, case: Case, factor: float) -> Array:
    """Scores with a factor on the product of Q and K; a bias stays as it is."""
    return np.asarray((s - bias(case)) * factor + bias(case))
