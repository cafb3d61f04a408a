"""Wrong ideas of `merge_kernel`: what a part weighs, what the sum is divided by, LSE, and where parts lie.

Numbers are those of the lesson's example: two parts with O 18.81 and 39.53, and LSE 3.127 and 5.049.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checker.catalog.attention.forward import flash_2_mistakes
from checker.catalog.attention.forward.flash_2_mistakes import OTHER_BASES
from checker.catalog.attention.tiles import ADDRESSING as OF_TILES
from checker.catalog.attention.tiles import heads_together
from checker.catalog.numbers import LOG2_E, exp32, rounded
from checker.catalog.split.launch import is_split
from checker.catalog.split.models import (
    merging,
    merging_first,
    merging_with_lse,
    padded_parts,
    parts_reached,
    regrouped,
    weighed,
)
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Moves, Writes, chosen
from checker.course.verdict import Traffic

idea = Ideas(__file__, flash_2_mistakes.idea)


def _unweighed(o: Array, divided_by: Array | float) -> Array:
    return np.asarray(o.sum(axis=0) / divided_by)


def _reads_twice(case: Case, moved: Mapping[str, Traffic]) -> bool:
    if is_split(case):
        return False
    often = [moved[name].loads / case.tensors[name].values.size for name in ("lse_part_ptr", "o_part_ptr")]
    return max(often) in (2, 3)


WEIGHTS = (
    idea(
        "parts-not-weighed",
        merging(lambda o, lse, case: (_unweighed(o, len(o)), None)),
        merging(lambda o, lse, case: (_unweighed(o, np.isfinite(lse).sum(axis=0)[..., None]), None)),
    ),
    idea("parts-not-weighed/sum", merging(lambda o, lse, case: (_unweighed(o, 1.0), None))),
    idea(
        "weights-without-max",
        merging(lambda o, lse, case: weighed(o, lse, lambda lse, m: exp32(lse), total=lambda m, l: np.log(l))),
        merging(lambda o, lse, case: (weighed(o, lse, lambda lse, m: exp32(lse))[0], weighed(o, lse)[1])),
    ),
    idea(
        "base-two",
        merging(lambda o, lse, case: weighed(o, lse, lambda lse, m: np.exp2(lse - m))),
        merging(
            lambda o, lse, case: weighed(o, lse, lambda lse, m: np.exp2(lse - m), total=lambda m, l: m + np.log2(l))
        ),
    ),
    idea("not-divided", merging(lambda o, lse, case: weighed(o, lse, divided=lambda o, l: o))),
    idea("divided-twice", merging(lambda o, lse, case: weighed(o, lse, divided=lambda o, l: o / l**2))),
    idea("padding-weighs", merging(lambda o, lse, case: weighed(*padded_parts(o, lse, case)))),
    idea(
        "padding-weighs/maximum",
        merging(
            lambda o, lse, case: (
                weighed(o, lse, m=padded_parts(o, lse, case)[1].max(axis=0))
                if len(lse) < int(case.constexprs["Bs"])
                else weighed(o, lse)
            )
        ),
    ),
    idea("maximum-starts-too-high", merging(lambda o, lse, case: weighed(o, lse, m=np.maximum(lse.max(axis=0), 0.0)))),
    idea(
        "parts-in-half",
        merging(lambda o, lse, case: weighed(rounded(o), lse)),
        merging(lambda o, lse, case: weighed(o, lse, lambda lse, m: rounded(exp32(lse - m)))),
    ),
)

LSE = (
    idea("merged-lse-is-the-max", merging_with_lse(lambda lse, m, l: m)),
    idea("lse-without-max", merging_with_lse(lambda lse, m, l: np.log(l))),
    idea("lse-without-log", merging_with_lse(lambda lse, m, l: m + l)),
    idea("lse-by-query", merging_with_lse(lambda lse, m, l: (m + np.log(l)).T.reshape(m.shape))),
    idea("lse-is-the-normaliser", merging_with_lse(lambda lse, m, l: l)),
    idea(
        "lse-in-base-two",
        merging_with_lse(lambda lse, m, l: m + np.log2(l)),
        merging_with_lse(lambda lse, m, l: (m + np.log(l)) * LOG2_E),
    ),
    *(
        idea(key, merging_with_lse(lambda lse, m, l, total=total: total(m, l)))  # type: ignore[misc]
        for key, total in OTHER_BASES.items()
        if "natural" in key
    ),
)


def _read_as(of_o: str, of_lse: str) -> Writes:
    """Parts that are looked for in another place."""
    return merging(lambda o, lse, case: weighed(regrouped(o, of_o), regrouped(lse, of_lse)))


PLACES = (
    *(
        idea(f"splits-and-heads-exchanged/{what}-{order}", _read_as(of_o, of_lse))
        for order in ("hsq", "sqh", "hqs")
        for what, of_o, of_lse in (("parts", order, order), ("lse", "shq", order), ("o", order, "shq"))
    ),
    idea("only-one-query", merging_first(2, False, True)),
    idea("only-one-query/o", merging_first(2, True, False)),
    idea("only-one-query/all", merging_first(2, True, True)),
    idea("only-one-head", merging_first(1, False, True)),
    idea("only-one-head/o", merging_first(1, True, False)),
    idea("only-one-head/all", merging_first(1, True, True)),
    idea("parts-without-mask", parts_reached(lambda case: int(case.constexprs["Bs"]) - 1)),
    idea(
        "mask-off-by-one", parts_reached(lambda case: min(int(case.scalars["splits"]), int(case.constexprs["Bs"]) - 1))
    ),
    idea("parts-read-twice", Moves(_reads_twice)),
)

ADDRESSING = (
    heads_together("lse", "n_q", "queries"),
    heads_together("o", "q_head_stride"),
    *chosen(OF_TILES, "head-stride-assumed", "width-as-stride", "strides-of-the-other-side"),
)
MERGES = (*WEIGHTS, *LSE, *PLACES)
