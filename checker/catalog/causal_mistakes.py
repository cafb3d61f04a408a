"""Wrong ideas about the causal mask: where it lies, where loops end, and queries that see no key."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from checker.catalog.attention import has_keys, is_causal, looked_at, offset, scores, sees, shape_of, visible
from checker.catalog.attention_mistakes import Outputs, attention, of_scores, writes
from checker.puzzle import Array, Case, Misconception


def _with_mask(last: Callable[[Case], int | None], skipping: bool = False) -> Callable[[Case], Outputs]:
    """Attention with another causal mask: query i sees key j if j <= i + last(case); None: all keys.

    `skipping`: tiles that are hidden altogether are left out all the same.
    """

    def outputs(case: Case) -> Outputs:
        shape = shape_of(case)
        shift = last(case)
        seen = visible(shape.n_q, shape.n_k, is_causal(case) and shift is not None, shift)
        seen = seen & looked_at(case) if skipping else seen
        return of_scores(case, scores(case), seen)

    return outputs


def _ending(end: Callable[[Case, int], int]) -> Callable[[Case], Outputs]:
    """Right, but for the end of the loop over keys: `end(case, first query of the tile)`, rounded up to whole tiles."""

    def outputs(case: Case) -> Outputs:
        shape = shape_of(case)
        seen = sees(case).copy()
        if is_causal(case):
            for start in range(0, shape.n_q, shape.Br):
                seen[start : start + shape.Br, max(0, -(-end(case, start) // shape.Bc) * shape.Bc) :] = False
        return of_scores(case, scores(case), seen)

    return outputs


def _looking(case: Case) -> Array:
    """Queries that see no key, in tiles that look at some key for others, shape (n_q,)."""
    alone = ~has_keys(case)
    tile = np.arange(len(alone)) // shape_of(case).Br
    return np.asarray(alone & np.isin(tile, tile[~alone]))


def _hidden(
    o: Callable[[Array, Case], Array], lse: Callable[[Case], float], in_all_tiles: bool
) -> Callable[[Case], Outputs]:
    """The right outputs but for queries that see no key: in all tiles, or in those that look at some key."""

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        made = attention(s, v)
        made["o_ptr"][:, ~has_keys(case) if in_all_tiles else _looking(case)] = o(v, case)
        made["lse_ptr"][:, _looking(case)] = lse(case)
        return made

    return writes(formula)


def _nan(v: Array, case: Case) -> Array:
    return np.array(np.nan)


def _alone_get_mean(s: Array, v: Array, case: Case) -> Outputs:
    """The right O, but the mean of V for queries without keys in tiles that look at some key."""
    made = attention(s, v)["o_ptr"]
    made[:, _looking(case)] = _mean(v, case)
    return {"o_ptr": made}


def _mean(v: Array, case: Case) -> Array:
    """Of the lanes of one block of keys, those behind the end included: their values were loaded as 0."""
    block = shape_of(case).Bc
    return np.asarray(v[:, :block].sum(axis=1, keepdims=True) / block)


NAN_WITHOUT_KEYS = (
    "A query that sees no key has only scores of -inf, so its maximum is -inf, and -inf - (-inf) is NaN; or it "
    "looks at no tile at all, and 0 / 0 is NaN."
)
GUARD = (
    "Subtract 0 while the maximum is -inf, tl.where(m_new == -float('inf'), 0.0, m_new), and divide by 1 where li is 0."
)

CAUSAL = (
    Misconception(
        "causal-off-by-one",
        "The diagonal is hidden: no query sees its own key",
        "The mask is j < i + n_k - n_q, one key too few.",
        "Query i sees key j if j <= i + n_k - n_q.",
        outputs=_with_mask(lambda case: offset(case) - 1),
    ),
    Misconception(
        "causal-off-by-one",
        "Each query sees one key of the future",
        "The mask is j <= i + n_k - n_q + 1, one key too many.",
        "Query i sees key j if j <= i + n_k - n_q.",
        outputs=_with_mask(lambda case: offset(case) + 1),
    ),
    Misconception(
        "causal-off-by-one",
        "Each query sees one key of the future",
        "The mask is j <= i + n_k - n_q + 1, one key too many.",
        "Query i sees key j if j <= i + n_k - n_q.",
        outputs=_with_mask(lambda case: offset(case) + 1, skipping=True),
    ),
    Misconception(
        "loop-ends-too-early",
        "The loop over keys leaves out the last tiles",
        "Its end lacks n_k - n_q: with more keys than queries, each query sees that many more.",
        "End at min(n_k, (i + 1) * Br + n_k - n_q), and let range round up by itself.",
        outputs=_ending(lambda case, start: start + shape_of(case).Br),
    ),
    Misconception(
        "loop-ends-too-early",
        "The loop over keys leaves out the last tiles",
        "Its end is that of the tile's first query; the last query of the tile sees Br - 1 keys more.",
        "End at min(n_k, (i + 1) * Br + n_k - n_q), and let range round up by itself.",
        outputs=_ending(lambda case, start: start + offset(case)),
    ),
    Misconception(
        "loop-ends-too-early",
        "The loop over keys leaves out the last tile",
        "The number of tiles was rounded down: a tile on the diagonal is only partly hidden, and must be looked at.",
        "End at min(n_k, (i + 1) * Br + n_k - n_q), and let range round up by itself.",
        outputs=_ending(
            lambda case, start: (
                min(shape_of(case).n_k, start + shape_of(case).Br + offset(case))
                // shape_of(case).Bc
                * shape_of(case).Bc
            )
        ),
    ),
    Misconception(
        "causal-top-left",
        "The causal mask is aligned top-left",
        "The mask is j <= i, as if the first query stood at the first key. Queries are the last n_q positions of "
        "n_k: the last query sees all keys.",
        "Query i sees key j if j <= i + n_k - n_q.",
        outputs=_with_mask(lambda case: 0),
    ),
    Misconception(
        "causal-ignored",
        "Queries see keys of the future",
        "With CAUSAL, all keys were used.",
        "Hide scores with j > i + n_k - n_q: tl.where(..., Sij, -float('inf')).",
        outputs=_with_mask(lambda case: None),
    ),
    Misconception(
        "causal-ignored",
        "Tiles on the diagonal are not masked",
        "Tiles that are hidden altogether are skipped, but in those on the diagonal queries see keys of the future.",
        "Hide scores with j > i + n_k - n_q: tl.where(..., Sij, -float('inf')).",
        outputs=_with_mask(lambda case: None, skipping=True),
    ),
    Misconception(
        "hidden-rows-nan",
        "Queries that see no key come out as NaN",
        NAN_WITHOUT_KEYS,
        GUARD,
        outputs=_hidden(_nan, lambda case: np.nan, in_all_tiles=True),
    ),
    Misconception(
        "hidden-rows-nan",
        "Queries that see no key come out as NaN",
        NAN_WITHOUT_KEYS,
        GUARD,
        outputs=_hidden(_nan, lambda case: np.nan, in_all_tiles=False),
    ),
    Misconception(
        "hidden-rows-nan",
        "Queries that see no key come out as NaN",
        NAN_WITHOUT_KEYS,
        GUARD,
        outputs=_hidden(_nan, lambda case: -np.inf, in_all_tiles=True),
    ),
    Misconception(
        "hidden-rows-mean-of-v",
        "Queries that see no key get the mean of V",
        "With a large negative number for hidden scores, a query that sees no key has that number as its maximum, "
        "and all of its exponentials are exp(0) = 1.",
        "Hide scores with -float('inf') and guard the maximum, or set P to 0 where a key is hidden.",
        outputs=writes(_alone_get_mean),
    ),
)
