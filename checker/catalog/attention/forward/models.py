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


def without_max(guarded: bool, in_type_of_v: bool = True) -> Writes:
    """Return exponentials of the scores themselves.

    `guarded`: where they sum to 0, O is divided by 1, as the lessons do. `in_type_of_v`: P is rounded before l divides.
    """

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        e = exp32(s)
        l = e.sum(axis=-1, keepdims=True)
        p = dropped(case, e)
        p = p.astype(case.tensors["v_ptr"].values.dtype).astype(np.float64) if in_type_of_v else p
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


# (O, l, a = exp(m - m_new), b = exp(mij - m_new), lij, Pij Vj) → (O, l)
Step = Callable[[Array, Array, Array, Array, Array, Array], tuple[Array, Array]]


def visits(
    step: Step,
    top: Callable[[Array, Array], Array] = np.maximum,
    p: Callable[[Array, Array], Array] = lambda s, m: exp32(s - m),
    unscaled: Callable[[Array, Array, float], Array] | None = None,
    over: Over = "",
    kept_m: Callable[[Array, Array, Array], Array] = lambda m_new, m_tile, l: m_new,
    last: Callable[[Array], Array] = lambda l: np.ones_like(l),
) -> Writes:
    """Return the outputs of a kernel that comes back to O and l for every tile of keys, and changes them by `step`.

    `top(m, m_tile)` is its running maximum, `p(s, m_tile)` its P; `unscaled(s, m_tile, scale)` instead, if the scores
    themselves are not scaled. `over`: which reductions run over the whole tile, because they lack an axis.
    `kept_m(m_new, m_tile, l)`: what is stored as the maximum. `last(l)`: what O is divided by at the end.
    """

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        scale, count = float(case.scalars["scale"]), s.shape[1]
        s = in_whole_tiles(s / scale if unscaled else s, case) if over else s / scale if unscaled else s
        o = np.zeros((*s.shape[:-1], v.shape[-1]))
        l = np.zeros((*s.shape[:-1], 1))
        m, last_seen = np.full_like(l, -np.inf), np.pad(last_looked_at(case), (0, s.shape[1] - count), mode="edge")
        for j, (s_j, v_j) in enumerate(tiles(s, v, case)):
            m_j = reduced(np.max, s_j, case, over in ("max", "both"))
            p_j = unscaled(s_j, m_j, scale) if unscaled else p(s_j, guarded(m_j))
            m_new = top(m, m_j)
            shift, l_j = guarded(m_new), reduced(np.sum, p_j, case, over in ("sum", "both"))
            pv = dropped(case, p_j, j * shape_of(case).Bc) @ v_j
            new = step(o, l, exp32(m - shift), exp32(m_j - shift), l_j, pv)
            here = (j <= last_seen)[:, None]
            o, l, m = (
                np.where(here, x, old) for x, old in zip((*new, kept_m(m_new, m_j, new[1])), (o, l, m), strict=True)
            )
        return with_lse(*(x[:, :count] for x in (m, l, o / last(l))))

    return from_scores(formula)
