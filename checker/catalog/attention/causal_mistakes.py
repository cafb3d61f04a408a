"""Wrong ideas about the causal mask: where it lies, where loops end, and queries that see no key."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from checker.catalog.attention.bounds import looked_at
from checker.catalog.attention.launch import shape_of
from checker.catalog.attention.mistakes import Outputs, attention, from_scores, of_scores
from checker.catalog.attention.reference import has_keys, is_causal, offset, scores, sees, visible
from checker.course.case import Array, Case, Role
from checker.course.misconception import Misconception, Part, Unwritten, Writes


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


RETURNED_EARLY = Misconception(
    "returned-early",
    "Programs whose queries see no key write nothing",
    "A program that has nothing to add up still owns its tile of the output: nobody else will write it.",
    "Leave out the loop, not the store: with no iteration at all, what is stored is right if it starts right.",
    signs=(Unwritten(_tiles_without_keys),),
)


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


def _keys(count: int) -> str:
    return "one key" if count == 1 else f"{count} keys"


def _one_of(last: int) -> str:
    return "the last key" if last == 1 else f"one of the last {last} keys"


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


NAN_WITHOUT_KEYS = (
    "A query that sees no key has only scores of -inf, so its maximum is -inf, and -inf - (-inf) is NaN; or it "
    "looks at no tile at all, and 0 / 0 is NaN."
)
GUARD = (
    "Subtract 0 while the maximum is -inf, tl.where(m_new == -float('inf'), 0.0, m_new), and divide by 1 where li is 0."
)

CAUSAL = (
    RETURNED_EARLY,
    Misconception(
        "causal-upside-down",
        "The causal mask is upside down",
        "Queries see the keys after their own position instead of those before it.",
        "Query i sees key j if j <= i + n_k - n_q.",
        signs=tuple(
            _upside_down(strict, skipping, sign).at(Part.CAUSAL_MASK)
            for strict, skipping, sign in product((False, True), (True, False), (1, -1))
        ),
    ),
    *(
        Misconception(
            "loop-ends-too-early",
            f"The loop over keys ends too early, by at least {_keys(early)}",
            f"Where a tile of keys begins with {_one_of(early)} that its queries see, it is left out: the end of range "
            "is exclusive.",
            "End at min(n_k, start_q + Br + n_k - n_q), one past the last key that any query of the tile sees.",
            signs=(_ending_early(early).at(Part.LOOP_END),),
        )
        for early in range(1, 5)
    ),
    *(
        Misconception(
            "loop-ends-too-early",
            f"The loop over keys ends too early, by at least {_keys(early)}",
            f"Where the last tile of keys begins with {_one_of(early)}, it is left out: the end of range is exclusive.",
            "Without a causal mask, end at n_k.",
            signs=(_ending_early(early, causal=False).at(Part.LOOP_END_WITHOUT_MASK),),
        )
        for early in range(1, 5)
    ),
    Misconception(
        "causal-mask-on-the-load",
        "Without CAUSAL, keys of the future are loaded as 0",
        "The mask of the load hides them in full attention, too. They then count with the score 0, and add nothing "
        "to O.",
        "The mask of a load says which rows exist: keys[:, None] < n_k. What a query sees is a matter of its scores.",
        signs=(from_scores(_mask_on_the_load).at(Part.LOAD),),
    ),
    Misconception(
        "causal-off-by-one",
        "The diagonal is hidden: no query sees its own key",
        "The mask is j < i + n_k - n_q, one key too few.",
        "Query i sees key j if j <= i + n_k - n_q.",
        signs=(_with_mask(lambda case: offset(case) - 1).at(Part.CAUSAL_MASK),),
    ),
    Misconception(
        "causal-off-by-one",
        "Each query sees one key of the future",
        "The mask is j <= i + n_k - n_q + 1, one key too many.",
        "Query i sees key j if j <= i + n_k - n_q.",
        signs=tuple(
            _with_mask(lambda case: offset(case) + 1, skipping).at(Part.CAUSAL_MASK) for skipping in (False, True)
        ),
    ),
    *(
        Misconception(
            "loop-ends-too-early",
            title,
            explanation,
            "End at min(n_k, (i + 1) * Br + n_k - n_q), and let range round up by itself.",
            signs=(_ending(end).at(Part.LOOP_END),),
        )
        for title, explanation, end in (
            (
                "The loop over keys leaves out the last tiles",
                "Its end lacks n_k - n_q: with more keys than queries, each query sees that many more.",
                lambda case, start: start + shape_of(case).Br,
            ),
            (
                "The loop over keys leaves out the last tiles",
                "Its end is that of the tile's first query; the last query of the tile sees Br - 1 keys more.",
                lambda case, start: start + offset(case),
            ),
            (
                "The loop over keys leaves out the last tiles",
                "Its end is one past the last key of the tile's first query; the last query of the tile sees Br - 1 "
                "keys more.",
                lambda case, start: start + 1 + offset(case),
            ),
            (
                "The loop over keys leaves out the last tile",
                "The number of tiles was rounded down: a tile on the diagonal is only partly hidden, and must be "
                "looked at.",
                lambda case, start: (
                    min(shape_of(case).n_k, start + shape_of(case).Br + offset(case))
                    // shape_of(case).Bc
                    * shape_of(case).Bc
                ),
            ),
        )
    ),
    Misconception(
        "causal-top-left",
        "The causal mask is aligned top-left",
        "The mask is j <= i, as if the first query stood at the first key. Queries are the last n_q positions of "
        "n_k: the last query sees all keys.",
        "Query i sees key j if j <= i + n_k - n_q.",
        signs=(_with_mask(lambda case: 0).at(Part.CAUSAL_MASK),),
    ),
    Misconception(
        "causal-ignored",
        "Queries see keys of the future",
        "With CAUSAL, all keys were used.",
        "Hide scores with j > i + n_k - n_q: tl.where(..., Sij, -float('inf')).",
        signs=(_with_mask(lambda case: None),),
    ),
    Misconception(
        "causal-ignored",
        "Tiles on the diagonal are not masked",
        "Tiles that are hidden altogether are skipped, but in those on the diagonal queries see keys of the future.",
        "Hide scores with j > i + n_k - n_q: tl.where(..., Sij, -float('inf')).",
        signs=(_with_mask(lambda case: None, skipping=True),),
    ),
    Misconception(
        "hidden-rows-nan",
        "Queries that see no key come out as NaN",
        NAN_WITHOUT_KEYS,
        GUARD,
        signs=(
            _hidden(_nan, lambda case: np.nan, in_all_tiles=True),
            _hidden(_nan, lambda case: np.nan, in_all_tiles=False),
            _hidden(_nan, lambda case: -np.inf, in_all_tiles=True),
        ),
    ),
    Misconception(
        "hidden-rows-mean-of-v",
        "Queries that see no key get the mean of V",
        "With a large negative number for hidden scores, a query that sees no key has that number as its maximum, "
        "and all of its exponentials are exp(0) = 1.",
        "Hide scores with -float('inf') and guard the maximum, or set P to 0 where a key is hidden.",
        signs=(from_scores(_alone_get_mean),),
    ),
)
