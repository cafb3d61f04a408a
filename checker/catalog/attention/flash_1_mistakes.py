"""Wrong ideas about FlashAttention-1: O, l and m are kept finished, and brought up to date at each visit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from checker.catalog.attention.launch import shape_of
from checker.catalog.attention.mistakes import (
    Q_K_V,
    Outputs,
    Over,
    from_scores,
    in_whole_tiles,
    of_p,
    of_scores,
    one,
    reduced,
    tiles,
    with_lse,
)
from checker.catalog.attention.reference import scores
from checker.catalog.softmax.mistakes import exp32
from checker.course.case import Array, Case
from checker.course.misconception import Access, Misconception, Part, Unwritten, Writes

# FlashAttention-1: O, l and m are kept divided and complete from visit to visit.

# (O, l, a = exp(m - m_new), b = exp(mij - m_new), lij, Pij Vj) → (O, l)
Step = Callable[[Array, Array, Array, Array, Array, Array], tuple[Array, Array]]


def visits(
    step: Step,
    top: Callable[[Array, Array], Array] = np.maximum,
    p: Callable[[Array, Array], Array] = lambda s, m: exp32(s - m),
    unscaled: Callable[[Array, Array, float], Array] | None = None,
    over: Over = "",
    kept_m: Callable[[Array, Array], Array] = lambda m_new, m_tile: m_new,
) -> Writes:
    """The outputs of a kernel that comes back to O and l for every tile of keys, and changes them by `step`.

    `top(m, m_tile)` is its running maximum, `p(s, m_tile)` its P; `unscaled(s, m_tile, scale)` instead, if the scores
    themselves are not scaled. `over`: which reductions run over the whole tile, because they lack an axis.
    `kept_m(m_new, m_tile)`: what is stored as the maximum.
    """

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        scale, count = float(case.scalars["scale"]), s.shape[1]
        s = in_whole_tiles(s / scale if unscaled else s, case) if over else s / scale if unscaled else s
        o = np.zeros((*s.shape[:-1], v.shape[-1]))
        l = np.zeros((*s.shape[:-1], 1))
        m = np.full_like(l, -np.inf)
        for s_j, v_j in tiles(s, v, case):
            m_j = reduced(np.max, s_j, case, over in ("max", "both"))
            p_j = unscaled(s_j, m_j, scale) if unscaled else p(s_j, m_j)
            m_new = top(m, m_j)
            l_j = reduced(np.sum, p_j, case, over in ("sum", "both"))
            o, l = step(o, l, exp32(m - m_new), exp32(m_j - m_new), l_j, p_j @ v_j)
            m = kept_m(m_new, m_j)
        return with_lse(*(x[:, :count] for x in (m, l, o)))

    return from_scores(formula)


def _visit(
    old_o: Callable[[Array, Array], Array] = lambda l, a: l * a,
    new_o: Callable[[Array], Array] = lambda b: b,
    old_l: Callable[[Array], Array] = lambda a: a,
    new_l: Callable[[Array], Array] = lambda b: b,
    divided: Callable[[Array], Array] = lambda l: l,
) -> Step:
    """Line 11 and 12 of the algorithm, with one factor of it changed."""

    def step(o: Array, l: Array, a: Array, b: Array, l_j: Array, pv: Array) -> tuple[Array, Array]:
        l_new = old_l(a) * l + new_l(b) * l_j
        return (old_o(l, a) * o + new_o(b) * pv) / divided(l_new), l_new

    return step


def _old_part(factor: Callable[[Array, Array, Array], Array]) -> Step:
    """Lines 11 and 12 with `factor(l, a, b)` for the old part of both l and O."""

    def step(o: Array, l: Array, a: Array, b: Array, l_j: Array, pv: Array) -> tuple[Array, Array]:
        old = factor(l, a, b)
        l_new = old + b * l_j
        return (old * o + b * pv) / l_new, l_new

    return step


def _beginning_at_the_keys(case: Case) -> Outputs:
    """Queries see the tiles of keys that begin at their own number, or before it."""
    shape = shape_of(case)
    first = np.arange(shape.n_k) // shape.Bc * shape.Bc
    return of_scores(case, scores(case), np.arange(shape.n_q)[:, None] >= first[None, :])


def _queries_past_n_k(case: Case) -> dict[str, Array]:
    """Queries in tiles that a loop to n_k does not visit."""
    shape = shape_of(case)
    late = np.arange(shape.n_q) >= -(-shape.n_k // shape.Br) * shape.Br
    outputs = {name: case.tensors[name].values for name in ("o_ptr", "l_ptr", "m_ptr") if name in case.tensors}
    return {
        name: np.broadcast_to(late.reshape(1, -1, *[1] * (values.ndim - 2)), values.shape)
        for name, values in outputs.items()
    }


def _once(b: Array) -> Array:
    return b


def _squared(b: Array) -> Array:
    """The factor b, applied twice."""
    return b * b


def _inverse(b: Array) -> Array:
    return 1 / b


def _added_as_it_is(new: Callable[[Array], Array]) -> Step:
    """The old O unchanged, and the new part divided by the new l."""
    return lambda o, l, a, b, l_j, pv: (o + new(b) * pv / (a * l + b * l_j), a * l + b * l_j)


# Numbers are those of the lesson's table: the scores 1 3 | 2 5 of one query, and the values 10 20 | 30 40.
VISITS = (
    Misconception(
        "rescaled-by-the-inverse",
        "The old part is rescaled the wrong way round",
        "When the maximum grows, the old part must become smaller. From 3 to 5 it gets the factor e^(3-5) = 0.14 in "
        "the lesson's table, and yours is the inverse, 7.39. At the first visit, where mi is -inf, the inverse is "
        "infinite, and infinity times 0 is NaN.",
        "Lines 11 and 12 of the algorithm: the factor is exp(mi - mi_new), never above 1.",
        question="In the lesson's table, tile 2 raises the maximum from 3 to 5. Should what tile 1 has left count for "
        "more or for less then, and what does your factor do to it?",
        signs=(
            visits(_visit(old_o=lambda l, a: l / a)).at(Part.INVERSE_FACTOR, needed=True),
            visits(_visit(old_l=_inverse)).at(Part.INVERSE_FACTOR, needed=True),
        ),
    ),
    Misconception(
        "rescaled-by-the-inverse",
        "The new part is rescaled the wrong way round",
        "Where an earlier tile had a larger maximum, the new part must become smaller. With the lesson's tiles in the "
        "other order, 2 5 | 1 3, the second one gets the factor e^(3-5) = 0.14, and yours is the inverse, 7.39.",
        "Lines 11 and 12 of the algorithm: the factor is exp(mij - mi_new), never above 1.",
        question="Take the lesson's tiles in the other order, 2 5 | 1 3. Should the second one count for more or for "
        "less than it does alone, and what does your factor do to it?",
        signs=(
            visits(_visit(new_o=_inverse, new_l=_inverse)).at(Part.INVERSE_FACTOR),
            visits(_visit(new_o=_inverse)).at(Part.INVERSE_FACTOR),
            visits(_visit(new_l=_inverse)).at(Part.INVERSE_FACTOR),
        ),
    ),
    Misconception(
        "accumulator-overwritten",
        "O forgets the tiles of keys before the last one",
        "Oi is the product of this tile alone, divided by the whole li_new, and what earlier visits had added is gone. "
        "The lesson's table would end with 41.49 / 1.2034 = 34.48 instead of 36.88.",
        "Line 12 of the algorithm: the old part, li * exp(mi - mi_new) * Oi, is added.",
        question="In the lesson's table, O is 18.81 after tile 1. Where does that number stand in the last row, and "
        "where in your line 12?",
        signs=(visits(_visit(old_o=lambda l, a: 0.0 * l)).at(Q_K_V),),
    ),
    Misconception(
        "sum-of-last-tile",
        "The normaliser forgets the tiles of keys before the last one",
        "li_new is the sum of this tile alone, and what earlier visits had added is gone. The lesson's table would end "
        "with 1.05 instead of 1.20.",
        "Line 11 of the algorithm: the old part, exp(mi - mi_new) * li, is added.",
        question="In the lesson's table, l is 1.1353 after tile 1. Where does that number stand in the last row, and "
        "where in your line 11?",
        signs=(visits(_visit(old_l=lambda a: 0.0 * a)).at(Part.NORMALISER),),
    ),
    Misconception(
        "old-part-not-rescaled",
        "The old O is added as it is",
        "Oi is an average by itself: it was divided by the old li, and is relative to the old maximum. Added as it is, "
        "it makes O = 18.81 + 41.49 / 1.2034 = 53.29 in the lesson's table, more than the largest value, 40.",
        "Line 12 of the algorithm: (li * exp(mi - mi_new) * Oi + exp(mij - mi_new) * Pij Vj) / li_new.",
        question="The 18.81 of tile 1 and the 41.49 of tile 2 cannot be added as they are. Which of them is divided "
        "already, and to which maximum does each belong?",
        signs=tuple(visits(_added_as_it_is(new)).at(Part.ACCUMULATOR) for new in (_once, one)),
    ),
    Misconception(
        "divided-twice",
        "O is divided by the normaliser twice",
        "One division by li_new at each visit makes O an average. With two of them, the lesson's table would have "
        "16.57 after tile 1 instead of 18.81.",
        "Line 12 of the algorithm divides by li_new once at each visit.",
        question="After tile 1 of the lesson's table, the weighted sum is 21.35 and l is 1.1353. How many divisions "
        "lead to 18.81, and how many does your line 12 make?",
        signs=(visits(_visit(divided=_squared)),),
    ),
    Misconception(
        "multiplied-by-the-sum",
        "O is multiplied by the normaliser",
        "The weights of an average sum to 1, because each exponential is divided by the sum of all. Multiplied by it, "
        "tile 1 of the lesson's table gives O = 24.24, more than its largest value, 20.",
        "Write / instead of *: line 12 of the algorithm divides by li_new.",
        question="The exponentials of two keys are 1 and 3. What are their weights, and what does your line 12 make of "
        "the two?",
        signs=(visits(_visit(divided=_inverse)),),
    ),
    *of_p(partial(visits, _visit()), "mij", "the factors exp(mi - mi_new) and m itself"),
    Misconception(
        "max-of-last-tile",
        "The maximum is that of the last tile only",
        "mij replaces mi. If one tile has the maximum 200 and the next one 100, the factor exp(mi - mi_new) is "
        "exp(200 - 100), which is infinite in fp32.",
        "Line 11 of the algorithm: mi_new = tl.maximum(mi, mij).",
        question="One tile has the maximum 200, the next one 100. Which is the maximum of all keys so far, and what "
        "does your mi_new say?",
        signs=(visits(_visit(), top=lambda m, m_tile: m_tile).at(Part.MAXIMUM),),
    ),
    Misconception(
        "old-l-left-out",
        "The old normaliser is in no part of the new one",
        "The factor exp(mi - mi_new) stands alone where it should multiply li, as if every old l were 1. In the "
        "lesson's table, l becomes 0.1353 + 1.0498 = 1.1851 instead of 0.1353 * 1.1353 + 1.0498 = 1.2034.",
        "Lines 11 and 12 of the algorithm: the old part of l is exp(mi - mi_new) * li, and that of O has the same "
        "factor.",
        question="In the lesson's table, l is 1.1353 after tile 1. Where does that number stand in your lines 11 and "
        "12 at tile 2?",
        signs=(
            visits(_old_part(lambda l, a, b: a)),
            visits(lambda o, l, a, b, l_j, pv: ((l * a * o + b * pv) / (a + b * l_j), a + b * l_j)),
        ),
    ),
    Misconception(
        "rescaled-to-the-tile-maximum",
        "The old part is rescaled to the maximum of the tile, not to the new one",
        "The factor of the old part is exp(mi - mij). Where the tile raises the maximum, mij is mi_new and all is "
        "right. With the lesson's tiles in the other order, 2 5 | 1 3, the old part gets e^(5-3) = 7.39 instead of 1.",
        "Lines 11 and 12 of the algorithm: the factor of the old part is exp(mi - mi_new), never above 1.",
        question="Take the lesson's tiles in the other order, 2 5 | 1 3. What are mi, mij and mi_new at the second "
        "one, and by what is the old part multiplied?",
        signs=(visits(_old_part(lambda l, a, b: a / b * l)),),
    ),
    Misconception(
        "old-state-stored",
        "The old normaliser is stored, and not the new one",
        "li goes back to memory as it came, so it stays 0, and at each visit the old part counts for nothing. "
        "After the last one, l is 0 and O is that of the last tile of keys.",
        "Line 13 of the algorithm: store li_new to l, and mi_new to m.",
        question="Print li at each visit. Which line should change what the next visit loads, and which value does it "
        "store?",
        signs=(
            visits(lambda o, l, a, b, l_j, pv: ((l * a * o + b * pv) / (a * l + b * l_j), l)).at(
                Access("l_ptr", store=True)
            ),
        ),
    ),
    Misconception(
        "tile-maximum-stored",
        "The maximum of the last tile is stored as m",
        "m should be the maximum of all keys so far, mi_new. mij is that of one tile: with the lesson's tiles in the "
        "other order, 2 5 | 1 3, m ends as 3 instead of 5, and the next visit would take that for the old maximum.",
        "Line 13 of the algorithm: store li_new to l, and mi_new to m.",
        question="One tile has the maximum 200, the next one 100. What should m hold after both, and what do you "
        "store?",
        signs=(visits(_visit(), kept_m=lambda m_new, m_tile: m_tile).at(Access("m_ptr", store=True)),),
    ),
    Misconception(
        "queries-from-start-k",
        "The loop over queries begins at the keys' start",
        "It begins at start_k, as if a query saw no later keys. Without a causal mask every query sees every key: with "
        "tiles of 16, the keys 16 to 31 are never shown to the queries 0 to 15.",
        "Line 7 of the algorithm visits all tiles of queries: range(0, n_q, Br).",
        question="When the outer loop is at the second tile of keys, which queries does the inner loop visit, and "
        "which does it leave out?",
        signs=(Writes(_beginning_at_the_keys),),
    ),
    Misconception(
        "loop-to-another-end",
        "The loop over queries ends at n_k, and not at n_q",
        "n_k counts keys. With 34 queries and 17 keys in tiles of 16, the loop ends after query 31, and the others "
        "are never written. Where there are more keys than queries, it visits tiles past the last query.",
        "Line 7 of the algorithm visits all tiles of queries: range(0, n_q, Br).",
        question="34 queries, 17 keys, tiles of 16: how many tiles of queries are there, and how many does your inner "
        "loop visit?",
        signs=(Unwritten(_queries_past_n_k),),
    ),
    Misconception(
        "old-l-not-folded-back",
        "The old O is not multiplied by its own normaliser",
        "Oi was divided by the old li when it was stored, so it is no longer a sum to which more can be added. The "
        "lesson's table would end with 36.59 instead of 36.88.",
        "Line 12 of the algorithm: the old part is li * exp(mi - mi_new) * Oi.",
        question="After tile 1 of the lesson's table, O is 18.81. Which weighted sum was that before it was divided, "
        "and how do you get it back?",
        signs=(visits(_visit(old_o=lambda l, a: a)).at(Part.ACCUMULATOR),),
    ),
    Misconception(
        "new-part-not-rescaled",
        "The new part is not rescaled to the new maximum",
        "Pij is relative to the maximum mij of its own tile. With the lesson's tiles in the other order, 2 5 | 1 3, "
        "Pij Vj of the second one counts e^(5-3) = 7.39 times too much: 3 was subtracted, and the maximum is 5.",
        "Lines 11 and 12 of the algorithm: both lij and Pij Vj get the factor exp(mij - mi_new).",
        question="Take the lesson's tiles in the other order, 2 5 | 1 3. Which maximum is Pij of the second one "
        "relative to, and which one are li_new and the new O?",
        signs=(visits(_visit(new_o=one)), visits(_visit(new_l=one, new_o=one))),
    ),
    Misconception(
        "new-part-not-rescaled",
        "The new sum is not rescaled to the new maximum",
        "lij is relative to the maximum mij of its own tile. With the lesson's tiles in the other order, 2 5 | 1 3, "
        "the second one adds 1.14 to li_new, where it should add 0.15.",
        "Line 11 of the algorithm: li_new = exp(mi - mi_new) * li + exp(mij - mi_new) * lij.",
        question="Take the lesson's tiles in the other order, 2 5 | 1 3. The second one's sum is 1.1353: how much of "
        "it belongs in li_new, and how much does yours add?",
        signs=(visits(_visit(new_l=one)).at(Part.NORMALISER),),
    ),
    *(
        Misconception(
            "new-part-rescaled-twice",
            f"{what} rescaled to the new maximum twice",
            "Exponentials from which mi_new was subtracted are relative to the new maximum already, and so is their "
            f"sum. The factor exp(mij - mi_new) belongs to exp(Sij - mij) only. Here {where} has it twice.",
            "Lines 10 to 12 of the algorithm: either Pij = exp(Sij - mij), and the factor once for lij and for "
            "Pij Vj; or Pij = exp(Sij - mi_new), and no factor at all.",
            question="Which maximum did you subtract in Pij: the tile's own or the new one? Which factor is then left "
            f"for {where}?",
            signs=(visits(_visit(new_l=new_l, new_o=new_o)),),
        )
        for what, where, new_l, new_o in (
            ("The new part is", "the new part of both li and Oi", _squared, _squared),
            ("The new sum is", "the new part of li", _squared, _once),
            ("Pij Vj is", "the new part of Oi", _once, _squared),
        )
    ),
    Misconception(
        "old-part-not-rescaled",
        "The old O is not rescaled when the maximum grows",
        "Oi is relative to the old maximum. In the lesson's table tile 2 raises it from 3 to 5, so the old part counts "
        "e^(5-3) = 7.39 times too much, and O is 52.22 instead of 36.88.",
        "Line 12 of the algorithm: the old part is li * exp(mi - mi_new) * Oi.",
        question="In the last row of the lesson's table, which factors stand before 18.81? Which of them does your "
        "line 12 have?",
        signs=(visits(_visit(old_o=lambda l, a: l)).at(Part.ACCUMULATOR),),
    ),
    Misconception(
        "denominator-not-rescaled",
        "The old normaliser is not rescaled when the maximum grows",
        "li adds up exponentials that were taken relative to different maxima. The lesson's table would end with "
        "1.1353 + 1.0498 = 2.19 instead of 1.20.",
        "Line 11 of the algorithm: the old li gets the factor exp(mi - mi_new).",
        question="In the last row of the lesson's table, 1.1353 and 1.0498 make 1.2034. What happens to 1.1353 on the "
        "way, and what in your line 11?",
        signs=(visits(_visit(old_l=one)).at(Part.NORMALISER),),
    ),
    Misconception(
        "denominator-not-rescaled",
        "Neither O nor the normaliser is rescaled when the maximum grows",
        "Both are relative to the old maximum, and what is added is relative to the new one. If you do rescale them, "
        "then mi was overwritten before that, and the factor is exp(0) = 1.",
        "Lines 11 and 12 of the algorithm: the old parts get the factor exp(mi - mi_new).",
        question="In the lesson's table tile 2 raises the maximum from 3 to 5, so the factor of the old parts is 0.14. "
        "Print yours: which two maxima was it made of?",
        signs=(visits(_visit(old_l=one, old_o=lambda l, a: l)),),
    ),
    Misconception(
        "not-divided",
        "O is not divided by the normaliser",
        "O is a weighted sum of V's rows, and its weights do not sum to 1. After tile 1 of the lesson's table it is "
        "21.35, more than the largest value so far, 20. This algorithm keeps O finished at every visit.",
        "Line 12 of the algorithm: divide by li_new at every visit, because this algorithm keeps O finished.",
        question="After tile 1 of the lesson's table, can an average of 10 and 20 be 21.35? Which number turns that "
        "into 18.81?",
        signs=(visits(lambda o, l, a, b, l_j, pv: (a * o + b * pv, a * l + b * l_j)),),
    ),
    Misconception(
        "not-divided",
        "O is not divided by the normaliser",
        "The old O is multiplied by its normaliser, but the new one is not divided by its own. The lesson's table "
        "would have 21.35 after tile 1, and 44.77 instead of 36.88 at the end.",
        "Line 12 of the algorithm: divide by li_new at every visit, because this algorithm keeps O finished.",
        question="Each visit multiplies the old O by its l, to take back a division. Which visit has made that "
        "division, and in which line?",
        signs=(visits(_visit(divided=one)),),
    ),
    Misconception(
        "divided-by-the-tile-sum",
        "O is divided by the sum of one tile",
        "lij is the sum over this tile alone, and the weighted sum has all keys so far in it. At the end of the "
        "lesson's table 1.05 instead of 1.20 makes O 42.28, more than the largest value, 40.",
        "Line 12 of the algorithm: divide by li_new.",
        question="At tile 2 of the lesson's table, the exponentials of how many keys are in the weighted sum, and of "
        "how many in the number that you divide it by?",
        signs=(visits(lambda o, l, a, b, l_j, pv: ((l * a * o + b * pv) / l_j, a * l + b * l_j)),),
    ),
    Misconception(
        "divided-by-the-old-l",
        "O is divided by the old normaliser",
        "The old li lacks the keys of this tile. At the first visit it is 0, because no key was seen before, and "
        "divided by 0 the sum is infinite or NaN for good.",
        "Line 12 of the algorithm: divide by li_new.",
        question="What does li hold at the very first visit, and what comes out when a weighted sum is divided by it?",
        signs=(visits(lambda o, l, a, b, l_j, pv: ((l * a * o + b * pv) / l, a * l + b * l_j)),),
    ),
)
