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
    "A program that has nothing to add up still owns its tile of the output: nobody else will write it, and what was "
    "in memory before stays there.",
    "Leave out the loop, not the store: with no iteration at all, what is stored is right if it starts right.",
    question="A program finds nothing to add up. What should its tile of the output hold afterwards, and who writes "
    "that?",
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


END_OF_LOOP = "tl.minimum(n_k, start_q + Br + n_k - n_q)."
_VISIBLE = "Query i sees key j if j <= i + n_k - n_q: keys[None, :] <= queries[:, None] + n_k - n_q."
_HIDE = "Hide such scores: tl.where(keys[None, :] <= queries[:, None] + n_k - n_q, Sij, -float('inf'))."
_LAST_QUERY = (
    "The last query of the tile sees Br - 1 keys more: in the lesson's example query 16 sees the keys up to 26, and "
    "query 31 up to 41."
)
_WHICH_QUERY = (
    "40 queries, 50 keys, tiles of 16: program 1 owns queries 16 to 31. Which of them sees the most keys, and which of "
    "them decides where your loop ends?"
)
_GUARD_OF_MAXIMUM = (
    "Subtract 0 while the maximum is -inf, in P and in the factor of the old parts alike: "
    "tl.where(mi_new == -float('inf'), 0.0, mi_new)."
)
_GUARD_OF_DIVISION = "Divide by 1 where l is 0: Oi / tl.where(li == 0.0, 1.0, li)[:, None]."

CAUSAL = (
    RETURNED_EARLY,
    Misconception(
        "causal-upside-down",
        "The causal mask is upside down",
        "Queries see the keys after their own position instead of those before it. Of 3 queries and 3 keys, query 0 "
        "should see key 0 alone, and query 2 all three.",
        _VISIBLE,
        question="3 queries, 3 keys: how many keys should query 0 see, and how many query 2? How many does your "
        "comparison let each of them see?",
        signs=tuple(
            _upside_down(strict, skipping, sign).at(Part.CAUSAL_MASK)
            for strict, skipping, sign in product((False, True), (True, False), (1, -1))
        ),
    ),
    *(
        Misconception(
            "loop-ends-too-early",
            f"The loop over keys ends too early, by at least {_keys(early)}",
            f"Where a tile of keys begins with {_one_of(early)} that its queries see, it is left out. In the lesson's "
            "example query 31 sees the keys up to 41, and key 41 must be visited as well.",
            f"End one past the last key that any query of the tile sees: {END_OF_LOOP}",
            question="10 queries, 17 keys, tiles of 16: which is the last key that query 9 sees, and in which tile is "
            "it? Where does your loop end, and does a range contain its end?",
            signs=(_ending_early(early).at(Part.LOOP_END),),
        )
        for early in range(1, 5)
    ),
    *(
        Misconception(
            "loop-ends-too-early",
            f"The loop over keys ends too early, by at least {_keys(early)}",
            f"Without a causal mask every key counts. Where the last tile of keys begins with {_one_of(early)}, it is "
            "left out.",
            "Without a causal mask, end at n_k.",
            question="33 keys in tiles of 16, without a causal mask: in which tile is key 32, and does your loop visit "
            "it? Does a range contain its end?",
            signs=(_ending_early(early, causal=False).at(Part.LOOP_END_WITHOUT_MASK),),
        )
        for early in range(1, 5)
    ),
    Misconception(
        "causal-mask-on-the-load",
        "Without CAUSAL, keys of the future are loaded as 0",
        "The mask of the load hides them in full attention, too. Such keys have the score 0, and still count: each "
        "adds exp(0 - m) to l, and nothing to O.",
        "The mask of a load says which rows exist: keys[:, None] < n_k. What a query sees is decided by its scores.",
        question="Without CAUSAL, query 0 sees every key. Which rows of K does the mask of your load let program 0 "
        "read?",
        signs=(from_scores(_mask_on_the_load).at(Part.LOAD),),
    ),
    Misconception(
        "causal-off-by-one",
        "The diagonal is hidden: no query sees its own key",
        "Each query sees one key fewer than it should. With as many queries as keys, query 0 should see key 0, its "
        "own, and sees nothing.",
        _VISIBLE,
        question="5 queries, 5 keys: which is the last key that query 2 should see? What does your comparison say of "
        "query 2 and that key?",
        signs=(_with_mask(lambda case: offset(case) - 1).at(Part.CAUSAL_MASK),),
    ),
    Misconception(
        "causal-off-by-one",
        "Each query sees one key of the future",
        "Each query sees one key more than it should. With as many queries as keys, query 0 sees key 1 as well, which "
        "comes after it.",
        _VISIBLE,
        question="5 queries, 5 keys: which is the first key that query 2 should not see? What does your comparison say "
        "of query 2 and that key?",
        signs=tuple(
            _with_mask(lambda case: offset(case) + 1, skipping).at(Part.CAUSAL_MASK) for skipping in (False, True)
        ),
    ),
    *(
        Misconception(
            "loop-ends-too-early",
            title,
            explanation,
            f"End at {END_OF_LOOP[:-1]}, and let range round up by itself.",
            question=question,
            signs=(_ending(end).at(Part.LOOP_END),),
        )
        for title, explanation, question, end in (
            (
                "The loop over keys leaves out the last tiles",
                "Its end lacks n_k - n_q: with more keys than queries, each query sees that many more. With 40 queries "
                "and 50 keys in tiles of 16, program 1 ends at 32, and query 31 sees the keys up to 41.",
                "40 queries, 50 keys: query 39 is the last one and sees all keys. Which is the last key that query 31 "
                "sees, and where does the loop of program 1, queries 16 to 31, end?",
                lambda case, start: start + shape_of(case).Br,
            ),
            (
                "The loop over keys leaves out the last tiles",
                f"Its end is that of the tile's first query. {_LAST_QUERY}",
                _WHICH_QUERY,
                lambda case, start: start + offset(case),
            ),
            (
                "The loop over keys leaves out the last tiles",
                f"Its end is one past the last key of the tile's first query. {_LAST_QUERY}",
                _WHICH_QUERY,
                lambda case, start: start + 1 + offset(case),
            ),
            (
                "The loop over keys leaves out the last tiles",
                "Its end counts Bc queries, and a tile has Br of them. Where Bc is smaller, it comes too early: with "
                "Br = 32 and Bc = 16, n_q = n_k, program 0 ends at 16, and query 31 sees the keys up to 31. Where Bc "
                "is larger, it comes too late.",
                "Br = 32, Bc = 16, as many queries as keys: which queries does program 0 own, which is the last key "
                "that any of them sees, and where does your loop end?",
                lambda case, start: start + shape_of(case).Bc + offset(case),
            ),
            (
                "The loop over keys leaves out the last tile",
                "The number of tiles was rounded down. Where keys up to 41 are visible, that leaves out the tile that "
                "begins at 32. It is only partly hidden, and must be looked at.",
                "Keys up to 41 are visible, in tiles of 16: in how many tiles are they, and how many does your loop "
                "visit?",
                lambda case, start: (
                    min(shape_of(case).n_k, start + shape_of(case).Br + offset(case))
                    // shape_of(case).Bc
                    * shape_of(case).Bc
                ),
            ),
        )
    ),
    *(
        Misconception(
            "causal-mask-by-tile",
            title,
            explanation,
            _VISIBLE,
            question=question,
            signs=(_seeing(seen).at(Part.CAUSAL_MASK),),
        )
        for title, explanation, question, seen in (
            (
                "The causal mask lets whole tiles of keys through",
                "It compares the first key of a tile, start_k, and not each key. Where a query sees one key of a tile "
                "it then sees all of them: with 48 queries and 48 keys in tiles of 16, query 0 sees the keys 0 to 15.",
                "48 queries, 48 keys, tiles of 16: how many keys of the first tile should query 0 see, and how many "
                "query 15? How many numbers does the key side of your comparison have?",
                lambda case, queries, keys: _first_of_tile(keys, shape_of(case).Bc) <= queries + offset(case),
            ),
            (
                "All queries of a tile see what its last one sees",
                "The mask compares keys with one query of the tile, its last one. With 48 queries and 48 keys in tiles "
                "of 16, query 0 then sees the keys up to 15, as query 15 does.",
                "48 queries, 48 keys, tiles of 16: which is the last key that query 0 should see, and which one for "
                "query 15? How many numbers does the query side of your comparison have?",
                lambda case, queries, keys: (
                    keys <= _first_of_tile(queries, shape_of(case).Br) + shape_of(case).Br - 1 + offset(case)
                ),
            ),
            (
                "All queries of a tile see what its first one sees",
                "The mask compares keys with one query of the tile, its first one. With 48 queries and 48 keys in "
                "tiles of 16, query 15 then sees key 0 alone, as query 0 does.",
                "48 queries, 48 keys, tiles of 16: which is the last key that query 0 should see, and which one for "
                "query 15? How many numbers does the query side of your comparison have?",
                lambda case, queries, keys: keys <= _first_of_tile(queries, shape_of(case).Br) + offset(case),
            ),
            (
                "The causal mask counts queries from the beginning of their tile",
                "In every program the mask has the queries 0 to Br - 1, which are those of program 0. With 48 queries "
                "and 48 keys in tiles of 16, query 16 then sees key 0 alone, and should see the keys up to 16.",
                "48 queries, 48 keys, tiles of 16: which queries does program 1 own, and which numbers does its mask "
                "compare with the keys?",
                lambda case, queries, keys: keys <= queries % shape_of(case).Br + offset(case),
            ),
        )
    ),
    Misconception(
        "causal-tile-not-masked",
        "Tiles that lie partly past what queries see are not masked",
        "A tile needs no mask where the first query of the program sees its last key. That depends on n_k - n_q as "
        "well: with 40 queries and 20 keys, query 16 sees no key at all, although keys 0 to 15 have smaller numbers.",
        "Mask each tile, or compare its last key with what the first query sees: start_k + Bc - 1 <= start_q + n_k - "
        "n_q.",
        question="40 queries, 20 keys, tiles of 16: which keys does query 16 see, and which ones query 31? Does your "
        "kernel mask the tile of keys 0 to 15 for them?",
        signs=tuple(
            _seeing(
                lambda case, queries, keys, late=late: (  # type: ignore[misc]
                    (keys <= queries + offset(case))
                    | (
                        _first_of_tile(keys, shape_of(case).Bc) + shape_of(case).Bc
                        <= _first_of_tile(queries, shape_of(case).Br) + late
                    )
                )
            ).at(Part.CAUSAL_MASK)
            for late in (0, 1)
        ),
    ),
    Misconception(
        "causal-offset-reversed",
        "The offset of the causal mask has the wrong sign",
        "Your offset is n_q - n_k. Queries are the last n_q positions of n_k, so query i sees n_k - n_q keys more than "
        "its own number says. With 40 queries and 50 keys the last query should see the keys up to 39 + 10 = 49, and "
        "sees those up to 39 - 10 = 29.",
        _VISIBLE,
        question="40 queries, 50 keys: which is the last key that query 39 should see? Which number must be added to "
        "39 for that, and which one does your kernel add?",
        signs=tuple(
            _with_mask(lambda case: -offset(case), skipping).at(Part.CAUSAL_MASK) for skipping in (False, True)
        ),
    ),
    Misconception(
        "causal-top-left",
        "The causal mask is aligned top-left",
        "Your mask takes the first query to stand at the first key. Queries are the last n_q positions of n_k: with 40 "
        "queries and 50 keys the last query should see all 50, and sees 40.",
        _VISIBLE,
        question="40 queries, 50 keys: how many keys should the last query see, and how many the first? How many does "
        "your comparison let each of them see?",
        signs=(
            _with_mask(lambda case: 0).at(Part.CAUSAL_MASK),
            _with_mask(lambda case: 0, skipping=True).at(Part.CAUSAL_MASK),
        ),
    ),
    Misconception(
        "causal-ignored",
        "Queries see keys of the future",
        "With CAUSAL, all keys were used, those past a query's own position as well. With as many queries as keys, "
        "query 0 should see key 0 alone, so its O should be row 0 of V.",
        _HIDE,
        question="As many queries as keys: which weights should query 0 have, and which does it have in yours? Print "
        "Pij of program 0.",
        signs=(_with_mask(lambda case: None),),
    ),
    Misconception(
        "causal-ignored",
        "Tiles on the diagonal are not masked",
        "Tiles that are hidden altogether are skipped, but in those on the diagonal queries see keys of the future. In "
        "the lesson's example query 16 sees the keys up to 26, and the tile that begins at 16 has keys up to 31.",
        _HIDE,
        question="In the lesson's example query 16 sees the keys up to 26, and its program visits the tile of keys 16 "
        "to 31. What becomes of its scores with keys 27 to 31 in your kernel?",
        signs=(_with_mask(lambda case: None, skipping=True),),
    ),
    Misconception(
        "hidden-rows-nan",
        "Queries that see no key come out as NaN in the exponential",
        "A query that sees no key has only scores of -inf, so its maximum is -inf, and -inf - (-inf) is NaN.",
        _GUARD_OF_MAXIMUM,
        question="All scores of a query are -inf. What is its maximum, and what is left in the exponent of P? What "
        "would have to be subtracted, so that the exponential is 0?",
        signs=(_hidden(_nan, lambda case: np.nan, in_all_tiles=False),),
    ),
    Misconception(
        "hidden-rows-nan",
        "Queries that see no key come out as NaN in the division by l",
        "The l of a query that has seen no key is 0, and 0 / 0 is NaN. Everything up to line 12 is right.",
        _GUARD_OF_DIVISION,
        question="What are O and l of a query that has seen no key, just before line 12? By which number could you "
        "divide such an O, so that it stays as it is?",
        signs=(_hidden(_nan, lambda case: -np.inf, in_all_tiles=True),),
    ),
    Misconception(
        "hidden-rows-nan",
        "Queries that see no key come out as NaN",
        "Two things make such a query NaN. If its program looks at a tile, its scores there are all -inf, and so is "
        "its maximum: -inf - (-inf) is NaN. If its program looks at none, l is 0, and 0 / 0 is NaN.",
        f"{_GUARD_OF_MAXIMUM} {_GUARD_OF_DIVISION}",
        question="What are m and l of a query that has seen no key, and in which two places does your kernel compute "
        "with them?",
        signs=(_hidden(_nan, lambda case: np.nan, in_all_tiles=True),),
    ),
    Misconception(
        "hidden-rows-mean-of-v",
        "Queries that see no key get the mean of V",
        "With a large negative number for hidden scores, a query that sees no key has that number as its maximum. All "
        "of its exponentials are then exp(0) = 1, and O is a mean of V where it should be 0.",
        "Hide scores with -float('inf') and guard the maximum, or set P to 0 where a key is hidden.",
        question="All scores of a query are -10000. What are its maximum and its exponentials? Which exponentials "
        "should hidden scores have?",
        signs=(from_scores(_alone_get_mean),),
    ),
)
