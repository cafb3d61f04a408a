"""Wrong ideas about FlashAttention-2: the accumulator is divided once, at the end; LSE is what remains of l and m."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from checker.catalog.attention.bounds import looked_at
from checker.catalog.attention.dropped import dropped
from checker.catalog.attention.forward.mistakes import of_p
from checker.catalog.attention.forward.models import (
    Outputs,
    Over,
    Step,
    attention,
    from_scores,
    guarded,
    in_whole_tiles,
    last_looked_at,
    one,
    reduced,
    rescaled,
    tiles,
    visits,
    with_lse,
)
from checker.catalog.attention.launch import shape_of
from checker.catalog.attention.reference import scores
from checker.catalog.lines import accumulator, inverse_factor, start_above
from checker.catalog.numbers import FINITE, LOG2_E, exp32
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Writes

idea = Ideas(__file__)

# FlashAttention-2: the accumulator is divided once, at the end; hidden scores are -inf, and a guard keeps NaN away.


def running(
    old_o: Callable[[Array], Array] = lambda a: a,
    old_l: Callable[[Array], Array] = lambda a: a,
    each: Callable[[Array], Array] = lambda l: np.ones_like(l),
    last: Callable[[Array], Array] = lambda l: np.where(l == 0, 1.0, l),
    top: Callable[[Array, Array], Array] = np.maximum,
    in_half: bool = False,
    own: Callable[[Array], Array] | None = None,
    p: Callable[[Array, Array], Array] = lambda s, m: exp32(s - m),
    unscaled: Callable[[Array, Array, float], Array] | None = None,
    over: Over = "",
    hidden_too: bool = False,
    kept_m: Callable[[Array, Array], Array] = lambda m, m_new: m_new,
) -> Writes:
    """Return the outputs of a kernel that rescales and divides by its own ideas.

    `top(m, m_tile)` is its running maximum; `in_half`: it keeps O in V's type; `own(m_tile)` is what it subtracts
    from a tile's scores instead of the running maximum. `p(s, m)` is its P; `unscaled(s, m, scale)` instead, if the
    scores themselves are not scaled. `over`: which reductions run over the whole tile, because they lack an axis.
    `hidden_too`: the maximum is taken before scores are hidden. `kept_m(m, m_new)`: what is kept of the maximum.
    """

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        scale, count = float(case.scalars["scale"]), s.shape[1]
        s = rescaled(s, case, 1 / scale) if unscaled else s
        every = np.pad(scores(case), ((0, 0), (0, 0), (0, -s.shape[-1] % shape_of(case).Bc)))  # past the end: 0
        s = in_whole_tiles(s, case) if over else s
        last_seen = np.pad(last_looked_at(case), (0, s.shape[1] - count), mode="edge")
        o = np.zeros((*s.shape[:-1], v.shape[-1]))
        l = np.zeros((*s.shape[:-1], 1))
        m = np.full_like(l, -np.inf)
        for j, (s_j, v_j) in enumerate(tiles(s, v, case)):
            block = shape_of(case).Bc
            compared = every[..., j * block : (j + 1) * block] if hidden_too else s_j
            m_j = reduced(np.max, compared, case, over in ("max", "both"))
            m_new = top(m, m_j)
            shift = guarded(m_new)
            minus = own(m_j) if own else shift
            p_j = unscaled(s_j, minus, scale) if unscaled else p(s_j, minus)
            a = exp32(m - shift)
            here = (j <= last_seen)[:, None]
            l = np.where(here, old_l(a) * l + reduced(np.sum, p_j, case, over in ("sum", "both")), l)
            o = np.where(here, (old_o(a) * o + dropped(case, p_j, j * block) @ v_j) / each(l), o)
            o = o.astype(case.tensors["v_ptr"].values.dtype).astype(np.float64) if in_half else o
            m = np.where(here, kept_m(m, m_new), m)
        return with_lse(*(x[:, :count] for x in (m, l, o / last(l))))

    return from_scores(formula)


def inverse(a: Array) -> Array:
    """Return a factor the wrong way round."""
    return 1 / a


def _or_one(l: Array) -> Array:
    """Return what a guarded division divides by."""
    return np.where(l == 0, 1.0, l)


def tile_softmax(s: Array, m: Array) -> Array:
    """Return a tile's exponentials relative to m, divided by their own sum."""
    e = exp32(s - m)
    return np.asarray(e / _or_one(e.sum(axis=-1, keepdims=True)))


def _own_values(empty: float) -> Step:
    """Return a step whose P is divided by its own sum before it meets V; `empty`: what 0 / 0 is taken for."""

    def step(o: Array, l: Array, a: Array, b: Array, l_j: Array, pv: Array) -> tuple[Array, Array]:
        return a * o + np.where(b == 0, empty, 1 / _or_one(l_j)) * pv, a * l + b * l_j

    return step


# P is divided by its own sum in each tile: for l as well, or for O alone.
OWN_SOFTMAX = (
    running(p=tile_softmax),
    running(p=tile_softmax, old_o=one, old_l=one),
    running(p=tile_softmax, old_o=one, last=one),
)
OWN_VALUES = (*(visits(_own_values(empty), last=_or_one) for empty in (0.0, np.nan)), visits(_own_values(0.0)))
RESCALED_TOO = {  # signs by what is said of them, as below: the factor of the old parts on the new ones, too
    "new-part-rescaled-too": visits(lambda o, l, a, b, l_j, pv: (a * (o + b * pv), a * (l + b * l_j)), last=_or_one).at(
        accumulator
    ),
    "new-part-rescaled-too/product": visits(
        lambda o, l, a, b, l_j, pv: (a * (o + b * pv), a * l + b * l_j), last=_or_one
    ),
    "new-part-rescaled-too/sum": visits(lambda o, l, a, b, l_j, pv: (a * o + b * pv, a * (l + b * l_j)), last=_or_one),
}

# Numbers are those of the lesson's example: the scores 1 3 | 2 5 of one query, and the values 10 20 | 30 40.
ACCUMULATION = (
    idea("rescaled-by-the-inverse", running(old_o=inverse).at(inverse_factor, needed=True)),
    idea("rescaled-by-the-inverse/normaliser", running(old_l=inverse).at(inverse_factor, needed=True)),
    idea("accumulator-overwritten", running(old_o=lambda a: 0.0 * a)),
    *of_p(running, "mi_new", "the factor exp(mi - mi_new), and mi in LSE,"),
    idea(
        "maximum-starts-too-high",
        *(
            running(top=lambda m, m_tile, start=start: np.maximum(np.maximum(m, m_tile), start)).at(  # type: ignore[misc]
                start_above,
                needed=True,  # a guard that takes what is far below for -inf writes the same
            )
            for start in (0.0, *(start for start in FINITE if start >= -1e10))
        ),
    ),
    idea("maximum-of-hidden-scores", running(hidden_too=True, p=lambda s, m: exp32(s - m))),
    idea("max-of-last-tile", running(top=lambda m, m_tile: m_tile)),
    idea("max-not-kept", running(kept_m=lambda m, m_new: m)),
    idea("accumulator-in-half", running(in_half=True)),
    idea("accumulator-not-rescaled", running(old_o=one)),
    idea("denominator-not-rescaled", running(old_l=one)),
    idea("denominator-not-rescaled/with-o", running(old_l=one, old_o=one)),
    idea("new-part-not-rescaled", running(own=lambda m: m), running(own=guarded)),
    idea("divided-at-every-step", running(each=_or_one, last=one)),
    idea("divided-at-every-step/and-at-the-end", running(each=_or_one)),
    idea("divided-twice", running(last=lambda l: _or_one(l) ** 2)),
    idea("not-divided", running(last=one)),
    idea("softmax-of-each-tile", *OWN_SOFTMAX),
    idea("softmax-of-each-tile/values", *OWN_VALUES),
    *(idea(key, sign) for key, sign in RESCALED_TOO.items()),
)


def lse_instead(value: Callable[[Array, Array], Array]) -> Writes:
    """Right O, and another LSE, computed from m and l."""

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        m = s.max(axis=-1, keepdims=True)
        e = exp32(s - guarded(m))
        l = e.sum(axis=-1, keepdims=True)
        return {"o_ptr": (dropped(case, e) @ v) / np.where(l == 0, 1.0, l), "lse_ptr": value(m, l)[..., 0]}

    return from_scores(formula)


def _lse_of_hidden(lse: float, everywhere: bool) -> Writes:
    """Return the right O, and another LSE of queries that see no key: of all, or of those in tiles that look at some
    key.
    """

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        made = attention(s, v, case)
        hidden = np.isinf(made["lse_ptr"]) & (everywhere | looked_at(case).any(axis=-1))
        return {"o_ptr": made["o_ptr"], "lse_ptr": np.where(hidden, lse, made["lse_ptr"])}

    return from_scores(formula)


def _lse_before_the_last_tile(value: Callable[[Array, Array, Array, Array], Array]) -> Writes:
    """Right O, and an LSE of m and l before the last tile, and after it."""

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        before = np.arange(s.shape[-1]) // shape_of(case).Bc < last_looked_at(case)[:, None]
        old, new = attention(np.where(before, s, -np.inf), v), attention(s, v, case)
        lse = value(old["m_ptr"], old["l_ptr"], new["m_ptr"], new["l_ptr"])
        return {"o_ptr": new["o_ptr"], "lse_ptr": lse}

    return from_scores(formula)


# LSE of m and l where 2 and e are mixed up, by what is said of it.
OTHER_BASES: Mapping[str, Callable[[Array, Array], Array]] = {
    "lse-in-base-two": lambda m, l: (m + np.log(l)) * LOG2_E,
    "lse-in-base-two/mixed": lambda m, l: m * LOG2_E + np.log(l),
    "lse-in-base-two/added": lambda m, l: m + np.log2(l),
    "lse-in-base-two/natural-already": lambda m, l: (m + np.log(l)) / LOG2_E,
    "lse-in-base-two/natural-maximum": lambda m, l: m / LOG2_E + np.log(l),
    "lse-in-base-two/natural-sum": lambda m, l: m + np.log(l) / LOG2_E,
}
LSE_OF_M_AND_L: Mapping[str, Callable[[Array, Array], Array]] = {
    "lse-without-max": lambda m, l: np.log(l),
    "lse-without-log": lambda m, l: m + l,
    "lse-is-the-normaliser": lambda m, l: l,
    "lse-is-the-max": lambda m, l: m,
    **OTHER_BASES,
}

LSE_LACKS = {
    "lse-lacks-the-last-tile": (
        _lse_before_the_last_tile(lambda m, l, m_new, l_new: m + np.log(l)),
        _lse_before_the_last_tile(lambda m, l, m_new, l_new: m_new + np.log(l)),
        _lse_before_the_last_tile(lambda m, l, m_new, l_new: m_new + np.log(_or_one(l))),
    ),
    "lse-lacks-the-last-tile/maximum": (_lse_before_the_last_tile(lambda m, l, m_new, l_new: m + np.log(l_new)),),
}

LACKING_A_TILE = tuple(idea(key, *signs) for key, signs in LSE_LACKS.items())
LSE = (
    *(idea(key, lse_instead(lse)) for key, lse in LSE_OF_M_AND_L.items()),
    idea("lse-of-hidden-rows", lse_instead(lambda m, l: np.where(l == 0, 0.0, m + np.log(np.where(l == 0, 1.0, l))))),
    *LACKING_A_TILE,
    idea(
        "lse-of-hidden-rows/finite",
        *(_lse_of_hidden(lse, everywhere) for lse in FINITE for everywhere in (False, True)),
    ),
)
