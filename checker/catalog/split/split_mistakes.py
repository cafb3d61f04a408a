"""Wrong ideas of `split_kernel`: which keys a split has, what it stores if it has none, and where.

Numbers are those of the lesson's example: the scores 1 3 | 2 5 of one query in two splits; values 10 20 | 30 40.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from checker.catalog.attention.forward import flash_2_mistakes
from checker.catalog.attention.forward.flash_2_mistakes import (
    ACCUMULATION,
    LACKING_A_TILE,
    LSE_OF_M_AND_L,
    lse_instead,
)
from checker.catalog.attention.forward.mistakes import SCORES
from checker.catalog.attention.forward.models import without_max
from checker.catalog.attention.launch import shape_of
from checker.catalog.attention.tiles import reach
from checker.catalog.numbers import FINITE, rounded
from checker.catalog.split.bounds import budget
from checker.catalog.split.launch import cut_of, is_split
from checker.catalog.split.models import (
    begin,
    empty_splits,
    end,
    exchanged,
    from_to,
    hidden_from,
    ids_exchanged,
    in_splits,
    in_whole_tiles,
    left_out,
    lifted,
    part_stored,
    queries_first,
    right,
    stored,
    with_next_keys,
    with_one_more,
)
from checker.course.case import Case
from checker.course.misconception import Ideas, Moves, Reaches, Unwritten, Writes, without
from checker.course.verdict import Traffic

idea = Ideas(__file__, flash_2_mistakes.idea)


def _moves_next_keys(case: Case, moved: Mapping[str, Traffic]) -> bool:
    """K and V are loaded as if each split had whole tiles of keys."""
    if not is_split(case):
        return False
    keys = sum(len(with_next_keys(case, split)) for split in range(case.grid[0]))
    shape, k = shape_of(case), budget(case)["k_ptr"].loads
    loads = {moved[name].loads for name in ("k_ptr", "v_ptr")}
    return loads == {shape.heads * keys * shape.D} and max(loads) > k


def _tile_before(case: Case, split: int) -> int:
    return begin(case, split) // shape_of(case).Bc * shape_of(case).Bc


def _tile_after(case: Case, split: int) -> int:
    return in_whole_tiles(case, begin(case, split))


def _beginning_at(first: Callable[[Case, int], int]) -> tuple[Writes, Writes]:
    """Splits that begin elsewhere, and end where they should, or keys_per_split further on."""
    return (
        in_splits(right, from_to(first, lambda case, split: (split + 1) * cut_of(case).keys)),
        in_splits(right, from_to(first, lambda case, split: first(case, split) + cut_of(case).keys)),
    )


KEYS = (
    idea("next-splits-keys-counted", in_splits(right, with_next_keys)),
    idea("next-splits-keys-loaded", Moves(_moves_next_keys)),
    idea(
        "next-splits-keys-counted/first-key",
        in_splits(right, with_one_more),
        in_splits(right, from_to(begin, lambda case, split: end(case, split) + 1)),
    ),
    *(
        idea("keys-behind-the-end-counted", hidden_from(limit))
        for limit in (lambda case: np.inf, lambda case: shape_of(case).n_k)
    ),
    idea("keys-compared-with-n-q", hidden_from(lambda case: shape_of(case).n_q)),
    *(
        idea("split-begins-elsewhere", in_splits(right, from_to(lambda case, split: split * shape_of(case).Bc, last)))
        for last in (lambda case, split: split * shape_of(case).Bc + cut_of(case).keys, end)
    ),
    idea("split-begins-elsewhere/tile-before", *_beginning_at(_tile_before)),
    idea("split-begins-elsewhere/tile-after", *_beginning_at(_tile_after)),
    idea("split-begins-elsewhere/at-key-0", in_splits(right, from_to(lambda case, split: 0, end))),
)

EMPTY = (
    idea("empty-split-is-nan", in_splits(right, empty=(np.nan, -np.inf))),
    idea("empty-split-is-nan/lse", in_splits(right, empty=(np.nan, np.nan))),
    idea("empty-split-not-stored", Unwritten(empty_splits)),
    *(idea("lse-of-empty-split", in_splits(right, empty=(0.0, lse))) for lse in (0.0, *FINITE)),
)

NO_MAXIMUM = idea("no-max-subtraction", in_splits(without_max(guarded=True).outputs))

LSE = tuple(
    idea(key, in_splits(lse_instead(lse).outputs, empty=(0.0, 0.0 if key == "lse-is-the-normaliser" else -np.inf)))
    for key, lse in LSE_OF_M_AND_L.items()
)

PLACES = (
    idea("splits-and-heads-exchanged", stored(exchanged)),
    idea("splits-and-heads-exchanged/by-query", stored(queries_first)),
    idea("wrong-row-map", left_out(lambda case: np.arange(case.grid[0] * shape_of(case).n_q))),
    idea("wrong-row-map/splits", left_out(lambda case: np.arange(case.grid[1] * shape_of(case).n_q))),
    idea("parts-in-half", stored(lambda case, made: {**made, "o_part_ptr": rounded(made["o_part_ptr"])})),
    idea("keys-without-mask", reach(False, mask="none", sides="k")),
    idea("mask-off-by-one", reach(False, mask="one too many", sides="k")),
    idea("queries-without-mask", reach(False, mask="none", sides="q"), reach(False, mask="one too many", sides="q")),
    idea("store-without-mask", part_stored(lambda case: shape_of(case).Br)),
    idea("mask-off-by-one/store", part_stored(lambda case: min(shape_of(case).Br, shape_of(case).n_q + 1))),
    idea("program-ids-exchanged", Reaches(ids_exchanged)),
)

OF_ONE_LOOP = (  # what is said of a loop to n_k does not hold for splits
    *("keys-compared-with-n-q", "keys-behind-the-end-counted", "whole-tiles-only", "loop-to-another-end"),
    "maximum-of-hidden-scores",
)
IN_EACH_SPLIT = tuple(lifted(one) for one in without((*ACCUMULATION, *LACKING_A_TILE, *SCORES), *OF_ONE_LOOP))
SPLITS = (*KEYS, *EMPTY, NO_MAXIMUM, *LSE, *PLACES, *IN_EACH_SPLIT)
