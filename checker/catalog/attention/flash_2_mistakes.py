"""Wrong ideas about FlashAttention-2: the accumulator is divided once, at the end; LSE is what remains of l and m."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from checker.catalog.attention.launch import shape_of
from checker.catalog.attention.mistakes import (
    LOG2_E,
    Q_K_V,
    Outputs,
    Over,
    from_scores,
    in_whole_tiles,
    last_looked_at,
    of_p,
    one,
    reduced,
    tiles,
    with_lse,
)
from checker.catalog.attention.reference import scores
from checker.catalog.softmax.mistakes import exp32
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Part, Writes

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
) -> Writes:
    """The outputs of a kernel that rescales and divides by its own ideas.

    `top(m, m_tile)` is its running maximum; `in_half`: it keeps O in V's type; `own(m_tile)` is what it subtracts
    from a tile's scores instead of the running maximum. `p(s, m)` is its P; `unscaled(s, m, scale)` instead, if the
    scores themselves are not scaled. `over`: which reductions run over the whole tile, because they lack an axis.
    `hidden_too`: the maximum is taken before scores are hidden.
    """

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        scale, count = float(case.scalars["scale"]), s.shape[1]
        s = s / scale if unscaled else s
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
            o = np.where(here, (old_o(a) * o + p_j @ v_j) / each(l), o)
            o = o.astype(case.tensors["v_ptr"].values.dtype).astype(np.float64) if in_half else o
            m = np.where(here, m_new, m)
        return with_lse(*(x[:, :count] for x in (m, l, o / last(l))))

    return from_scores(formula)


def _inverse(a: Array) -> Array:
    return 1 / a


def _same(a: Array) -> Array:
    return a


ACCUMULATION = (
    *(
        Misconception(
            "rescaled-by-the-inverse",
            f"{what} rescaled the wrong way round",
            "The factor must make the old part smaller when the maximum grows. Its inverse makes it larger, and at the "
            "first tile, where mi is -inf, infinite: infinity times 0 is NaN. (The paper misprints line 10.)",
            "The factor is exp(mi - mi_new), never above 1, for li and Oi alike.",
            signs=(running(old_o=old_o, old_l=old_l).at(Part.INVERSE_FACTOR, needed=True),),
        )
        for what, old_o, old_l in (
            ("The accumulator is", _inverse, _same),
            ("The old normaliser is", _same, _inverse),
        )
    ),
    Misconception(
        "accumulator-overwritten",
        "O forgets the tiles of keys before the last one",
        "Oi is the product of the last tile alone, divided by the sum over all keys: each tile's product replaces the "
        "one before it.",
        "Line 10 of the algorithm adds: Oi = exp(mi - mi_new)[:, None] * Oi + Pij Vj.",
        signs=(running(old_o=lambda a: 0.0 * a).at(Q_K_V),),
    ),
    Misconception(
        "sum-of-last-tile",
        "The normaliser forgets the tiles of keys before the last one",
        "li is the sum of the last tile alone: each tile's sum replaces the one before it.",
        "Line 9 of the algorithm adds: li = exp(mi - mi_new) * li + rowsum(Pij).",
        signs=(running(old_l=lambda a: 0.0 * a).at(Part.NORMALISER),),
    ),
    *of_p(running, "mi_new", "the factor exp(mi - mi_new), and mi in LSE,"),
    Misconception(
        "maximum-starts-too-high",
        "The running maximum does not start at -inf",
        "Where all scores of a query are far below the number that it starts at, it stays there: their exponentials "
        "are 0, and so is O.",
        "It starts at -inf, which every score is above: tl.full((Br,), -float('inf'), tl.float32).",
        signs=(running(top=lambda m, m_tile: np.maximum(np.maximum(m, m_tile), 0.0)).at(Part.MAX),),
    ),
    Misconception(
        "maximum-of-hidden-scores",
        "Scores that are hidden take part in the maximum",
        "P is 0 where a key is hidden or does not exist, but the maximum was taken before. Where a hidden score is far "
        "above those that count, their exponentials are all 0, and so is O.",
        "Hide the scores themselves, before the maximum: tl.where(visible, Sij, -float('inf')).",
        signs=(running(hidden_too=True, p=lambda s, m: exp32(s - m)).at(Part.MAX),),
    ),
    Misconception(
        "max-of-last-tile",
        "The maximum is that of the last tile only",
        "Each tile's maximum replaces the one before it. Where an earlier tile had a much larger score, the factor "
        "exp(mi - mi_new) overflows.",
        "Line 9 of the algorithm: mi_new = tl.maximum(mi, tl.max(Sij, axis=1)).",
        signs=(running(top=lambda m, m_tile: m_tile).at(Part.MAXIMUM),),
    ),
    Misconception(
        "accumulator-in-half",
        "O is accumulated in fp16",
        "Until it is divided, O is a sum over all keys: fp16 ends at 65504, and loses a thousandth at every step "
        "besides.",
        "Accumulate in fp32, tl.zeros((Br, D), tl.float32); tl.store converts at the end.",
        signs=(running(in_half=True),),
    ),
    Misconception(
        "accumulator-not-rescaled",
        "The accumulator is not rescaled when the maximum grows",
        "Oi adds up products that were taken relative to different maxima. What it held relative to the old one "
        "must be multiplied by exp(mi - mi_new).",
        "Line 10 of the algorithm: Oi = exp(mi - mi_new)[:, None] * Oi + Pij Vj.",
        signs=(running(old_o=one).at(Part.ACCUMULATOR),),
    ),
    Misconception(
        "denominator-not-rescaled",
        "The old normaliser is not rescaled when the maximum grows",
        "li adds up exponentials that were taken relative to different maxima.",
        "Line 9 of the algorithm: li = exp(mi - mi_new) * li + rowsum(Pij).",
        signs=(running(old_l=one).at(Part.NORMALISER),),
    ),
    Misconception(
        "denominator-not-rescaled",
        "Neither O nor the normaliser is rescaled when the maximum grows",
        "Both were accumulated relative to the old maximum, and what is added is relative to the new one. If you do "
        "multiply by exp(mi - mi_new), then mi was overwritten before that.",
        "Lines 9 and 10 of the algorithm: the old parts get the factor exp(mi - mi_new).",
        signs=(running(old_l=one, old_o=one),),
    ),
    Misconception(
        "new-part-not-rescaled",
        "The new part is not rescaled to the new maximum",
        "Pij was taken relative to the maximum of its own tile. If an earlier tile had a larger one, it counts too "
        "much, both in li and in Oi.",
        "Line 9 of the algorithm: Pij = exp(Sij - mi_new), or 0 instead of mi_new while that is -inf.",
        signs=(running(own=_same), running(own=lambda m: np.where(np.isinf(m), 0.0, m))),
    ),
    Misconception(
        "divided-at-every-step",
        "The accumulator is divided at every step",
        "Oi was divided by li inside the loop, and then accumulated further as if it had not been.",
        "Divide once, after the loop.",
        signs=(running(each=lambda l: np.where(l == 0, 1.0, l), last=one),),
    ),
    Misconception(
        "not-divided",
        "O is not divided by the normaliser",
        "O holds the weighted sum of V's rows with weights that do not sum to 1.",
        "Line 12 of the algorithm: after the loop, O = O / li.",
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
        return {"o_ptr": (e @ v) / np.where(l == 0, 1.0, l), "lse_ptr": value(m, l)[..., 0]}

    return from_scores(formula)


LSE = tuple(
    Misconception(id, title, explanation, hint, signs=(_lse_instead(value),))
    for id, title, explanation, hint, value in (
        (
            "lse-without-max",
            "The maximum is missing in LSE",
            "LSE is log(li), but li is the sum of exp(s - mi): the maximum must be added again.",
            "LSE = mi + log(li).",
            lambda m, l: np.log(l),
        ),
        (
            "lse-without-log",
            "LSE is not a logarithm",
            "LSE is mi + li, but it should be mi + log(li).",
            "LSE = mi + log(li).",
            lambda m, l: m + l,
        ),
        (
            "lse-is-the-normaliser",
            "The normaliser is stored instead of LSE",
            "LSE is li, but it should be mi + log(li).",
            "LSE = mi + log(li).",
            lambda m, l: l,
        ),
        (
            "lse-is-the-max",
            "The maximum is stored instead of LSE",
            "LSE is mi, but it should be mi + log(li).",
            "LSE = mi + log(li).",
            lambda m, l: m,
        ),
        (
            "lse-in-base-two",
            "LSE is in base 2",
            "The backward pass computes exp(s - LSE), so LSE must be a natural logarithm.",
            "With exp2 inside, multiply by ln(2) at the end: LSE = (mi + log2(li)) * 0.6931471805599453.",
            lambda m, l: (m + np.log(l)) * LOG2_E,
        ),
        (
            "lse-in-base-two",
            "LSE mixes base 2 and base e",
            "The maximum is in base 2, because log2(e) was folded into the scale, but the logarithm of li is a natural "
            "one.",
            "Convert the maximum: LSE = mi * 0.6931471805599453 + log(li).",
            lambda m, l: m * LOG2_E + np.log(l),
        ),
        (
            "lse-in-base-two",
            "LSE mixes base e and base 2",
            "The maximum is right, but log2(li) was added to it instead of log(li).",
            "LSE = mi + log(li), with tl.log.",
            lambda m, l: m + np.log2(l),
        ),
    )
)
