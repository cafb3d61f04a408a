"""Wrong ideas about FlashAttention-2: the accumulator is divided once, at the end; LSE is what remains of l and m."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from checker.catalog.attention.bounds import looked_at
from checker.catalog.attention.dropout import dropped
from checker.catalog.attention.launch import shape_of
from checker.catalog.attention.mistakes import (
    LOG2_E,
    Q_K_V,
    Outputs,
    Over,
    attention,
    from_scores,
    in_whole_tiles,
    last_looked_at,
    of_p,
    one,
    reduced,
    rescaled,
    tiles,
    with_lse,
)
from checker.catalog.attention.reference import scores
from checker.catalog.softmax.mistakes import exp32
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Part, Writes

# What a program may have in the place of -inf.
FINITE = (-1e4, -1e6, -1e9, -1e10, -1e20, -1e30, float(np.finfo(np.float32).min))

# FlashAttention-2: the accumulator is divided once, at the end; hidden scores are -inf, and a guard keeps NaN away.


def running(
    old_o: Callable[[Array], Array] = lambda a: a,
    old_l: Callable[[Array], Array] = lambda a: a,
    each: Callable[[Array], Array] = lambda l: np.ones_like(l),
    last: Callable[[Array], Array] = lambda l: np.where(l == 0, 1.0, l),
    top: Callable[[Array, Array], Array] = np.maximum,
    in_half: bool = False,
    own: Callable[[Array], Array] | None = None,
    p: Callable[[Array, Array], Array] = lambda s, m: exp32(s - m),
    unscaled: Callable[[Array, Array, float], Array] | None = None,
    over: Over = "",
    hidden_too: bool = False,
    kept_m: Callable[[Array, Array], Array] = lambda m, m_new: m_new,
) -> Writes:
    """The outputs of a kernel that rescales and divides by its own ideas.

    `top(m, m_tile)` is its running maximum; `in_half`: it keeps O in V's type; `own(m_tile)` is what it subtracts
    from a tile's scores instead of the running maximum. `p(s, m)` is its P; `unscaled(s, m, scale)` instead, if the
    scores themselves are not scaled. `over`: which reductions run over the whole tile, because they lack an axis.
    `hidden_too`: the maximum is taken before scores are hidden. `kept_m(m, m_new)`: what is kept of the maximum.
    """

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        scale, count = float(case.scalars["scale"]), s.shape[1]
        s = rescaled(s, case, 1 / scale) if unscaled else s
        every = np.pad(scores(case), ((0, 0), (0, 0), (0, -s.shape[-1] % shape_of(case).Bc)))  # past the end: 0
        s = in_whole_tiles(s, case) if over else s
        last_seen = np.pad(last_looked_at(case), (0, s.shape[1] - count), mode="edge")
        o = np.zeros((*s.shape[:-1], v.shape[-1]))
        l = np.zeros((*s.shape[:-1], 1))
        m = np.full_like(l, -np.inf)
        for j, (s_j, v_j) in enumerate(tiles(s, v, case)):
            block = shape_of(case).Bc
            compared = every[..., j * block : (j + 1) * block] if hidden_too else s_j
            m_j = reduced(np.max, compared, case, over in ("max", "both"))
            m_new = top(m, m_j)
            shift = np.where(np.isinf(m_new), 0.0, m_new)
            minus = own(m_j) if own else shift
            p_j = unscaled(s_j, minus, scale) if unscaled else p(s_j, minus)
            a = exp32(m - shift)
            here = (j <= last_seen)[:, None]
            l = np.where(here, old_l(a) * l + reduced(np.sum, p_j, case, over in ("sum", "both")), l)
            o = np.where(here, (old_o(a) * o + dropped(case, p_j, j * block) @ v_j) / each(l), o)
            o = o.astype(case.tensors["v_ptr"].values.dtype).astype(np.float64) if in_half else o
            m = np.where(here, kept_m(m, m_new), m)
        return with_lse(*(x[:, :count] for x in (m, l, o / last(l))))

    return from_scores(formula)


def inverse(a: Array) -> Array:
    """A factor the wrong way round."""
    return 1 / a


def _same(a: Array) -> Array:
    return a


# Numbers are those of the lesson's example: the scores 1 3 | 2 5 of one query, and the values 10 20 | 30 40.
ACCUMULATION = (
    *(
        Misconception(
            "rescaled-by-the-inverse",
            f"{what} rescaled the wrong way round",
            "When the maximum grows, the old part must become smaller. From 3 to 5 it gets the factor e^(3-5) = 0.14 "
            "in the lesson's example, and yours is the inverse, 7.39. At the first tile, where mi is -inf, the inverse "
            "is infinite, and infinity times 0 is NaN. (The paper misprints line 10.)",
            "The factor is exp(mi - mi_new), never above 1, for li and Oi alike.",
            question="In the lesson's example, tile 2 raises the maximum from 3 to 5. Should what tile 1 has left "
            "count for more or for less then, and what does your factor do to it?",
            signs=(running(old_o=old_o, old_l=old_l).at(Part.INVERSE_FACTOR, needed=True),),
        )
        for what, old_o, old_l in (
            ("The accumulator is", inverse, _same),
            ("The old normaliser is", _same, inverse),
        )
    ),
    Misconception(
        "accumulator-overwritten",
        "O forgets the tiles of keys before the last one",
        "Oi is the product of the last tile alone, divided by the sum over all keys: each tile's product replaces the "
        "one before it. In the lesson's example O is 41.49 / 1.2034 = 34.48 instead of 36.88.",
        "Line 10 of the algorithm adds: Oi = exp(mi - mi_new)[:, None] * Oi + Pij Vj.",
        question="In the lesson's example O holds 21.35 after tile 1 and 44.38 after tile 2. Print Oi at the end of "
        "each iteration: what became of the 21.35?",
        signs=(running(old_o=lambda a: 0.0 * a).at(Q_K_V),),
    ),
    Misconception(
        "sum-of-last-tile",
        "The normaliser forgets the tiles of keys before the last one",
        "li is the sum of the last tile alone: each tile's sum replaces the one before it. In the lesson's example it "
        "ends as 1.05 instead of 1.20.",
        "Line 9 of the algorithm adds: li = exp(mi - mi_new) * li + rowsum(Pij).",
        question="In the lesson's example l is 1.1353 after tile 1 and 1.2034 after tile 2. Print li at the end of "
        "each iteration: what became of the 1.1353?",
        signs=(running(old_l=lambda a: 0.0 * a).at(Part.NORMALISER),),
    ),
    *of_p(running, "mi_new", "the factor exp(mi - mi_new), and mi in LSE,"),
    Misconception(
        "maximum-starts-too-high",
        "The running maximum does not start at -inf",
        "Where all scores of a query are far below the number that mi starts at, mi stays there. With a start of 0 and "
        "scores near -200, their exponentials are 0 in fp32, and so is O.",
        "It starts at -inf, which every score is above: tl.full((Br,), -float('inf'), tl.float32).",
        question="All scores of a query are -200. What is their maximum, and what is mi after the first tile in your "
        "kernel?",
        signs=tuple(
            running(top=lambda m, m_tile, start=start: np.maximum(np.maximum(m, m_tile), start)).at(Part.MAX)  # type: ignore[misc]
            for start in (0.0, *(start for start in FINITE if start >= -1e10))
        ),
    ),
    Misconception(
        "maximum-of-hidden-scores",
        "Scores that are hidden take part in the maximum",
        "P is 0 where a key is hidden or does not exist, but the maximum was taken before. Where a hidden score is 200 "
        "and those that count are near 0, their exponentials are all 0 in fp32, and so is O.",
        "Hide the scores themselves, before the maximum: tl.where(visible, Sij, -float('inf')).",
        question="A query sees the scores 0 and 1, and the score 200 is hidden from it. Of which of the three does "
        "your kernel take the maximum?",
        signs=(running(hidden_too=True, p=lambda s, m: exp32(s - m)).at(Part.MAX),),
    ),
    Misconception(
        "max-of-last-tile",
        "The maximum is that of the last tile only",
        "Each tile's maximum replaces the one before it. If one tile has the maximum 200 and the next one 100, the "
        "factor exp(mi - mi_new) is exp(200 - 100), which is infinite in fp32.",
        "Line 9 of the algorithm: mi_new = tl.maximum(mi, tl.max(Sij, axis=1)).",
        question="One tile has the maximum 200, the next one 100. Which is the maximum of all keys so far, and what "
        "does your mi_new say?",
        signs=(running(top=lambda m, m_tile: m_tile).at(Part.MAXIMUM),),
    ),
    Misconception(
        "max-not-kept",
        "The running maximum stays at -inf",
        "The loop computes mi_new for each tile, and it never becomes mi. So the factor exp(mi - mi_new) is "
        "exp(-inf) = 0 at every tile: what earlier tiles have added is gone, and LSE = mi + log(li) is -inf.",
        "Each iteration ends with mi = mi_new.",
        question="Print mi and mi_new in each iteration. What should mi be when the second one begins?",
        signs=(running(kept_m=lambda m, m_new: m).at(Part.MAXIMUM_NOT_KEPT, needed=True),),
    ),
    Misconception(
        "accumulator-in-half",
        "O is accumulated in fp16",
        "Until it is divided, O is a sum over all keys. fp16 ends at 65504, and rounds to three digits at every step "
        "as well.",
        "Accumulate in fp32, tl.zeros((Br, D), tl.float32); tl.store converts at the end.",
        question="Between 2048 and 4096, fp16 has only even numbers. What is 2048 + 1 in it, and which type does Oi "
        "have inside your loop?",
        signs=(running(in_half=True),),
    ),
    Misconception(
        "accumulator-not-rescaled",
        "The accumulator is not rescaled when the maximum grows",
        "Oi adds up products that were taken relative to different maxima. In the lesson's example it becomes "
        "21.35 + 41.49 = 62.84 instead of 44.38, and O is 52.22 instead of 36.88.",
        "Line 10 of the algorithm: Oi = exp(mi - mi_new)[:, None] * Oi + Pij Vj.",
        question="In the lesson's example O holds 21.35 after tile 1. How much of that is left in the 44.38 after tile "
        "2, to which tile 2 has added 41.49? How much is left in yours?",
        signs=(running(old_o=one).at(Part.ACCUMULATOR),),
    ),
    Misconception(
        "denominator-not-rescaled",
        "The old normaliser is not rescaled when the maximum grows",
        "li adds up exponentials that were taken relative to different maxima. In the lesson's example it becomes "
        "1.1353 + 1.0498 = 2.19 instead of 1.20.",
        "Line 9 of the algorithm: li = exp(mi - mi_new) * li + rowsum(Pij).",
        question="In the lesson's example l is 1.1353 after tile 1. How much of that is left in the 1.2034 after tile "
        "2, to which tile 2 has added 1.0498? How much is left in yours?",
        signs=(running(old_l=one).at(Part.NORMALISER),),
    ),
    Misconception(
        "denominator-not-rescaled",
        "Neither O nor the normaliser is rescaled when the maximum grows",
        "Both are relative to the old maximum, and what is added is relative to the new one. If you do rescale them, "
        "then mi was overwritten before that, and the factor is exp(0) = 1.",
        "Lines 9 and 10 of the algorithm: the old parts get the factor exp(mi - mi_new).",
        question="In the lesson's example tile 2 raises the maximum from 3 to 5, so the factor of the old parts is "
        "0.1353. Print yours: which two maxima was it made of?",
        signs=(running(old_l=one, old_o=one),),
    ),
    Misconception(
        "new-part-not-rescaled",
        "The new part is not rescaled to the new maximum",
        "Pij is relative to the maximum of its own tile. With the lesson's tiles in the other order, 2 5 | 1 3, the "
        "second one counts e^(5-3) = 7.39 times too much, both in li and in Oi.",
        "Line 9 of the algorithm: Pij = exp(Sij - mi_new), or 0 instead of mi_new while that is -inf.",
        question="Take the lesson's tiles in the other order, 2 5 | 1 3. What is the maximum after the second one, and "
        "which number do you subtract from 1 and 3?",
        signs=(running(own=_same), running(own=lambda m: np.where(np.isinf(m), 0.0, m))),
    ),
    Misconception(
        "divided-at-every-step",
        "The accumulator is divided at every step",
        "Oi was divided by li inside the loop, and then accumulated further as if it had not been. In the lesson's "
        "example it holds 18.81 instead of 21.35 after tile 1, and O ends as 36.59 instead of 36.88.",
        "Divide once, after the loop.",
        question="In the lesson's example, O holds 21.35 after tile 1. Print Oi at the end of each iteration: how "
        "often is it divided with ten tiles of keys?",
        signs=(running(each=lambda l: np.where(l == 0, 1.0, l), last=one),),
    ),
    Misconception(
        "not-divided",
        "O is not divided by the normaliser",
        "O is a weighted sum of V's rows, and its weights do not sum to 1. In the lesson's example they sum to 1.20, "
        "and O is 44.38, more than the largest value, 40.",
        "Line 12 of the algorithm: after the loop, O = O / li.",
        question="Can an average of 10, 20, 30 and 40 be 44.38? Which line of the algorithm turns that into 36.88?",
        signs=(running(last=one),),
    ),
)


def _lse_instead(value: Callable[[Array, Array], Array]) -> Writes:
    """Right O, and another LSE, computed from m and l."""

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        m = s.max(axis=-1, keepdims=True)
        shift = np.where(np.isinf(m), 0.0, m)
        e = exp32(s - shift)
        l = e.sum(axis=-1, keepdims=True)
        return {"o_ptr": (dropped(case, e) @ v) / np.where(l == 0, 1.0, l), "lse_ptr": value(m, l)[..., 0]}

    return from_scores(formula)


def _lse_of_hidden(lse: float, everywhere: bool) -> Writes:
    """The right O, and another LSE of queries that see no key: of all, or of those in tiles that look at some key."""

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        made = attention(s, v, case)
        hidden = np.isinf(made["lse_ptr"]) & (everywhere | looked_at(case).any(axis=-1))
        return {"o_ptr": made["o_ptr"], "lse_ptr": np.where(hidden, lse, made["lse_ptr"])}

    return from_scores(formula)


_LSE_IS = "Line 13 of the algorithm: LSE = mi + tl.log(li)."

_OF_M_AND_L = tuple(
    Misconception(id, title, explanation, hint, question=question, signs=(_lse_instead(value),))
    for id, title, explanation, question, hint, value in (
        (
            "lse-without-max",
            "The maximum is missing in LSE",
            "You stored the logarithm of li, which is relative to the maximum. Puzzle 7 knows no maximum: it computes "
            "P as exp(S - LSE). The weights of the lesson's example would then sum to e^5 = 148, and not to 1.",
            "In the lesson's example your LSE is 0.185, and it should be 5.185. Which number of that query is missing?",
            _LSE_IS,
            lambda m, l: np.log(l),
        ),
        (
            "lse-without-log",
            "LSE is not a logarithm",
            "You stored the sum of mi and li. Puzzle 7 computes P as exp(S - LSE), and the weights of the lesson's "
            "example would then sum to 0.36, and not to 1. To subtract li in an exponent is not to divide by li.",
            "exp(3 - 5) must be divided by 1.2034. Which number do you subtract in the exponent for that, if it is not "
            "1.2034 itself?",
            _LSE_IS,
            lambda m, l: m + l,
        ),
        (
            "lse-is-the-normaliser",
            "The normaliser is stored instead of LSE",
            "You stored li. Puzzle 7 computes P as exp(S - LSE), and the weights of the lesson's example would then "
            "sum to 53.6, and not to 1.",
            "Take the score 3 of the lesson's example, with m at 5 and l at 1.2034. What must be subtracted from 3, so "
            "that the exponential is exp(3 - 5) / 1.2034?",
            _LSE_IS,
            lambda m, l: l,
        ),
        (
            "lse-is-the-max",
            "The maximum is stored instead of LSE",
            "You stored mi. Puzzle 7 computes P as exp(S - LSE), and the weights of the lesson's example would then "
            "sum to l, 1.2034, and not to 1.",
            "In the lesson's example exp(3 - 5) is 0.135, and the weight of that score is 0.112. What lies between the "
            "two, and how does it get into the exponent?",
            _LSE_IS,
            lambda m, l: m,
        ),
        (
            "lse-of-the-sum",
            "LSE is the logarithm of mi + li",
            "l counts exponentials relative to m: their sum is exp(m) * l, and its logarithm is m + log(l). In the "
            "lesson's example that is 5 + log(1.20) = 5.185, and log(5 + 1.20) is 1.825.",
            "The exponentials of the lesson's scores 1 3 | 2 5 sum to e^5 * 1.2034. Which logarithm is that, and what "
            "becomes of the product in it?",
            _LSE_IS,
            lambda m, l: np.log(m + l),
        ),
        (
            "lse-of-hidden-rows",
            "LSE of a query that sees no key is not -inf",
            "Its sum of exponentials is 0, and log(0) is -inf. The guards that keep NaN away put 0 for its maximum and "
            "1 for its l, which makes an LSE of 0: as if its exponentials summed to 1.",
            "Which sum of exponentials has a query that sees no key, and what is its logarithm? Which values of the "
            "maximum and of l go into your LSE?",
            "LSE is made of mi and li themselves, not of what is guarded: mi + tl.log(li).",
            lambda m, l: np.where(l == 0, 0.0, m + np.log(np.where(l == 0, 1.0, l))),
        ),
        (
            "lse-in-base-two",
            "LSE is in base 2",
            "The backward pass computes exp(s - LSE), so LSE must be a natural logarithm. In the lesson's example it "
            "is 7.48 in base 2, and should be 5.185.",
            "2^7.48 is 178.6, the sum of the exponentials of the lesson's example. To which power must e be raised for "
            "the same number?",
            "With exp2 inside, multiply by ln(2) at the end: LSE = (mi + log2(li)) * 0.6931471805599453.",
            lambda m, l: (m + np.log(l)) * LOG2_E,
        ),
        (
            "lse-in-base-two",
            "LSE mixes base 2 and base e",
            "The maximum is in base 2, because log2(e) was folded into the scale, but the logarithm of li is a natural "
            "one. In the lesson's example that gives 7.21 + 0.185 instead of 5 + 0.185.",
            "In the lesson's example the maximum is 5. Print your mi: if it is 7.21, which factor is in it, and in "
            "which base is the logarithm that you add?",
            "Convert the maximum: LSE = mi * 0.6931471805599453 + tl.log(li).",
            lambda m, l: m * LOG2_E + np.log(l),
        ),
        (
            "lse-in-base-two",
            "LSE mixes base e and base 2",
            "The maximum is right, but the logarithm of li that was added to it is one in base 2. In the lesson's "
            "example that gives 5 + 0.267 instead of 5 + 0.185.",
            "e to the power of 0.185 is 1.2034, and so is 2 to the power of 0.267. Which of the two does the backward "
            "pass compute?",
            _LSE_IS,
            lambda m, l: m + np.log2(l),
        ),
    )
)
LSE = (
    *_OF_M_AND_L,
    Misconception(
        "lse-of-hidden-rows",
        "LSE of a query that sees no key is a large negative number, and not -inf",
        "Its sum of exponentials is 0, and log(0) is -inf. A finite number in the place of -inf, as a hidden score or "
        "the start of the maximum, is left in LSE. The backward pass computes exp(S - LSE), which is then infinite.",
        "Hide scores with -float('inf'), let mi start there, and guard only what is subtracted. Then mi + tl.log(li) "
        "is -inf by itself.",
        question="Which sum of exponentials has a query that sees no key, and what is its logarithm? In which line "
        "does the number in your LSE stand?",
        signs=tuple(_lse_of_hidden(lse, everywhere) for lse in FINITE for everywhere in (False, True)),
    ),
)
