"""Wrong ideas about the causal mask: where it lies, where loops end, and queries that see no key."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from checker.catalog.attention.bounds import looked_at, whole_tiles
from checker.catalog.attention.forward.models import Outputs, attention, from_scores, last_looked_at, of_scores
from checker.catalog.attention.launch import shape_of
from checker.catalog.attention.reference import has_keys, is_causal, offset, scores, sees, visible
from checker.course.case import Array, Case, Role
from checker.course.misconception import Part, Unwritten, Writes
from checker.course.words import Ideas

idea = Ideas(__file__)


def _with_mask(last: Callable[[Case], int | None], skipping: bool = False) -> Writes:
    """Attention with another causal mask: query i sees key j if j <= i + last(case); None: all keys.

    `skipping`: tiles that are hidden altogether are left out all the same.
    """

    def outputs(case: Case) -> Outputs:
        shape = shape_of(case)
        shift = last(case)
        seen = visible(shape.n_q, shape.n_k, is_causal(case) and shift is not None, shift)
        seen = seen & looked_at(case) if skipping else seen
        return of_scores(case, scores(case), seen)

    return Writes(outputs)


def _seeing(seen: Callable[[Case, Array, Array], Array]) -> Writes:
    """Attention with another causal mask, `seen(case, queries, keys)`, in the tiles that must be looked at."""

    def outputs(case: Case) -> Outputs:
        shape = shape_of(case)
        if not is_causal(case):
            return of_scores(case, scores(case), sees(case))
        mask = seen(case, np.arange(shape.n_q)[:, None], np.arange(shape.n_k)[None, :])
        return of_scores(case, scores(case), mask & looked_at(case))

    return Writes(outputs)


def _first_of_tile(rows: Array, block: int) -> Array:
    """The first query, or key, of each one's tile."""
    return np.asarray(rows // block * block)


def _ending(end: Callable[[Case, int], int], causal: bool = True) -> Writes:
    """Right, but for the end of the loop over keys: `end(case, first query of the tile)`, rounded up to whole tiles.

    In causal launches, or in the others.
    """

    def outputs(case: Case) -> Outputs:
        shape = shape_of(case)
        seen = sees(case).copy()
        if is_causal(case) == causal:
            for start in range(0, shape.n_q, shape.Br):
                seen[start : start + shape.Br, max(0, -(-end(case, start) // shape.Bc) * shape.Bc) :] = False
        return of_scores(case, scores(case), seen)

    return Writes(outputs)


def _beginning(first: Callable[[Case, int], int], always: bool) -> Writes:
    """Right, but for a loop over keys that begins at `first(case, first query of the tile)`; `always`: not only where
    the launch is causal.
    """

    def outputs(case: Case) -> Outputs:
        shape = shape_of(case)
        seen = sees(case).copy()
        for start in range(0, shape.n_q, shape.Br) if always or is_causal(case) else ():
            seen[start : start + shape.Br, : max(0, first(case, start))] = False
        return of_scores(case, scores(case), seen)

    return Writes(outputs)


def causal_unasked(case: Case, ending_only: bool) -> Array:
    """Which query sees which key if the mask is there in full launches, too; or only the end of the loop over keys."""
    seen = visible(shape_of(case).n_q, shape_of(case).n_k, causal=True)
    return whole_tiles(case, seen) if ending_only else seen


def _unasked(ending_only: bool) -> Writes:
    """Full launches come out as if they were causal; the others are right."""
    return Writes(
        lambda case: {} if is_causal(case) else of_scores(case, scores(case), causal_unasked(case, ending_only))
    )


def _masking(masked: Callable[[Case, Array, Array], Array]) -> Writes:
    """The mask is left out, but in tiles of which `masked(case, first query, first key)` holds."""

    def seen(case: Case, queries: Array, keys: Array) -> Array:
        s = shape_of(case)
        hiding = masked(case, _first_of_tile(queries, s.Br), _first_of_tile(keys, s.Bc))
        return np.asarray((keys <= queries + offset(case)) | ~hiding)

    return _seeing(seen).at(Part.CAUSAL_MASK)


def _is_last(case: Case, first_query: Array, first_key: Array) -> Array:
    """Tiles of keys that are the last one of their loop."""
    return np.asarray(first_key // shape_of(case).Bc == last_looked_at(case)[:, None])


def _passes_the_end(case: Case, first_query: Array, first_key: Array) -> Array:
    """Tiles of keys that go past the end of their loop."""
    end = np.minimum(shape_of(case).n_k, first_query + shape_of(case).Br + offset(case))
    return np.asarray(first_key + shape_of(case).Bc > end)


def _mask_on_the_load(s: Array, v: Array, case: Case) -> Outputs:
    """Keys that the causal mask would hide from a whole tile of queries are loaded as 0 in full launches, too."""
    if is_causal(case):
        return {}
    shape = shape_of(case)
    last = (np.arange(shape.n_q) // shape.Br + 1) * shape.Br - 1 + offset(case)
    loaded = np.arange(shape.n_k) <= last[:, None]
    s = np.where(loaded | np.isinf(s), s, 0.0)
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(np.isinf(m), 0.0, m))
    made = dict(attention(s, v))
    l = e.sum(axis=-1, keepdims=True)
    made["o_ptr"] = (np.where(loaded, e, 0.0) @ v) / np.where(l == 0, 1.0, l)
    return made


def _tiles_without_keys(case: Case) -> Outputs:
    """The outputs of tiles of queries of which none sees any key: what a program leaves out that returns early."""
    shape = shape_of(case)
    tile = np.arange(shape.n_q) // shape.Br
    alone = ~np.isin(tile, tile[has_keys(case)])
    made = {}
    for name in ("o_ptr", "lse_ptr", "dq_ptr"):
        if name in case.tensors and case.tensors[name].role is Role.OUTPUT:
            values = case.tensors[name].values
            made[name] = np.broadcast_to(alone.reshape(1, -1, *[1] * (values.ndim - 2)), values.shape)
    return made


RETURNED_EARLY = idea("returned-early", Unwritten(_tiles_without_keys))


def future(case: Case, strict: bool, sign: int = 1) -> Array:
    """Which query sees which key, with the comparison turned round; `sign`: of n_k - n_q in it."""
    s = shape_of(case)
    if not is_causal(case):
        return sees(case)
    keys, last = np.arange(s.n_k)[None, :], np.arange(s.n_q)[:, None] + sign * offset(case)
    return np.asarray(keys > last if strict else keys >= last)


def _upside_down(strict: bool, skipping: bool, sign: int) -> Writes:
    """Attention with the comparison turned round; `skipping`: only tiles are looked at that must be."""

    def outputs(case: Case) -> Outputs:
        looked = looked_at(case) if skipping else np.True_
        return of_scores(case, scores(case), future(case, strict, sign) & looked)

    return Writes(outputs)


def _ending_early(early: int, causal: bool = True) -> Writes:
    """Right, but for an end of the loop over keys that comes so many keys too early."""
    return _ending(
        lambda case, start: (start + shape_of(case).Br + offset(case) if causal else shape_of(case).n_k) - early, causal
    )


def _looking(case: Case) -> Array:
    """Queries that see no key, in tiles that look at some key for others, shape (n_q,)."""
    alone = ~has_keys(case)
    tile = np.arange(len(alone)) // shape_of(case).Br
    return np.asarray(alone & np.isin(tile, tile[~alone]))


def _hidden(o: Callable[[Array, Case], Array], lse: Callable[[Case], float], in_all_tiles: bool) -> Writes:
    """The right outputs but for queries that see no key: in all tiles, or in those that look at some key."""

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        made = attention(s, v)
        made["o_ptr"][:, ~has_keys(case) if in_all_tiles else _looking(case)] = o(v, case)
        made["lse_ptr"][:, _looking(case)] = lse(case)
        return made

    return from_scores(formula)


def _nan(v: Array, case: Case) -> Array:
    return np.array(np.nan)


def _alone_get_mean(s: Array, v: Array, case: Case) -> Outputs:
    """The right O, but the mean of V for queries without keys in tiles that look at some key."""
    made = attention(s, v)["o_ptr"]
    made[:, _looking(case)] = _mean(v, case)
    return {"o_ptr": made}


def _mean(v: Array, case: Case) -> Array:
    """Of the lanes of one block of keys, those past the end included: their values were loaded as 0."""
    block = shape_of(case).Bc
    return np.asarray(v[:, :block].sum(axis=1, keepdims=True) / block)


UNASKED = {  # signs by what is said of them
    "causal-unasked": _unasked(ending_only=False).at(Part.CAUSAL_MASK),
    "causal-unasked/end": _unasked(ending_only=True).at(Part.LOOP_END),
}
CAUSAL = (
    RETURNED_EARLY,
    idea(
        "causal-upside-down",
        *(
            _upside_down(strict, skipping, sign).at(Part.CAUSAL_MASK)
            for strict, skipping, sign in product((False, True), (True, False), (1, -1))
        ),
    ),
    idea("loop-ends-too-early", _ending_early(1).at(Part.LOOP_END)),
    *(
        idea("loop-ends-too-early/several", _ending_early(early).at(Part.LOOP_END), early=str(early))
        for early in range(2, 5)
    ),
    idea("loop-ends-too-early/full", _ending_early(1, causal=False).at(Part.LOOP_END_WITHOUT_MASK)),
    *(
        idea(
            "loop-ends-too-early/full-several",
            _ending_early(early, causal=False).at(Part.LOOP_END_WITHOUT_MASK),
            early=str(early),
        )
        for early in range(2, 5)
    ),
    idea("causal-mask-on-the-load", from_scores(_mask_on_the_load).at(Part.LOAD)),
    idea("causal-off-by-one", _with_mask(lambda case: offset(case) - 1).at(Part.CAUSAL_MASK)),
    idea(
        "causal-off-by-one/future",
        *(_with_mask(lambda case: offset(case) + 1, skipping).at(Part.CAUSAL_MASK) for skipping in (False, True)),
    ),
    *(
        idea(f"loop-ends-too-early/{variant}", _ending(end).at(Part.LOOP_END))
        for variant, end in (
            ("without-offset", lambda case, start: start + shape_of(case).Br),
            ("first-query", lambda case, start: start + offset(case)),
            ("after-first-query", lambda case, start: start + 1 + offset(case)),
            ("by-bc", lambda case, start: start + shape_of(case).Bc + offset(case)),
            (
                "rounded-down",
                lambda case, start: (
                    min(shape_of(case).n_k, start + shape_of(case).Br + offset(case))
                    // shape_of(case).Bc
                    * shape_of(case).Bc
                ),
            ),
        )
    ),
    idea(
        "causal-mask-by-tile",
        _seeing(lambda case, queries, keys: _first_of_tile(keys, shape_of(case).Bc) <= queries + offset(case)).at(
            Part.CAUSAL_MASK
        ),
    ),
    idea(
        "causal-mask-by-tile/last-query",
        _seeing(
            lambda case, queries, keys: (
                keys <= _first_of_tile(queries, shape_of(case).Br) + shape_of(case).Br - 1 + offset(case)
            )
        ).at(Part.CAUSAL_MASK),
    ),
    idea(
        "causal-mask-by-tile/first-query",
        _seeing(lambda case, queries, keys: keys <= _first_of_tile(queries, shape_of(case).Br) + offset(case)).at(
            Part.CAUSAL_MASK
        ),
    ),
    idea(
        "causal-mask-by-tile/from-the-tile",
        _seeing(lambda case, queries, keys: keys <= queries % shape_of(case).Br + offset(case)).at(Part.CAUSAL_MASK),
    ),
    idea(
        "causal-tile-not-masked",
        _masking(lambda case, first_query, first_key: first_key + shape_of(case).Bc > first_query),
        _masking(lambda case, first_query, first_key: first_key + shape_of(case).Bc > first_query + 1),
    ),
    idea("causal-tile-not-masked/last-tile", _masking(_is_last), _masking(_passes_the_end)),
    idea(
        "causal-tile-not-masked/where-queries-begin",
        _masking(lambda case, first_query, first_key: first_key >= first_query + offset(case)),
        _masking(lambda case, first_query, first_key: first_key == first_query + offset(case)),
        _masking(lambda case, first_query, first_key: first_key >= first_query),
        _masking(lambda case, first_query, first_key: first_key == first_query),
        _masking(
            lambda case, first_query, first_key: first_key // shape_of(case).Bc == first_query // shape_of(case).Br
        ),
    ),
    idea(
        "causal-offset-reversed",
        *(_with_mask(lambda case: -offset(case), skipping).at(Part.CAUSAL_MASK) for skipping in (False, True)),
    ),
    idea(
        "causal-top-left",
        _with_mask(lambda case: 0).at(Part.CAUSAL_MASK),
        _with_mask(lambda case: 0, skipping=True).at(Part.CAUSAL_MASK),
    ),
    *(idea(key, sign) for key, sign in UNASKED.items()),
    idea(
        "loop-begins-at-the-diagonal",
        *(
            _beginning(first, always).at(Part.LOOP_BEGIN)
            for always in (False, True)
            for first in (
                lambda case, start: start,
                lambda case, start: start + offset(case),
                lambda case, start: start // shape_of(case).Bc * shape_of(case).Bc,
                lambda case, start: (start + offset(case)) // shape_of(case).Bc * shape_of(case).Bc,
            )
        ),
    ),
    idea("causal-ignored", _with_mask(lambda case: None)),
    idea("causal-ignored/on-the-diagonal", _with_mask(lambda case: None, skipping=True)),
    idea("hidden-rows-nan", _hidden(_nan, lambda case: np.nan, in_all_tiles=False)),
    idea("hidden-rows-nan/divided-by-l", _hidden(_nan, lambda case: -np.inf, in_all_tiles=True)),
    idea("hidden-rows-nan/both", _hidden(_nan, lambda case: np.nan, in_all_tiles=True)),
    idea("hidden-rows-mean-of-v", from_scores(_alone_get_mean)),
)
