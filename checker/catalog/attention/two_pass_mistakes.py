"""Wrong ideas about attention in two passes: m and l are final before pass 2 begins, which adds up P V."""

from __future__ import annotations

import numpy as np

from checker.catalog.attention.mistakes import (
    Q_K_V,
    from_scores,
    of_p,
    one,
)
from checker.catalog.attention.two_pass_models import (
    keys_and_values_exchanged,
    passes,
    reduced_over_queries,
    scores_with_tail,
    three_passes,
    unscaled_scores,
)
from checker.catalog.softmax.mistakes import exp32
from checker.course.misconception import Misconception, Moves, Part, Writes

_IN_PASS_1 = "Pass 1: li = tl.exp(mi - mi_new) * li + tl.sum(tl.exp(Sij - mi_new[:, None]), axis=1)."
_IN_PASS_2 = "Pass 2: Pij = tl.exp(Sij - mi[:, None]) / li[:, None]."
_SCORES = "Both passes need the same line: Sij = scale * tl.dot(Qi, tl.trans(Kj))."
_HIDDEN = "Both passes need the same line: Sij = tl.where(keys[None, :] < n_k, Sij, -float('inf'))."

PASSES = (
    Misconception(
        "keys-read-three-times",
        "K is read three times for each tile of queries, and two are enough",
        "Maximum and normaliser in a pass each, as in puzzle 2, make three passes with O's. A second load of Kj in one "
        "of two passes costs as much.",
        "Keep mi and li together in one pass, as in puzzle 3, and rescale li whenever mi grows. Load Kj once in each "
        "pass: tl.trans(Kj) exchanges its sides on the chip.",
        signs=(Moves(three_passes, products_too=True),),
    ),
    Misconception(
        "rescaled-by-the-inverse",
        "The old normaliser is rescaled the wrong way round",
        "The factor must make li smaller when the maximum grows. exp(mi_new - mi) makes it larger, and at the first "
        "tile, where mi is -inf, infinite: infinity times 0 is NaN.",
        "The factor is exp(mi - mi_new), never above 1.",
        signs=(passes(old_l=lambda a: 1 / a).at(Part.INVERSE_FACTOR, needed=True),),
    ),
    Misconception(
        "accumulator-overwritten",
        "O forgets the tiles of keys before the last one",
        "Oi is the product of the last tile alone: each tile's product replaces the one before it.",
        "Pass 2 adds: Oi += tl.dot(Pij.to(Vj.dtype), Vj).",
        signs=(passes(kept=0.0).at(Q_K_V),),
    ),
    Misconception(
        "sum-of-last-tile",
        "The normaliser forgets the tiles of keys before the last one",
        "li is the sum of the last tile alone: each tile's sum replaces the one before it.",
        _IN_PASS_1,
        signs=(passes(old_l=lambda a: 0.0 * a).at(Part.NORMALISER),),
    ),
    Misconception(
        "sum-of-last-tile",
        "Maximum and normaliser are those of the last tile of keys",
        "mi and li begin again with each tile, so after pass 1 they know the last tile alone. Pass 2 weighs all keys "
        "with them.",
        "Set mi and li once, before the loop of pass 1.",
        signs=(passes(old_l=lambda a: 0.0 * a, top=lambda m, m_tile: m_tile),),
    ),
    *of_p(passes, "mi", "the factors exp(mi - mi_new)"),
    Misconception(
        "maximum-starts-too-high",
        "The running maximum does not start at -inf",
        "Where all scores of a query are far below the number that it starts at, it stays there: their exponentials "
        "are 0, li is 0, and 0 / 0 is NaN.",
        "It starts at -inf, which every score is above: tl.full((Br,), -float('inf'), tl.float32).",
        signs=(passes(top=lambda m, m_tile: np.maximum(np.maximum(m, m_tile), 0.0)).at(Part.START_ABOVE, needed=True),),
    ),
    Misconception(
        "maximum-of-hidden-scores",
        "Keys past the end take part in the maximum",
        "Their scores are 0, because they were loaded as 0. Where all scores that count are far below 0, mi is 0, "
        "their exponentials are 0, and 0 / 0 is NaN.",
        "Hide the scores before the maximum: tl.where(keys[None, :] < n_k, Sij, -float('inf')).",
        signs=(passes(hidden_too=True).at(Part.MAX),),
    ),
    Misconception(
        "max-of-last-tile",
        "The maximum is that of the last tile only",
        "Each tile's maximum replaces the one before it. Where an earlier tile had a much larger score, the factor "
        "exp(mi - mi_new) overflows.",
        "Pass 1: mi_new = tl.maximum(mi, tl.max(Sij, axis=1)).",
        signs=(passes(top=lambda m, m_tile: m_tile).at(Part.MAXIMUM),),
    ),
    Misconception(
        "max-of-last-tile",
        "Pass 2 subtracts the maximum of the last tile only",
        "li is relative to mi, the maximum of all keys. Exponentials relative to another number are off by "
        "one factor for each query, and where an earlier tile had a much larger score they overflow.",
        _IN_PASS_2,
        signs=(passes(weights=lambda t: exp32(t.s - t.last_m) / t.l),),
    ),
    Misconception(
        "own-maximum-in-pass-2",
        "Pass 2 subtracts each tile's own maximum",
        "li is relative to mi, the maximum of all keys. A tile whose own maximum is smaller counts too much, by "
        "exp(mi - its own).",
        _IN_PASS_2,
        signs=(passes(weights=lambda t: t.own / t.l),),
    ),
    *(
        Misconception(
            "max-missing-in-one-pass",
            f"The maximum is not subtracted in pass {number}",
            f"{what} The two differ by the factor exp(mi), and exp(s) is infinite in fp32 from s = 88.8 on.",
            hint,
            signs=(sign,),
        )
        for number, what, hint, sign in (
            (
                1,
                "li is the sum of exp(S), but Pij is exp(S - mi).",
                _IN_PASS_1,
                passes(p=lambda s, m: exp32(s), old_l=one, weights=lambda t: exp32(t.s - t.m) / t.l),
            ),
            (
                2,
                "Pij is exp(S), but li is the sum of exp(S - mi).",
                _IN_PASS_2,
                passes(weights=lambda t: exp32(t.s) / t.l),
            ),
        )
    ),
    *(
        Misconception(
            "scale-in-one-pass",
            f"The scores of pass {number} are not scaled",
            "Pass 2 computes the scores of pass 1 again, so they must be the same: with others, the weights of a query "
            "do not sum to 1.",
            _SCORES,
            signs=(sign,),
        )
        for number, sign in ((1, passes(first=unscaled_scores)), (2, passes(second=unscaled_scores)))
    ),
    Misconception(
        "tail-hidden-in-one-pass",
        "Keys past the last one are not hidden in pass 2",
        "Their score is 0, and their row of V is loaded as 0, so mostly they add nothing. But where all scores that "
        "count are far below 0, exp(0 - mi) is infinite, and infinity times 0 is NaN.",
        _HIDDEN,
        signs=(passes(second=scores_with_tail),),
    ),
    Misconception(
        "denominator-not-rescaled",
        "The old normaliser is not rescaled when the maximum grows",
        "li adds up exponentials that were taken relative to different maxima. If you do multiply by "
        "exp(mi - mi_new), then mi was overwritten before that, and the factor is exp(0) = 1.",
        _IN_PASS_1 + " The line mi = mi_new comes last.",
        signs=(passes(old_l=one).at(Part.NORMALISER),),
    ),
    Misconception(
        "new-part-not-rescaled",
        "The new part of the normaliser is relative to its own tile",
        "The exponentials of each tile were taken relative to that tile's maximum. If an earlier tile had a larger "
        "one, they count too much in li.",
        _IN_PASS_1,
        signs=(passes(own=True).at(Part.NORMALISER),),
    ),
    Misconception(
        "block-local",
        "Each tile of keys has a softmax of its own",
        "Every tile's exponentials were divided by their own sum, so O is a sum of averages, one for each tile, "
        "and what pass 1 has found is not used.",
        _IN_PASS_2,
        signs=(
            passes(weights=lambda t: t.own / t.own.sum(axis=-1, keepdims=True)),
            passes(weights=lambda t: exp32(t.s - t.m) / exp32(t.s - t.m).sum(axis=-1, keepdims=True)),
        ),
    ),
    Misconception(
        "divided-by-a-running-sum",
        "Pass 2 divides by a sum that is still growing",
        "The weights of an early tile were divided by the sum of the keys seen so far, those of a later tile by more. "
        "li is final when pass 2 begins: that is what pass 1 is for.",
        _IN_PASS_2,
        signs=(
            passes(weights=lambda t: exp32(t.s - t.m) / t.seen),
            passes(weights=lambda t: exp32(t.s - t.m) / (t.l + t.seen)),
        ),
    ),
    Misconception(
        "normaliser-counted-twice",
        "The normaliser counts every key twice",
        "Both passes add to li, so it is twice what it should be after pass 2, and O is half of what it should be.",
        "Pass 2 leaves li as it is.",
        signs=(passes(last=lambda o, l: o / 2),),
    ),
    Misconception(
        "divided-at-every-step",
        "O is divided at every step",
        "Oi was divided by li inside the loop, and what earlier tiles had added was divided again and again.",
        "Divide each product once, Pij = tl.exp(Sij - mi[:, None]) / li[:, None], or Oi once after the loop.",
        signs=(passes(weights=lambda t: exp32(t.s - t.m), each=lambda o, l: o / l),),
    ),
    Misconception(
        "divided-twice",
        "O is divided by the normaliser twice",
        "Pij was divided by li, and so was the sum of the products.",
        "Divide once.",
        signs=(passes(last=lambda o, l: o / l),),
    ),
    Misconception(
        "multiplied-by-the-sum",
        "O is multiplied by the normaliser",
        "The weights of an average sum to 1: the normaliser divides.",
        "Write / instead of *.",
        signs=(passes(weights=lambda t: exp32(t.s - t.m) * t.l),),
    ),
    Misconception(
        "not-divided",
        "O is not divided by the normaliser",
        "O holds the weighted sum of V's rows with weights that do not sum to 1.",
        _IN_PASS_2,
        signs=(passes(weights=lambda t: exp32(t.s - t.m)),),
    ),
    Misconception(
        "keys-and-values-exchanged",
        "K and V are exchanged",
        "The scores are products of queries and values, and O is an average of the rows of K.",
        "Scores come from k_ptr, and what is averaged comes from v_ptr.",
        signs=(Writes(keys_and_values_exchanged),),
    ),
    Misconception(
        "reduced-over-queries",
        "Maximum and sum run over the queries",
        "Rows of Sij are queries and columns are keys. axis=0 goes from row to row: it gives a number for each key, "
        "and only a square tile lets that pass for one for each query.",
        "tl.max(Sij, axis=1) and tl.sum(..., axis=1) have one entry per query.",
        signs=(from_scores(reduced_over_queries),),
    ),
)
