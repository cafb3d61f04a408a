"""Wrong ideas about the backward pass."""

from __future__ import annotations

from functools import partial

import numpy as np

from checker.catalog.attention.backward.models import (
    DP,
    FIRST_QUERIES,
    First,
    another_mask,
    before_the_first_query,
    collected_of,
    delta_in_half,
    delta_of,
    ended_early,
    from_ds,
    from_gradients,
    from_late_loop,
    from_p,
    in_base_two,
    in_half,
    late_by,
    lse_of,
    masked_once,
    masked_only_in_ds,
    nan_from_hidden,
    nan_from_padding,
    of_head_0,
    p_of,
    scaled,
    tile_delta,
    tile_softmax,
    to_another_end,
    with_scaled_dp,
    with_transposed,
    without_last_tile,
)
from checker.catalog.attention.bounds import looked_at
from checker.catalog.attention.forward.mistakes import scaled_in_half
from checker.catalog.attention.launch import shape_of, writes
from checker.catalog.attention.reference import offset, scores, sees
from checker.catalog.lines import loop_begin
from checker.course.misconception import Ideas, Reaches, Writes

idea = Ideas(__file__)


def _begun_at(first: First) -> Writes:
    return from_gradients(partial(from_late_loop, first=first))


_OF_DELTA = (
    idea("delta-in-half", Writes(lambda case: delta_in_half(case, rounded=False))),
    idea("delta-in-half/delta", Writes(lambda case: delta_in_half(case, rounded=True))),
)
_OF_GRADIENTS = (
    idea("delta-missing", from_ds(lambda case, g: g.p * g.dp)),
    idea("delta-of-one-tile", from_ds(lambda case, g: g.p * (g.dp - tile_delta(case, g)))),
    idea(
        "delta-outside-the-product",
        from_ds(lambda case, g: np.where(looked_at(case), g.p * g.dp - delta_of(case), 0.0)),
    ),
    idea("base-two", from_p(lambda case: in_base_two(case, 1.0))),
    idea("base-two/not-in-lse", from_p(lambda case: in_base_two(case, float(np.log2(np.e))))),
    idea("accumulator-in-half", from_gradients(in_half)),
    idea("scale-missing", scaled(lambda scale: 1 / scale, "dq_ptr", "dk_ptr")),
    idea("scale-twice", scaled(lambda scale: scale, "dq_ptr", "dk_ptr")),
    idea("dp-scaled", with_scaled_dp(again=True).at(DP)),
    idea("dp-scaled/in-its-place", with_scaled_dp(again=False).at(DP)),
    idea("scale-on-dv", scaled(lambda scale: scale, "dv_ptr")),
    idea(
        "scores-not-scaled",
        from_p(lambda case: p_of(case, scores(case) / float(case.scalars["scale"]), lse_of(case), sees(case))),
    ),
)
_OF_HEADS = (
    idea("only-one-head", of_head_0("q", "k", "v", "do", "lse", "delta")),
    idea("only-one-head/lse-and-delta", of_head_0("lse", "delta")),
    idea("only-one-head/lse", of_head_0("lse")),
    idea("only-one-head/delta", of_head_0("delta")),
    idea("only-one-head/k-and-v", of_head_0("k", "v")),
    idea("only-one-head/k", of_head_0("k")),
    idea("only-one-head/v", of_head_0("v")),
    idea("only-one-head/q-and-do", of_head_0("q", "do")),
    idea("only-one-head/q", of_head_0("q")),
    idea("only-one-head/do", of_head_0("do")),
)
_OF_MASK = (
    idea("mask-forgotten", from_p(lambda case: another_mask(case, None))),
    idea("mask-only-in-ds", from_gradients(lambda case, g: masked_only_in_ds(case) if writes(case, "dv") else {})),
)
_OF_TILES_MASKED = (
    idea("causal-tile-not-masked", *(from_p(partial(masked_once, keys_outside=outside)) for outside in (True, False))),
)
_OF_NORMALISER = (
    idea(
        "softmax-of-each-tile", *(from_p(partial(tile_softmax, hidden_too=hidden_too)) for hidden_too in (False, True))
    ),
)
_OF_OFFSET = (
    idea(
        "causal-offset-reversed",
        *(from_p(lambda case, of=of: another_mask(case, -offset(case), of)) for of in (True, False)),  # type: ignore[misc]
    ),
    idea("causal-top-left", from_p(lambda case: another_mask(case, 0))),
    idea("causal-off-by-one", from_p(lambda case: another_mask(case, offset(case) - 1))),
    idea("causal-off-by-one/future", from_p(lambda case: another_mask(case, offset(case) + 1))),
    idea("hidden-rows-nan", from_gradients(nan_from_hidden)),
)
_OF_TILES = (
    idea("padding-infinite", from_gradients(nan_from_padding)),
    idea("tile-transposed", from_gradients(lambda case, g: with_transposed(case, g, p=True, ds=True))),
    idea("tile-transposed/p", from_gradients(lambda case, g: with_transposed(case, g, p=True, ds=False))),
    idea("tile-transposed/ds", from_gradients(lambda case, g: with_transposed(case, g, p=False, ds=True))),
)
_OF_LOOPS = (
    idea("loop-to-another-end", from_gradients(partial(to_another_end, only="dk_ptr"))),
    idea("loop-to-another-end/keys", from_gradients(partial(to_another_end, only="dq_ptr"))),
    *(idea(key, _begun_at(first)) for key, first in FIRST_QUERIES.items()),
    idea("first-tile-left-out/one-query", _begun_at(late_by(1)).at(loop_begin)),
    *(
        idea("first-tile-left-out/several", _begun_at(late_by(late)).at(loop_begin), late=str(late))
        for late in range(2, 5)
    ),
    idea("begins-before-the-first-query", Reaches(before_the_first_query)),
    idea(
        "last-tile-left-out",
        from_gradients(lambda case, g: collected_of(case, g.p, without_last_tile(case, g.ds), "dq_ptr")),
        from_gradients(lambda case, g: collected_of(case, g.p, ended_early(case, g.ds, shape_of(case).Br), "dq_ptr")),
    ),
)

_OF_SCALE = scaled_in_half(lambda s: from_p(lambda case: p_of(case, s(case), lse_of(case), sees(case))))
# Those that need no causal mask, of gradient kernels.
FULL = (*_OF_SCALE, *_OF_GRADIENTS, *_OF_HEADS, *_OF_NORMALISER, *_OF_TILES)
MISTAKES = (
    *(*_OF_SCALE, *_OF_DELTA, *_OF_GRADIENTS, *_OF_HEADS, *_OF_MASK, *_OF_TILES_MASKED),
    *(*_OF_NORMALISER, *_OF_OFFSET, *_OF_TILES, *_OF_LOOPS),
)
