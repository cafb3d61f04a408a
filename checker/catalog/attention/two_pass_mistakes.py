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
    passes,
    reduced_over_queries,
    scores_with_tail,
    three_passes,
    unscaled_scores,
)
from checker.catalog.softmax.mistakes import exp32
from checker.course.misconception import Misconception, Moves, Part

_IN_PASS_1 = "Pass 1: li = tl.exp(mi - mi_new) * li + tl.sum(tl.exp(Sij - mi_new[:, None]), axis=1)."
_IN_PASS_2 = "Pass 2: Pij = tl.exp(Sij - mi[:, None]) / li[:, None]."
_SCORES = "Both passes need the same line: Sij = scale * tl.dot(Qi, tl.trans(Kj))."
_HIDDEN = "Both passes need the same line: Sij = tl.where(keys[None, :] < n_k, Sij, -float('inf'))."

# Numbers are those of the lesson's example: the scores 1 3 | 2 5 of one query, and the values 10 20 | 30 40.
PASSES = (
    Misconception(
        "keys-read-three-times",
        "K is read three times for each tile of queries, and two are enough",
        "Maximum and normaliser in a pass each, as in puzzle 2, make three passes with O's. A second load of Kj in one "
        "of two passes costs as much.",
        "Keep mi and li together in one pass, as in puzzle 3, and rescale li whenever mi grows. Load Kj once in each "
        "pass: tl.trans(Kj) exchanges its sides on the chip.",
        question="`make trace PUZZLE=a3` draws when each tile of K is read. Which number does each of the reads serve: "
        "m, l or O? Which two of these shared a pass in puzzle 3?",
        signs=(Moves(three_passes, products_too=True),),
    ),
    Misconception(
        "rescaled-by-the-inverse",
        "The old normaliser is rescaled the wrong way round",
        "When the maximum grows, the old li must become smaller. From 3 to 5 it gets the factor e^(3-5) = 0.14 in the "
        "lesson's example, and yours is the inverse, 7.39. At the first tile, where mi is -inf, the inverse is "
        "infinite, and infinity times 0 is NaN.",
        "The factor is exp(mi - mi_new), never above 1.",
        question="At tile 2 of the lesson's example the maximum grows from 3 to 5. Should the old sum, 1.14, become "
        "larger or smaller, and what does your factor do to it?",
        signs=(passes(old_l=lambda a: 1 / a).at(Part.INVERSE_FACTOR, needed=True),),
    ),
    Misconception(
        "accumulator-overwritten",
        "O forgets the tiles of keys before the last one",
        "Oi is the product of the last tile alone: each tile's product replaces the one before it. In the lesson's "
        "example O ends as 34.48, because the 2.40 of tile 1 is gone.",
        "Pass 2 adds: Oi += tl.dot(Pij.to(Vj.dtype), Vj).",
        question="In pass 2 of the lesson's example, O is 2.40 after tile 1 and 36.88 after tile 2. Print Oi at the "
        "end of each iteration: what became of the 2.40?",
        signs=(passes(kept=0.0).at(Q_K_V),),
    ),
    Misconception(
        "sum-of-last-tile",
        "The normaliser forgets the tiles of keys before the last one",
        "li is the sum of the last tile alone: each tile's sum replaces the one before it. In the lesson's example it "
        "ends as 1.05 instead of 0.15 + 1.05 = 1.20.",
        _IN_PASS_1,
        question="In the lesson's example, l is 1.14 after tile 1 of pass 1 and 1.20 after tile 2. Print li at the end "
        "of each iteration: which part of the 1.20 is missing?",
        signs=(passes(old_l=lambda a: 0.0 * a).at(Part.NORMALISER),),
    ),
    Misconception(
        "sum-of-last-tile",
        "Maximum and normaliser are those of the last tile of keys",
        "mi and li begin again with each tile, so after pass 1 they know the last tile alone. With the lesson's tiles "
        "in the other order, m ends as 3 and l as 1.14, and the score 5 gets the weight e^(5-3) / 1.14 = 6.51.",
        "Set mi and li once, before the loop of pass 1.",
        question="How often is mi set to -inf for one tile of queries with ten tiles of keys? How often should it be?",
        signs=(passes(old_l=lambda a: 0.0 * a, top=lambda m, m_tile: m_tile),),
    ),
    *of_p(passes, "mi", "the factors exp(mi - mi_new)"),
    Misconception(
        "maximum-starts-too-high",
        "The running maximum does not start at -inf",
        "Where all scores of a query are far below the number that mi starts at, mi stays there. With a start of 0 and "
        "scores near -200, their exponentials are 0 in fp32, li is 0, and 0 / 0 is NaN.",
        "It starts at -inf, which every score is above: tl.full((Br,), -float('inf'), tl.float32).",
        question="All scores of a query are -200. What is their maximum, and what is mi after the first tile in your "
        "kernel?",
        signs=(passes(top=lambda m, m_tile: np.maximum(np.maximum(m, m_tile), 0.0)).at(Part.START_ABOVE, needed=True),),
    ),
    Misconception(
        "maximum-of-hidden-scores",
        "Keys past the end take part in the maximum",
        "Keys past the end were loaded as 0, so their score is 0. Where all scores that count are near -200, mi is "
        "then 0, their exponentials are 0 in fp32, li is 0, and 0 / 0 is NaN.",
        "Hide the scores before the maximum: tl.where(keys[None, :] < n_k, Sij, -float('inf')).",
        question="The scores of a query are -200 and -210, and the tile has two more lanes past the end, with the "
        "score 0. Of which of the four does your kernel take the maximum?",
        signs=(passes(hidden_too=True).at(Part.MAX),),
    ),
    Misconception(
        "max-of-last-tile",
        "The maximum is that of the last tile only",
        "Each tile's maximum replaces the one before it. If one tile has the maximum 200 and the next one 100, the "
        "factor of the old li is exp(200 - 100), which is infinite in fp32.",
        "Pass 1: mi_new = tl.maximum(mi, tl.max(Sij, axis=1)).",
        question="One tile has the maximum 200, the next one 100. Which is the maximum of all keys so far, and what "
        "does your mi_new say?",
        signs=(passes(top=lambda m, m_tile: m_tile).at(Part.MAXIMUM),),
    ),
    Misconception(
        "max-of-last-tile",
        "Pass 2 subtracts the maximum of the last tile only",
        "li is relative to mi, the maximum of all keys, and the exponentials of pass 2 are relative to another number. "
        "With the lesson's tiles in the other order that number is 3 instead of 5, and every weight is 7.39 times too "
        "large. Where an earlier tile had a much larger score, the exponentials overflow.",
        _IN_PASS_2,
        question="Print the maximum at the end of pass 1, and the one that you subtract in pass 2. Which of the two is "
        "li relative to?",
        signs=(passes(weights=lambda t: exp32(t.s - t.last_m) / t.l),),
    ),
    Misconception(
        "max-not-kept",
        "The running maximum is still -inf in pass 2",
        "mi holds its start, -inf, when pass 2 subtracts it: S - mi is +inf, and so is its exponential. The loop of "
        "pass 1 computes mi_new for each tile, and it never becomes mi.",
        "The loop of pass 1 ends with mi = mi_new.",
        question="Print mi before pass 2. Which line was meant to change it, and which name gets that line's result?",
        signs=(passes(kept_m=lambda m, m_new: m).at(Part.MAXIMUM_NOT_KEPT, needed=True),),
    ),
    *(
        Misconception(
            "keys-not-advanced",
            f"Pass 2 looks at the {which} tile of keys again and again",
            f"The keys that pass 2 loads do not change in its loop: they are those of the {which} tile, as often as "
            "there are tiles. Of the lesson's two tiles, one would count twice and the other never.",
            "Compute the keys in each loop anew: keys = start_k + tl.arange(0, Bc), and all that is made of them.",
            question="Print keys in each iteration of pass 2. Which should they be in its first one?",
            signs=(passes(stale=number),),
        )
        for which, number in (("last", -1), ("first", 0))
    ),
    Misconception(
        "l-in-the-exponent",
        "The normaliser is subtracted in the exponent",
        "exp(S - m) / l is exp(S - m - log(l)), and not exp(S - m - l). With l = 1.20, the lesson's weights are "
        "divided by e^1.20 = 3.33, so they sum to 0.36 and not to 1.",
        _IN_PASS_2,
        question="exp(3 - 5) must be divided by 1.2034. Which number do you subtract in the exponent for that?",
        signs=(passes(weights=lambda t: exp32(t.s - t.m - t.l)),),
    ),
    Misconception(
        "own-maximum-in-pass-2",
        "Pass 2 subtracts each tile's own maximum",
        "li is relative to mi, the maximum of all keys. In the lesson's example tile 1 subtracts 3 where 5 belongs, so "
        "its weights are e^(5-3) = 7.39 times too large, and O is 52.22 instead of 36.88.",
        _IN_PASS_2,
        question="In pass 2 of the lesson's example, which number is subtracted from the scores 1 and 3 of tile 1? "
        "Which one do you subtract?",
        signs=(passes(weights=lambda t: t.own / t.l),),
    ),
    *(
        Misconception(
            "max-missing-in-one-pass",
            f"The maximum is not subtracted in pass {number}",
            f"{what} The two differ by the factor exp(mi), which is 148 in the lesson's example. And the exponential "
            "of a score above 88.7 is infinite in fp32.",
            hint,
            question=f"Take the scores 100 and 102. What are the exponentials of pass {other}, and what are those of "
            f"pass {number}?",
            signs=(sign,),
        )
        for number, other, what, hint, sign in (
            (
                1,
                2,
                "li is the sum of exp(S), but Pij is made of exp(S - mi).",
                _IN_PASS_1,
                passes(p=lambda s, m: exp32(s), old_l=one, weights=lambda t: exp32(t.s - t.m) / t.l),
            ),
            (
                2,
                1,
                "Pij is made of exp(S), but li is the sum of exp(S - mi).",
                _IN_PASS_2,
                passes(weights=lambda t: exp32(t.s) / t.l),
            ),
        )
    ),
    *(
        Misconception(
            "scale-in-one-pass",
            f"The scores of pass {number} are not scaled",
            "Pass 2 computes the scores of pass 1 again, so they must be the same. In the lesson's example one pass "
            "has 1 3 | 2 5, and the other the bare products 2 6 | 4 10, so the weights of a query do not sum to 1.",
            _SCORES,
            question=f"Print Sij in both passes: by which factor do the numbers of pass {number} differ from those of "
            f"pass {other}?",
            signs=(sign,),
        )
        for number, other, sign in (
            (1, 2, passes(first=unscaled_scores)),
            (2, 1, passes(second=unscaled_scores)),
        )
    ),
    Misconception(
        "tail-hidden-in-one-pass",
        "Keys past the last one are not hidden in pass 2",
        "Their score is 0, and their row of V is loaded as 0, so mostly they add nothing. But where all scores that "
        "count are near -100, their weight is e^(0+100), which is infinite in fp32, and infinity times 0 is NaN.",
        _HIDDEN,
        question="All scores of a query are near -100, and so is mi. What is the exponential of a lane past the end in "
        "pass 2, and what is that times the 0 in its row of V?",
        signs=(passes(second=scores_with_tail),),
    ),
    Misconception(
        "denominator-not-rescaled",
        "The old normaliser is not rescaled when the maximum grows",
        "li adds up exponentials that were taken relative to different maxima: 1.14 + 1.05 = 2.19 in the lesson's "
        "example, instead of 1.20. If you do rescale it, then mi was overwritten before that, and the factor is "
        "exp(0) = 1.",
        _IN_PASS_1 + " The line mi = mi_new comes last.",
        question="At tile 2 of pass 1 in the lesson's example, the 1.14 of tile 1 becomes 0.15. What makes it smaller, "
        "and which number does your kernel multiply it by?",
        signs=(passes(old_l=one).at(Part.NORMALISER),),
    ),
    Misconception(
        "new-part-not-rescaled",
        "The new part of the normaliser is relative to its own tile",
        "The exponentials of each tile were taken relative to that tile's own maximum. With the lesson's tiles in the "
        "other order, 2 5 | 1 3, the second one adds 1.14 to l, where it should add 0.15.",
        _IN_PASS_1,
        question="Take the lesson's tiles in the other order, 2 5 | 1 3. What is the maximum after the second one, and "
        "which number do you subtract from 1 and 3?",
        signs=(passes(own=True).at(Part.NORMALISER),),
    ),
    Misconception(
        "block-local",
        "Each tile of keys has a softmax of its own",
        "Every tile's exponentials were divided by their own sum, so O is a sum of averages, one for each tile. In the "
        "lesson's example it is 18.81 + 39.53 = 58.34, more than the largest value. What pass 1 has found is not used.",
        _IN_PASS_2,
        question="The four weights of the lesson's example sum to 1. What do the two of tile 1 sum to in the lesson, "
        "and what in your pass 2?",
        signs=(
            passes(weights=lambda t: t.own / t.own.sum(axis=-1, keepdims=True)),
            passes(weights=lambda t: exp32(t.s - t.m) / exp32(t.s - t.m).sum(axis=-1, keepdims=True)),
        ),
    ),
    Misconception(
        "divided-by-a-running-sum",
        "Pass 2 divides by a sum that is still growing",
        "The weights of an early tile were divided by another sum than those of a later one. li is final when pass 2 "
        "begins, 1.20 in the lesson's example, and every weight is divided by that.",
        _IN_PASS_2,
        question="Print li in each iteration of pass 2. Does it change there, and should it?",
        signs=(
            passes(weights=lambda t: exp32(t.s - t.m) / t.seen),
            passes(weights=lambda t: exp32(t.s - t.m) / (t.l + t.seen)),
        ),
    ),
    Misconception(
        "normaliser-counted-twice",
        "The normaliser counts every key twice",
        "Both passes add to li, so after pass 2 it is twice what it should be, 2.41 in the lesson's example. O is then "
        "half of what it should be.",
        "Pass 2 leaves li as it is.",
        question="Print li after pass 1 and after pass 2. Which of the two is the sum over all keys, and which one do "
        "you divide by?",
        signs=(passes(last=lambda o, l: o / 2),),
    ),
    Misconception(
        "divided-at-every-step",
        "O is divided at every step",
        "Oi was divided by li inside the loop, and what earlier tiles had added was divided again and again. In the "
        "lesson's example tile 1's part is divided twice, and O is 36.47 instead of 36.88.",
        "Divide each product once, Pij = tl.exp(Sij - mi[:, None]) / li[:, None], or Oi once after the loop.",
        question="With ten tiles of keys, how often is what tile 1 has added divided by li in your kernel, and how "
        "often what tile 10 has added?",
        signs=(passes(weights=lambda t: exp32(t.s - t.m), each=lambda o, l: o / l),),
    ),
    Misconception(
        "divided-twice",
        "O is divided by the normaliser twice",
        "Pij was divided by li, and so was the sum of the products. In the lesson's example O becomes "
        "36.88 / 1.2034 = 30.65.",
        "Divide once: either Pij in the loop, or Oi after it.",
        question="Follow one exponential from Sij to the store of O. How often does it meet li on its way, and how "
        "often in the lesson's formula?",
        signs=(passes(last=lambda o, l: o / l),),
    ),
    Misconception(
        "multiplied-by-the-sum",
        "O is multiplied by the normaliser",
        "The weights of an average sum to 1, because each exponential is divided by the sum of all. Multiplied by it, "
        "they give O = 53.41 in the lesson's example, more than its largest value, 40.",
        "Write / instead of *: " + _IN_PASS_2,
        question="The exponentials of two keys are 1 and 3. What are their weights, and what does your line make of "
        "the two?",
        signs=(passes(weights=lambda t: exp32(t.s - t.m) * t.l),),
    ),
    Misconception(
        "not-divided",
        "O is not divided by the normaliser",
        "O is a weighted sum of V's rows, and its weights do not sum to 1. In the lesson's example they sum to 1.20, "
        "and O is 44.38, more than the largest value, 40.",
        _IN_PASS_2,
        question="Can an average of 10, 20, 30 and 40 be 44.38? Which number of pass 1 turns it into 36.88?",
        signs=(passes(weights=lambda t: exp32(t.s - t.m)),),
    ),
    Misconception(
        "reduced-over-queries",
        "Maximum and sum run over the queries",
        "Rows of Sij are queries and columns are keys. axis=0 goes from query to query, so it gives a number for each "
        "key. Only a square tile lets that pass for a number for each query.",
        "tl.max(Sij, axis=1) and tl.sum(..., axis=1) have one entry per query.",
        question="A tile of scores has the rows 1 3 and 2 5, one for each query. What is the maximum of each query, "
        "and which two numbers does your kernel get?",
        signs=(from_scores(reduced_over_queries),),
    ),
)
