"""Results of PyTorch functions with wrong ideas of the backward pass that kernels lack, or have in part.

A call makes all three gradients, where each kernel of the family makes some.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from checker.catalog.attention.backward.gradients import Gradients
from checker.catalog.attention.backward.models import (
    DP,
    FIRST_QUERIES,
    First,
    another_mask,
    begun_late,
    collected,
    delta_of,
    ended_early,
    from_gradients,
    from_p,
    late_by,
    lse_of,
    masked_once,
    masked_only_in_ds,
    p_of,
    tile_softmax,
    with_scaled_dp,
    without_last_tile,
)
from checker.catalog.attention.backward.models import scaled as scaled_in_kernels
from checker.catalog.attention.bounds import transposed
from checker.catalog.attention.forward.models import last_looked_at
from checker.catalog.attention.launch import shape_of, wide
from checker.catalog.attention.pytorch.backward import as_in_kernels
from checker.catalog.attention.pytorch.models import reshaped_k
from checker.catalog.attention.reference import offset, scores, sees
from checker.course.case import Array, Case
from checker.course.misconception import Writes

ALL = "dq", "dk", "dv"
Change = Callable[[Case, Array], Array]  # (case, P or dS) → what is left of it

# delta.


def _with_delta(delta: Callable[[Array, Array, Case], Array]) -> Writes:
    """Another delta, `delta(O, dO, case)`, with a last axis of 1; dV is right."""

    def formula(case: Case, g: Gradients) -> dict[str, Array]:
        return collected(case, g.p, g.p * (g.dp - delta(g.p @ wide(case, "v"), wide(case, "do"), case)))

    return as_in_kernels(from_gradients(formula), "dq", "dk")


def _of_tiles_of_queries(o: Array, do: Array, case: Case) -> Array:
    """Return one number for each tile of queries, of all heads."""
    block, rows = shape_of(case).Br, (o * do).sum(axis=(0, 2))
    sums = [rows[start : start + block].sum() for start in range(0, len(rows), block)]
    return np.repeat(sums, block)[: len(rows), None]


DELTA_OF_EVERYTHING = (_with_delta(lambda o, do, case: np.asarray((o * do).sum())), _with_delta(_of_tiles_of_queries))

# P: another mask, or other scores.


def _seeing_up_to(offset: Callable[[Case], int | None]) -> tuple[Writes, ...]:
    """Return P where query i sees key j if j <= i + offset(case), or all keys; over all tiles, or needed ones."""

    def p(case: Case, skipping: bool) -> Array:
        return another_mask(case, offset(case), skipping)

    return tuple(as_in_kernels(from_p(partial(p, skipping=skipping)), causal=True) for skipping in (True, False))


NO_MASK, TOP_LEFT = _seeing_up_to(lambda case: None), _seeing_up_to(lambda case: 0)
ONE_TOO_FEW = _seeing_up_to(lambda case: offset(case) - 1)
ONE_TOO_MANY = _seeing_up_to(lambda case: offset(case) + 1)
OFFSET_REVERSED = _seeing_up_to(lambda case: -offset(case))
MASK_ONLY_IN_DS = tuple(
    as_in_kernels(from_gradients(lambda case, g, of=of: masked_only_in_ds(case, of)), "dv", causal=True)  # type: ignore[misc]
    for of in (True, False)
)
SOFTMAX_OF_EACH_TILE = tuple(
    as_in_kernels(from_p(partial(tile_softmax, hidden_too=hidden_too))) for hidden_too in (False, True)
)
RESHAPED_K = as_in_kernels(from_p(lambda case: p_of(case, reshaped_k(case), lse_of(case), sees(case))))
# Tiles that are not there, or lie the wrong way round.


def _from_tiles(change: Change, *only: str, causal: bool = False) -> Writes:
    """P and dS changed alike."""
    sign = from_gradients(lambda case, g: collected(case, change(case, g.p), change(case, g.ds)))
    return as_in_kernels(sign, *only, causal=causal)


def _last_keys(case: Case, x: Array) -> Array:
    """For each query, its last tile of keys."""
    return np.where(np.arange(x.shape[2]) // shape_of(case).Bc == last_looked_at(case)[:, None], x, 0.0)


def _last_queries(case: Case, x: Array) -> Array:
    """For each key the last tile of queries, which sees all keys."""
    s = shape_of(case)
    return np.where((np.arange(s.n_q) // s.Br == s.tr - 1)[:, None], x, 0.0)


def _whole(queries: bool, keys: bool) -> Change:
    """Without the last tile of queries or keys, where that is not full."""

    def change(case: Case, x: Array) -> Array:
        s = shape_of(case)
        kept = x.copy()
        kept[:, s.n_q // s.Br * s.Br if queries else s.n_q :] = 0.0
        kept[:, :, s.n_k // s.Bc * s.Bc if keys else s.n_k :] = 0.0
        return kept

    return change


def _from_the_end(case: Case, g: Gradients) -> dict[str, Array]:
    """Return a loop over queries that begins below 0: a slice from there on counts from the end, and its positions do
    not.
    """
    s, more = shape_of(case), offset(case)
    every = p_of(case, scores(case), lse_of(case), np.ones_like(sees(case)))
    p, rows, keys = g.p.copy(), np.arange(s.n_q), np.arange(s.n_k)
    for start_k in range(0, s.n_k, s.Bc):
        tile = keys[start_k : start_k + s.Bc]
        for start_q in range((start_k - more) // s.Br * s.Br, 0, s.Br):
            cut = rows[start_q : start_q + s.Br]
            seen = tile <= start_q + np.arange(len(cut))[:, None] + more
            p[:, cut[:, None], tile] += np.where(seen, every[:, cut[:, None], tile], 0.0)
    return collected(case, p, p * (g.dp - delta_of(case)))


LAST_TILE = {name: _from_tiles(_last_keys if name == "dq" else _last_queries, name) for name in ALL}
TRANSPOSED = {name: _from_tiles(transposed, name) for name in ALL}
WHOLE_TILES = tuple(_from_tiles(_whole(*of)) for of in ((True, True), (True, False), (False, True)))
_FIRST: tuple[First, ...] = (
    *(*FIRST_QUERIES.values(), *map(late_by, range(1, 5))),
    lambda start, offset, Br, Bc: (max(0, start - offset) // Br + 1) * Br,
)
BEGUN_LATE = tuple(_from_tiles(partial(begun_late, first=first), causal=True) for first in _FIRST)
FROM_THE_END = as_in_kernels(from_gradients(_from_the_end), causal=True)
ENDED_EARLY = (
    _from_tiles(without_last_tile, causal=True),
    _from_tiles(lambda case, x: ended_early(case, x, max(0, offset(case))), causal=True),
    _from_tiles(lambda case, x: ended_early(case, x, shape_of(case).Br - 1), causal=True),
    *(_from_tiles(partial(ended_early, early=early), causal=True) for early in range(1, 5)),
)

# What is made of P and dS.


def scaled(by: Callable[[float], float], name: str) -> Writes:
    """Return one gradient with another factor."""
    return as_in_kernels(scaled_in_kernels(by, f"{name}_ptr"), name)


def _exchanged(scaled: bool) -> Writes:
    """dK and dV in each other's place; `scaled`: the scale stays in its place."""

    def formula(case: Case, g: Gradients) -> dict[str, Array]:
        right = collected(case, g.p, g.ds)
        factor = float(case.scalars["scale"]) if scaled else 1.0
        return {"dk_ptr": right["dv_ptr"] * factor, "dv_ptr": right["dk_ptr"] / factor}

    return as_in_kernels(from_gradients(formula))


def _not_reset(*only: str) -> Writes:
    """Each tile of these gradients holds all tiles before it as well."""

    def formula(case: Case, g: Gradients) -> dict[str, Array]:
        made = collected(case, g.p, g.ds)
        for name in only:
            x = made[f"{name}_ptr"]
            block = shape_of(case).Br if name == "dq" else shape_of(case).Bc
            for start in range(block, x.shape[1], block):
                tile = x[:, start : start + block]
                tile += x[:, start - block : start][:, : tile.shape[1]]
        return made

    return as_in_kernels(from_gradients(formula), *only)


def _p_outside(case: Case, g: Gradients) -> dict[str, Array]:
    """P times dP of every entry, and delta subtracted only where it is seen."""
    return collected(case, g.p, np.where(sees(case), g.p * g.dp - delta_of(case), 0.0))


ONE_TILE_MASKED = tuple(
    as_in_kernels(from_p(partial(masked_once, keys_outside=outside)), causal=True) for outside in (True, False)
)
NOT_RESET = {name: _not_reset(*name.split()) for name in ("dk dv", "dq", "dk", "dv")}
EXCHANGED = _exchanged(False), _exchanged(True)
DP_SCALED = {again: (as_in_kernels(with_scaled_dp(again).at(DP), "dq", "dk"),) for again in (True, False)}
DELTA_OUTSIDE = as_in_kernels(from_gradients(_p_outside), "dq", "dk")
