"""Mistakes with the causal mask: its position, the ends of loops, and queries that see no key."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Literal

import numpy as np

from checker.catalog.attention.bounds import looked_at
from checker.catalog.attention.forward.models import Outputs, attention, from_scores, last_looked_at, of_scores
from checker.catalog.attention.launch import shape_of
from checker.catalog.attention.reference import has_keys, is_causal, offset, scores, sees
from checker.catalog.lines import loop_end, loop_end_without_mask
from checker.course.case import Array, Case, Role
from checker.course.misconception import Ideas, Unwritten, Writes

idea = Ideas(__file__)


class Tiling:
    """The queries and keys of one launch and the first ones of their tiles.

    Arrays have shape (n_q, 1) for queries and (1, n_k) for keys, so that a comparison has shape (n_q, n_k).
    """

    def __init__(self, case: Case) -> None:
        shape = shape_of(case)
        self.case, self.Br, self.Bc, self.n_k, self.off = case, shape.Br, shape.Bc, shape.n_k, offset(case)
        self.q, self.k = np.arange(shape.n_q)[:, None], np.arange(shape.n_k)[None, :]
        self.q0, self.k0 = self.q // self.Br * self.Br, self.k // self.Bc * self.Bc

    def sees(self) -> Array:
        """Return which query sees which key in a right kernel, shape (n_q, n_k)."""
        return sees(self.case)

    def in_last_tile(self) -> Array:
        """Return which keys are in the last tile that a query looks at, shape (n_q, n_k)."""
        return np.asarray(self.k0 // self.Bc == last_looked_at(self.case)[:, None])


Entries = Callable[[Tiling], Array]  # entries of the scores, of a shape that broadcasts to (n_q, n_k)
Key = Callable[[Tiling], Array | int]  # a key for each query, of a shape that broadcasts to (n_q, 1)


def _seeing(seen: Entries, *, skipping: bool = True, wrong: Literal["causal", "full", "all"] = "causal") -> Writes:
    """Return attention to the entries in `seen`, in the launches that are `wrong`; the others are right.

    `skipping`: tiles without any entry that a right kernel needs are left out.
    """

    def outputs(case: Case) -> Outputs:
        mask = sees(case)
        if wrong in ("all", "causal" if is_causal(case) else "full"):
            mask = seen(Tiling(case)) & (looked_at(case) if skipping else np.True_)
        return of_scores(case, scores(case), mask)

    return Writes(outputs)


def _masked(seen: Entries, *, skipping: bool = True) -> Writes:
    """Return attention with another causal mask, as in `_seeing`."""
    return _seeing(seen, skipping=skipping)


def _in_both_loops(last: Key) -> tuple[Writes, Writes]:
    """Return attention where query i sees key j if j <= i + last, with a loop over all tiles and over needed ones."""

    def seen(t: Tiling) -> Array:
        return np.asarray(t.k <= t.q + last(t))

    return _masked(seen, skipping=False), _masked(seen)


def _reversed(compared: np.ufunc, sign: int, *, skipping: bool) -> Writes:
    """Return attention with the causal comparison reversed, and with this sign of n_k - n_q in it."""
    return _masked(lambda t: compared(t.k, t.q + sign * t.off), skipping=skipping)


def _unmasked_but_in(tiles: Entries) -> Writes:
    """Return attention that has the causal mask only in these tiles."""
    return _masked(lambda t: t.sees() | ~tiles(t))


def _ending(end: Key, wrong: Literal["causal", "full"] = "causal") -> Writes:
    """Return attention with a loop over keys that looks at the tiles before `end`, the last one whole."""
    return _seeing(lambda t: t.sees() & (t.k < -(-end(t) // t.Bc) * t.Bc), wrong=wrong)


def _ending_early(early: int) -> Writes:
    """Return attention with a loop over keys that ends `early` keys too soon in causal launches."""
    return _ending(lambda t: t.q0 + t.Br + t.off - early).at(loop_end)


def _ending_early_without_mask(early: int) -> Writes:
    """Return attention with a loop over keys that ends `early` keys too soon in full launches."""
    return _ending(lambda t: t.n_k - early, wrong="full").at(loop_end_without_mask)


def _beginning(first: Key, wrong: Literal["causal", "all"]) -> Writes:
    """Return attention with a loop over keys that begins at the key `first`."""
    return _seeing(lambda t: t.sees() & (t.k >= first(t)), wrong=wrong)


def _beginning_at_the_diagonal(wrong: Literal["causal", "all"]) -> tuple[Writes, ...]:
    """Return attention with loops over keys that begin at the number of the first query, or at the last key it sees."""
    return (
        _beginning(lambda t: t.q0, wrong),
        _beginning(lambda t: t.q0 + t.off, wrong),
        _beginning(lambda t: t.q0 // t.Bc * t.Bc, wrong),
        _beginning(lambda t: (t.q0 + t.off) // t.Bc * t.Bc, wrong),
    )


def _tiles_without_keys(case: Case) -> Outputs:
    """Return the elements in tiles of queries without keys, left unwritten by a program that returns early."""
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
    """Return which query sees which key if the causal comparison is reversed, shape (n_q, n_k).

    `strict`: no query sees the last key that it should see. `sign`: the sign of n_k - n_q in the comparison.
    """
    s = shape_of(case)
    if not is_causal(case):
        return sees(case)
    keys, last = np.arange(s.n_k)[None, :], np.arange(s.n_q)[:, None] + sign * offset(case)
    return np.asarray(keys > last if strict else keys >= last)


def _looking(case: Case) -> Array:
    """Return the queries without keys in tiles that look at some key for other queries, shape (n_q,)."""
    alone = ~has_keys(case)
    tile = np.arange(len(alone)) // shape_of(case).Br
    return np.asarray(alone & np.isin(tile, tile[~alone]))


def _hidden(o: Callable[[Array, Case], Array], lse: Callable[[Case], float], in_all_tiles: bool) -> Writes:
    """Return the right outputs, but `o` and `lse` for queries without keys in tiles that look at some key.

    `in_all_tiles`: `o` is for all queries without keys.
    """

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        made = attention(s, v)
        made["o_ptr"][:, ~has_keys(case) if in_all_tiles else _looking(case)] = o(v, case)
        made["lse_ptr"][:, _looking(case)] = lse(case)
        return made

    return from_scores(formula)


def _nan(v: Array, case: Case) -> Array:
    return np.array(np.nan)


def _alone_get_mean(s: Array, v: Array, case: Case) -> Outputs:
    """Return the right O, but the mean of V for queries without keys in tiles that look at some key."""
    made = attention(s, v)["o_ptr"]
    made[:, _looking(case)] = _mean(v, case)
    return {"o_ptr": made}


def _mean(v: Array, case: Case) -> Array:
    """Return the mean of V over the lanes of the first block of keys, shape (heads, 1, D); padded lanes hold 0."""
    block = shape_of(case).Bc
    return np.asarray(v[:, :block].sum(axis=1, keepdims=True) / block)


CAUSAL = (
    RETURNED_EARLY,
    idea(
        "causal-upside-down",
        *(
            _reversed(compared, sign, skipping=skipping)
            for compared, skipping, sign in product((np.greater_equal, np.greater), (True, False), (1, -1))
        ),
    ),
    idea("loop-ends-too-early", _ending_early(1)),
    *(idea("loop-ends-too-early/several", _ending_early(n), early=str(n)) for n in range(2, 5)),
    idea("loop-ends-too-early/full", _ending_early_without_mask(1)),
    *(idea("loop-ends-too-early/full-several", _ending_early_without_mask(n), early=str(n)) for n in range(2, 5)),
    idea("causal-off-by-one", _masked(lambda t: t.k <= t.q + t.off - 1, skipping=False)),
    idea("causal-off-by-one/future", *_in_both_loops(lambda t: t.off + 1)),
    idea("loop-ends-too-early/without-offset", _ending(lambda t: t.q0 + t.Br)),
    idea("loop-ends-too-early/first-query", _ending(lambda t: t.q0 + t.off)),
    idea("loop-ends-too-early/after-first-query", _ending(lambda t: t.q0 + 1 + t.off)),
    idea("loop-ends-too-early/by-bc", _ending(lambda t: t.q0 + t.Bc + t.off)),
    idea("loop-ends-too-early/rounded-down", _ending(lambda t: np.minimum(t.n_k, t.q0 + t.Br + t.off) // t.Bc * t.Bc)),
    idea(
        "causal-tile-not-masked",
        _unmasked_but_in(lambda t: t.k0 + t.Bc > t.q0),
        _unmasked_but_in(lambda t: t.k0 + t.Bc > t.q0 + 1),
    ),
    idea(
        "causal-tile-not-masked/last-tile",
        _unmasked_but_in(Tiling.in_last_tile),
        _unmasked_but_in(lambda t: t.k0 + t.Bc > np.minimum(t.n_k, t.q0 + t.Br + t.off)),
    ),
    idea(
        "causal-tile-not-masked/where-queries-begin",
        _unmasked_but_in(lambda t: t.k0 >= t.q0 + t.off),
        _unmasked_but_in(lambda t: t.k0 == t.q0 + t.off),
        _unmasked_but_in(lambda t: t.k0 >= t.q0),
        _unmasked_but_in(lambda t: t.k0 == t.q0),
        _unmasked_but_in(lambda t: t.k0 // t.Bc == t.q0 // t.Br),
    ),
    idea("causal-offset-reversed", *_in_both_loops(lambda t: -t.off)),
    idea("causal-top-left", *_in_both_loops(lambda t: 0)),
    idea("loop-begins-at-the-diagonal", *_beginning_at_the_diagonal("causal"), *_beginning_at_the_diagonal("all")),
    idea("causal-ignored", _seeing(lambda t: np.ones_like(t.sees()), skipping=False)),
    idea("causal-ignored/on-the-diagonal", _seeing(lambda t: np.ones_like(t.sees()))),
    idea("hidden-rows-nan", _hidden(_nan, lambda case: np.nan, in_all_tiles=False)),
    idea("hidden-rows-nan/divided-by-l", _hidden(_nan, lambda case: -np.inf, in_all_tiles=True)),
    idea("hidden-rows-nan/both", _hidden(_nan, lambda case: np.nan, in_all_tiles=True)),
    idea("hidden-rows-mean-of-v", from_scores(_alone_get_mean)),
)
