"""Wrong ideas about FlashAttention-2: the accumulator is divided once, at the end; LSE is what remains of l and m."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from checker.catalog.attention_mistakes import LOG2_E, Outputs, last_looked_at, one, tiles, with_lse, writes
from checker.catalog.softmax_mistakes import exp32
from checker.puzzle import Array, Case, Misconception

# FlashAttention-2: the accumulator is divided once, at the end; hidden scores are -inf, and a guard keeps NaN away.


def running(
    old_o: Callable[[Array], Array] = lambda a: a,
    old_l: Callable[[Array], Array] = lambda a: a,
    each: Callable[[Array], Array] = lambda l: np.ones_like(l),
    last: Callable[[Array], Array] = lambda l: np.where(l == 0, 1.0, l),
    top: Callable[[Array, Array], Array] = np.maximum,
    in_half: bool = False,
    own: Callable[[Array], Array] | None = None,
) -> Callable[[Case], Outputs]:
    """The outputs of a kernel that rescales and divides by its own ideas.

    `top(m, m_tile)` is its running maximum; `in_half`: it keeps O in V's type; `own(m_tile)` is what it subtracts
    from a tile's scores instead of the running maximum.
    """

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        o = np.zeros((*s.shape[:-1], v.shape[-1]))
        l = np.zeros((*s.shape[:-1], 1))
        m = np.full_like(l, -np.inf)
        for j, (s_j, v_j) in enumerate(tiles(s, v, case)):
            m_j = s_j.max(axis=-1, keepdims=True)
            m_new = top(m, m_j)
            shift = np.where(np.isinf(m_new), 0.0, m_new)
            p = exp32(s_j - (own(m_j) if own else shift))
            a = exp32(m - shift)
            here = (j <= last_looked_at(case))[:, None]
            l = np.where(here, old_l(a) * l + p.sum(axis=-1, keepdims=True), l)
            o = np.where(here, (old_o(a) * o + p @ v_j) / each(l), o)
            o = o.astype(case.tensors["v_ptr"].values.dtype).astype(np.float64) if in_half else o
            m = np.where(here, m_new, m)
        return with_lse(m, l, o / last(l))

    return writes(formula)


ACCUMULATION = (
    Misconception(
        "max-of-last-tile",
        "The maximum is that of the last tile only",
        "Each tile's maximum replaces the one before it. Where an earlier tile had a much larger score, the factor "
        "exp(mi - mi_new) overflows.",
        "Line 9 of the algorithm: mi_new = tl.maximum(mi, tl.max(Sij, axis=1)).",
        outputs=running(top=lambda m, m_tile: m_tile),
    ),
    Misconception(
        "accumulator-in-half",
        "O is accumulated in fp16",
        "Until it is divided, O is a sum over all keys: fp16 ends at 65504, and loses a thousandth at every step "
        "besides.",
        "Accumulate in fp32, tl.zeros((Br, D), tl.float32); tl.store converts at the end.",
        outputs=running(in_half=True),
    ),
    Misconception(
        "accumulator-not-rescaled",
        "The accumulator is not rescaled when the maximum grows",
        "Oi adds up products that were taken relative to different maxima. What it held relative to the old one "
        "must be multiplied by exp(mi - mi_new).",
        "Line 10 of the algorithm: Oi = exp(mi - mi_new)[:, None] * Oi + Pij Vj.",
        outputs=running(old_o=one),
    ),
    Misconception(
        "denominator-not-rescaled",
        "The old normaliser is not rescaled when the maximum grows",
        "li adds up exponentials that were taken relative to different maxima.",
        "Line 9 of the algorithm: li = exp(mi - mi_new) * li + rowsum(Pij).",
        outputs=running(old_l=one),
    ),
    Misconception(
        "denominator-not-rescaled",
        "Neither O nor the normaliser is rescaled when the maximum grows",
        "Both were accumulated relative to the old maximum, and what is added is relative to the new one. If you do "
        "multiply by exp(mi - mi_new), then mi was overwritten before that.",
        "Lines 9 and 10 of the algorithm: the old parts get the factor exp(mi - mi_new).",
        outputs=running(old_l=one, old_o=one),
    ),
    *(
        Misconception(
            "new-part-not-rescaled",
            "The new part is not rescaled to the new maximum",
            "Pij was taken relative to the maximum of its own tile. If an earlier tile had a larger one, it counts too "
            "much, both in li and in Oi.",
            "Line 9 of the algorithm: Pij = exp(Sij - mi_new), or 0 instead of mi_new while that is -inf.",
            outputs=running(own=own),
        )
        for own in (lambda m: m, lambda m: np.where(np.isinf(m), 0.0, m))
    ),
    Misconception(
        "divided-at-every-step",
        "The accumulator is divided at every step",
        "Oi was divided by li inside the loop, and then accumulated further as if it had not been.",
        "Divide once, behind the loop.",
        outputs=running(each=lambda l: np.where(l == 0, 1.0, l), last=one),
    ),
    Misconception(
        "not-divided",
        "O is not divided by the normaliser",
        "O holds the weighted sum of V's rows with weights that do not sum to 1.",
        "Line 12 of the algorithm: behind the loop, O = O / li.",
        outputs=running(last=one),
    ),
)


def _lse_instead(value: Callable[[Array, Array], Array]) -> Callable[[Case], Outputs]:
    """Right O, and another LSE, computed from m and l."""

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        m = s.max(axis=-1, keepdims=True)
        shift = np.where(np.isinf(m), 0.0, m)
        e = exp32(s - shift)
        l = e.sum(axis=-1, keepdims=True)
        return {"o_ptr": (e @ v) / np.where(l == 0, 1.0, l), "lse_ptr": value(m, l)[..., 0]}

    return writes(formula)


LSE = (
    Misconception(
        "lse-without-max",
        "The maximum is missing in LSE",
        "LSE is log(li), but li is the sum of exp(s - mi): the maximum must be added again.",
        "LSE = mi + log(li).",
        outputs=_lse_instead(lambda m, l: np.log(l)),
    ),
    Misconception(
        "lse-without-log",
        "LSE is not a logarithm",
        "LSE is mi + li, but it should be mi + log(li).",
        "LSE = mi + log(li).",
        outputs=_lse_instead(lambda m, l: m + l),
    ),
    Misconception(
        "lse-is-the-normaliser",
        "The normaliser is stored instead of LSE",
        "LSE is li, but it should be mi + log(li).",
        "LSE = mi + log(li).",
        outputs=_lse_instead(lambda m, l: l),
    ),
    Misconception(
        "lse-is-the-max",
        "The maximum is stored instead of LSE",
        "LSE is mi, but it should be mi + log(li).",
        "LSE = mi + log(li).",
        outputs=_lse_instead(lambda m, l: m),
    ),
    Misconception(
        "lse-in-base-two",
        "LSE is in base 2",
        "The backward pass computes exp(s - LSE), so LSE must be a natural logarithm.",
        "With exp2 inside, multiply by ln(2) at the end: LSE = (mi + log2(li)) * 0.6931471805599453.",
        outputs=_lse_instead(lambda m, l: (m + np.log(l)) * LOG2_E),
    ),
    Misconception(
        "lse-in-base-two",
        "LSE mixes base 2 and base e",
        "The maximum is in base 2, because log2(e) was folded into the scale, but the logarithm of li is a natural "
        "one.",
        "Convert the maximum: LSE = mi * 0.6931471805599453 + log(li).",
        outputs=_lse_instead(lambda m, l: m * LOG2_E + np.log(l)),
    ),
    Misconception(
        "lse-in-base-two",
        "LSE mixes base e and base 2",
        "The maximum is right, but log2(li) was added to it instead of log(li).",
        "LSE = mi + log(li), with tl.log.",
        outputs=_lse_instead(lambda m, l: m + np.log2(l)),
    ),
)
