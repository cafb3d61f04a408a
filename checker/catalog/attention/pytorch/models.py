"""Results and memory of PyTorch functions with wrong ideas that no kernel of the family can have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from checker.catalog.attention.bounds import keys_needed, keys_seen, looked_at
from checker.catalog.attention.forward.flash_2_mistakes import inverse, running
from checker.catalog.attention.forward.models import (
    Outputs,
    attention,
    from_scores,
    guarded,
    last_looked_at,
    of_scores,
    tiles,
)
from checker.catalog.attention.launch import Shape, shape_of, wide
from checker.catalog.attention.pytorch.calls import (
    as_in_the_family,
    folded,
    most,
    plain,
    products_for_a_tile,
    products_in_tiles,
)
from checker.catalog.attention.reference import has_keys, scores, sees
from checker.catalog.lines import inverse_factor
from checker.catalog.numbers import exp32
from checker.course.case import Array, Case
from checker.course.misconception import Footprint, Uses, Writes

# What a function returns. All of these get the folded case.


def _maximum_of_hidden(case: Case) -> Outputs:
    """The maximum is that of all scores of the tiles that are looked at."""
    s, v = scores(case), wide(case, "v")
    m = np.where(looked_at(case), s, -np.inf).max(axis=-1, keepdims=True)
    e = np.where(sees(case), exp32(s - guarded(m)), 0.0)
    l = e.sum(axis=-1, keepdims=True)
    return {"o_ptr": e @ v / np.where(l == 0, 1.0, l), "lse_ptr": (m + np.log(l))[..., 0]}


def reshaped_k(case: Case) -> Array:
    """Scores of tiles of K that are reshaped to (d, rows) instead of transposed."""
    s, k = shape_of(case), wide(case, "k")
    made = [
        wide(case, "q") @ tile.reshape(len(k), s.D, -1)
        for tile in (k[:, start : start + s.Bc] for start in range(0, s.n_k, s.Bc))
    ]
    return float(case.scalars["scale"]) * np.concatenate(made, axis=-1)


def _softmax_of_each_tile(mean: bool) -> Callable[[Array, Array, Case], Outputs]:
    """O is the sum, or the mean, of what each tile of keys alone would give."""

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        parts = [attention(*tile)["o_ptr"] for tile in tiles(s, v, case)]
        return {"o_ptr": np.sum(parts, axis=0) / (len(parts) if mean else 1.0)}

    return formula


def _mean_of_v(s: Array, v: Array, case: Case) -> Outputs:
    """Return the right O, but for queries without keys in tiles that look at some key: these get the mean of V."""
    made = attention(s, v)["o_ptr"]
    seen = np.repeat(keys_seen(case), shape_of(case).Br)[: s.shape[1]]
    for query in np.flatnonzero(~has_keys(case) & (seen > 0)):
        made[:, query] = v[:, : seen[query]].mean(axis=1)
    return {"o_ptr": made}


def _sum_of_softmaxes(s: Array, _: Array) -> Array:
    """Return the softmax of a tile's scores, in place of their exponentials."""
    e = exp32(s - s.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _lse_of_last_tile(s: Array, v: Array, case: Case) -> Outputs:
    """Return the right O, and the logarithm of the last tile's sum."""
    last = np.arange(s.shape[-1]) // shape_of(case).Bc == last_looked_at(case)[:, None]
    return {**attention(s, v), "lse_ptr": attention(np.where(last, s, -np.inf), v)["lse_ptr"]}


def _maximum_forgotten(s: Array, v: Array, case: Case) -> Outputs:
    """mi stays at -inf: the old parts are lost at every tile, and LSE is -inf."""
    last = looked_at(case) & (np.arange(s.shape[-1]) // shape_of(case).Bc == last_looked_at(case)[:, None])
    made = attention(np.where(last, s, -np.inf), v)
    return {"o_ptr": made["o_ptr"], "lse_ptr": np.full_like(made["lse_ptr"], -np.inf)}


def _over_everything(what: str) -> Callable[[Array, Array, Case], Outputs]:
    """The maximum or the sum of a tile is one number for all of its queries, of all heads."""

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        o = np.zeros((*s.shape[:-1], v.shape[-1]))
        l = np.zeros((*s.shape[:-1], 1))
        m = np.full_like(l, -np.inf)
        rows = np.arange(s.shape[1]) // shape_of(case).Br
        for s_j, v_j in tiles(s, v, case):
            m_j = s_j.max(axis=-1, keepdims=True)
            m_j = _shared(np.max, m_j, rows) if what == "maximum" else m_j
            m_new = np.maximum(m, m_j)
            shift = guarded(m_new)
            p, a = exp32(s_j - shift), exp32(m - shift)
            l_j = p.sum(axis=-1, keepdims=True)
            l = a * l + (_shared(np.sum, l_j, rows) if what == "sum" else l_j)
            o, m = a * o + p @ v_j, m_new
        return {"o_ptr": o / np.where(l == 0, 1.0, l), "lse_ptr": (m + np.log(l))[..., 0]}

    return formula


def _shared(how: Callable[[Array], Array], x: Array, rows: Array) -> Array:
    """np.max or np.sum of all that belongs to a tile of queries, in each of its places; `rows`: each one's tile."""
    parts = [np.full_like(x[:, rows == tile], how(x[:, rows == tile])) for tile in range(rows[-1] + 1)]
    return np.concatenate(parts, axis=1)


MAXIMUM_OF_HIDDEN = as_in_the_family(Writes(_maximum_of_hidden))
RESHAPED = as_in_the_family(Writes(lambda case: of_scores(case, reshaped_k(case), sees(case))))
SOFTMAX_OF_EACH_TILE = tuple(as_in_the_family(from_scores(_softmax_of_each_tile(mean))) for mean in (False, True))
MEAN_OF_V = as_in_the_family(from_scores(_mean_of_v))
INVERSE_FACTORS = tuple(
    as_in_the_family(sign.at(inverse_factor, needed=True))
    for sign in (running(old_o=inverse, old_l=inverse), running(old_o=inverse), running(old_l=inverse))
)
SUM_OF_SOFTMAXES = as_in_the_family(running(p=_sum_of_softmaxes))
LSE_OF_LAST_TILE = as_in_the_family(from_scores(_lse_of_last_tile))
MAXIMUM_FORGOTTEN = as_in_the_family(from_scores(_maximum_forgotten))
OVER_EVERYTHING = tuple(as_in_the_family(from_scores(_over_everything(what))) for what in ("maximum", "sum"))

# What a function takes.


STRIPS = 6  # that a function may have of a kind, at most: scores, weights, masks


def _largest(least: Callable[[Case], int], greatest: Callable[[Shape], int]) -> Uses:
    """The largest tensor has a size from `least` to `greatest`, where that is more than enough.

    In other cases such a function can only go beyond the rest of the bounds: it multiplies what is seen, or all.
    """

    def recognises(case: Case, took: Footprint) -> bool:
        one, enough = folded(case), most(case)
        at_most = greatest(shape_of(one))
        if at_most > enough.largest:
            return least(one) <= took.largest <= at_most
        fits = took.products <= enough.products or took.products == plain(case).products
        return fits and took.largest <= enough.largest and took.at_once <= enough.at_once + STRIPS * at_most

    return Uses(recognises)


def _just(elements: Callable[[Shape], int]) -> Uses:
    return _largest(lambda case: elements(shape_of(case)), elements)


def _strip_of_keys(case: Case) -> int:
    """Return a tile of queries and all keys that it sees, in the largest such strip."""
    s = shape_of(case)
    return int(s.heads * (np.minimum(s.Br, s.n_q - s.Br * np.arange(s.tr)) * keys_needed(case)).max())


def _strip_of_queries(case: Case) -> int:
    """Return all queries that see a key, and a tile of keys."""
    s = shape_of(case)
    return int(s.heads * has_keys(case).sum() * min(s.Bc, s.n_k))


def _keeps_rows_of_keys(case: Case, took: Footprint) -> bool:
    """Scores and weights of one query after the other, with all keys: no tensor is too large, where rows are short."""
    s, enough = shape_of(folded(case)), most(case)
    rows = 2 * s.heads * s.n_k
    return took.largest <= enough.largest and enough.at_once < rows <= took.at_once


def _keeps_all_tiles(case: Case, took: Footprint) -> bool:
    one, enough = folded(case), most(case)
    every = int(shape_of(one).heads * looked_at(one).sum())
    return took.largest <= enough.largest and took.at_once >= max(every, enough.at_once + 1)


def _multiplied(case: Case, took: Footprint, more: int) -> bool:
    """Return whether the products of visible tiles, or of all tiles, are these; `more`: of each,
    beyond what is needed.
    """
    needed = products_for_a_tile(case)
    return took.products > most(case).products and any(
        needed * took.products == (needed + more) * products
        for products in (products_in_tiles(case), plain(case).products)
    )


def _multiplied_more_where_causal(case: Case, took: Footprint) -> bool:
    """More products than visible tiles need, and not more than all tiles do; where no tile is hidden, that is none."""
    enough = most(case)
    return took.largest <= enough.largest and enough.products < took.products <= plain(case).products


ALL_SCORES = _just(lambda s: s.heads * s.n_q * s.n_k)
STRIP_OF_KEYS = _largest(_strip_of_keys, lambda s: s.heads * min(s.Br, s.n_q) * s.n_k)
ROWS_OF_KEYS = Uses(_keeps_rows_of_keys)
STRIP_OF_QUERIES = _largest(_strip_of_queries, lambda s: s.heads * s.n_q * min(s.Bc, s.n_k))
WHOLE_MASK = _just(lambda s: s.n_q * s.n_k)
ALL_TILES = Uses(_keeps_all_tiles)
HIDDEN_TILES = Uses(lambda case, took: _multiplied(case, took, 0))
SOME_HIDDEN_TILES = Uses(_multiplied_more_where_causal)
SCORES_TWICE = Uses(lambda case, took: _multiplied(case, took, 1))
SCORES_AND_DP_TWICE = Uses(lambda case, took: _multiplied(case, took, 2))
