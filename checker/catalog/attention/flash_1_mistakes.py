"""Wrong ideas about FlashAttention-1: O, l and m are kept finished, and brought up to date at each visit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from checker.catalog.attention.mistakes import (
    Q_K_V,
    Outputs,
    Over,
    from_scores,
    in_whole_tiles,
    of_p,
    one,
    reduced,
    tiles,
    with_lse,
)
from checker.catalog.softmax.mistakes import exp32
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Part, Writes

# FlashAttention-1: O, l and m are kept divided and complete from visit to visit.

# (O, l, a = exp(m - m_new), b = exp(mij - m_new), lij, Pij Vj) → (O, l)
Step = Callable[[Array, Array, Array, Array, Array, Array], tuple[Array, Array]]


def visits(
    step: Step,
    top: Callable[[Array, Array], Array] = np.maximum,
    p: Callable[[Array, Array], Array] = lambda s, m: exp32(s - m),
    unscaled: Callable[[Array, Array, float], Array] | None = None,
    over: Over = "",
) -> Writes:
    """The outputs of a kernel that comes back to O and l for every tile of keys, and changes them by `step`.

    `top(m, m_tile)` is its running maximum, `p(s, m_tile)` its P; `unscaled(s, m_tile, scale)` instead, if the scores
    themselves are not scaled. `over`: which reductions run over the whole tile, because they lack an axis.
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
            m = m_new
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


VISITS = (
    Misconception(
        "rescaled-by-the-inverse",
        "The old part is rescaled the wrong way round",
        "The factor must make the old part smaller when the maximum grows. exp(mi_new - mi) makes it larger, and "
        "at the first visit, where mi is -inf, infinite: infinity times 0 is NaN.",
        "Lines 11 and 12 of the algorithm: the factor is exp(mi - mi_new), never above 1.",
        signs=(
            visits(_visit(old_o=lambda l, a: l / a)).at(Part.INVERSE_FACTOR, needed=True),
            visits(_visit(old_l=_inverse)).at(Part.INVERSE_FACTOR, needed=True),
        ),
    ),
    Misconception(
        "rescaled-by-the-inverse",
        "The new part is rescaled the wrong way round",
        "The factor must make the new part smaller where an earlier tile had a larger maximum. exp(mi_new - mij) "
        "makes it larger.",
        "Lines 11 and 12 of the algorithm: the factor is exp(mij - mi_new), never above 1.",
        signs=(
            visits(_visit(new_o=_inverse, new_l=_inverse)).at(Part.INVERSE_FACTOR),
            visits(_visit(new_o=_inverse)).at(Part.INVERSE_FACTOR),
            visits(_visit(new_l=_inverse)).at(Part.INVERSE_FACTOR),
        ),
    ),
    Misconception(
        "accumulator-overwritten",
        "O forgets the tiles of keys before the last one",
        "Oi is the product of this tile alone, divided by the whole li_new: what earlier visits had added is gone.",
        "Line 12 of the algorithm: the old part, li * exp(mi - mi_new) * Oi, is added.",
        signs=(visits(_visit(old_o=lambda l, a: 0.0 * l)).at(Q_K_V),),
    ),
    Misconception(
        "sum-of-last-tile",
        "The normaliser forgets the tiles of keys before the last one",
        "li_new is the sum of this tile alone: what earlier visits had added is gone.",
        "Line 11 of the algorithm: the old part, exp(mi - mi_new) * li, is added.",
        signs=(visits(_visit(old_l=lambda a: 0.0 * a)).at(Part.NORMALISER),),
    ),
    Misconception(
        "old-part-not-rescaled",
        "The old O is added as it is",
        "Oi was divided by the old li, and relative to the old maximum. Before anything can be added, it needs the "
        "factor li * exp(mi - mi_new), and then the sum is divided by li_new.",
        "Line 12 of the algorithm: (li * exp(mi - mi_new) * Oi + exp(mij - mi_new) * Pij Vj) / li_new.",
        signs=tuple(visits(_added_as_it_is(new)).at(Part.ACCUMULATOR) for new in (_once, one)),
    ),
    Misconception(
        "divided-twice",
        "O is divided by the normaliser twice",
        "Line 12 of the algorithm divides by li_new once at each visit.",
        "Divide once.",
        signs=(visits(_visit(divided=_squared)),),
    ),
    Misconception(
        "multiplied-by-the-sum",
        "O is multiplied by the normaliser",
        "The weights of an average sum to 1: the normaliser divides.",
        "Write / instead of *.",
        signs=(visits(_visit(divided=_inverse)),),
    ),
    *of_p(partial(visits, _visit()), "mij", "the factors exp(mi - mi_new) and m itself"),
    Misconception(
        "max-of-last-tile",
        "The maximum is that of the last tile only",
        "mij replaces mi. Where an earlier tile had a much larger score, the factor exp(mi - mi_new) overflows.",
        "Line 11 of the algorithm: mi_new = tl.maximum(mi, mij).",
        signs=(visits(_visit(), top=lambda m, m_tile: m_tile).at(Part.MAXIMUM),),
    ),
    Misconception(
        "old-l-not-folded-back",
        "The old O is not multiplied by its own normaliser",
        "Oi was divided by the old li when it was stored. Before anything can be added, that must be taken back.",
        "Line 12 of the algorithm: the old part is li * exp(mi - mi_new) * Oi.",
        signs=(visits(_visit(old_o=lambda l, a: a)).at(Part.ACCUMULATOR),),
    ),
    Misconception(
        "new-part-not-rescaled",
        "The new part is not rescaled to the new maximum",
        "Pij was taken relative to the maximum mij of its own tile. If an earlier tile had a larger one, Pij Vj and "
        "lij must be multiplied by exp(mij - mi_new).",
        "Lines 11 and 12 of the algorithm: both lij and Pij Vj get the factor exp(mij - mi_new).",
        signs=(visits(_visit(new_o=one)), visits(_visit(new_l=one, new_o=one))),
    ),
    Misconception(
        "new-part-not-rescaled",
        "The new sum is not rescaled to the new maximum",
        "lij was taken relative to the maximum mij of its own tile. If an earlier tile had a larger one, it must be "
        "multiplied by exp(mij - mi_new).",
        "Line 11 of the algorithm: li_new = exp(mi - mi_new) * li + exp(mij - mi_new) * lij.",
        signs=(visits(_visit(new_l=one)).at(Part.NORMALISER),),
    ),
    *(
        Misconception(
            "new-part-rescaled-twice",
            f"{what} rescaled to the new maximum twice",
            "If Pij is exp(Sij - mi_new), it is relative to the new maximum already, and so is its sum; the factor "
            f"exp(mij - mi_new) belongs to exp(Sij - mij) only. Here {where} has it twice.",
            "Lines 10 to 12 of the algorithm: either Pij = exp(Sij - mij), and the factor once for lij and for "
            "Pij Vj; or Pij = exp(Sij - mi_new), and no factor at all.",
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
        "Oi was accumulated relative to the old maximum, and so it needs the factor exp(mi - mi_new) before "
        "anything is added.",
        "Line 12 of the algorithm: the old part is li * exp(mi - mi_new) * Oi.",
        signs=(visits(_visit(old_o=lambda l, a: l)).at(Part.ACCUMULATOR),),
    ),
    Misconception(
        "denominator-not-rescaled",
        "The old normaliser is not rescaled when the maximum grows",
        "li adds up exponentials that were taken relative to different maxima.",
        "Line 11 of the algorithm: the old li gets the factor exp(mi - mi_new).",
        signs=(visits(_visit(old_l=one)).at(Part.NORMALISER),),
    ),
    Misconception(
        "denominator-not-rescaled",
        "Neither O nor the normaliser is rescaled when the maximum grows",
        "Both were accumulated relative to the old maximum, and what is added is relative to the new one. If you do "
        "multiply by exp(mi - mi_new), then mi was overwritten before that.",
        "Lines 11 and 12 of the algorithm: the old parts get the factor exp(mi - mi_new).",
        signs=(visits(_visit(old_l=one, old_o=lambda l, a: l)),),
    ),
    Misconception(
        "not-divided",
        "O is not divided by the normaliser",
        "O holds the weighted sum of V's rows with weights that do not sum to 1.",
        "Line 12 of the algorithm: divide by li_new at every visit, because this algorithm keeps O finished.",
        signs=(visits(lambda o, l, a, b, l_j, pv: (a * o + b * pv, a * l + b * l_j)),),
    ),
    Misconception(
        "not-divided",
        "O is not divided by the normaliser",
        "The old O is multiplied by its normaliser, but the new one is not divided by its own.",
        "Line 12 of the algorithm: divide by li_new at every visit, because this algorithm keeps O finished.",
        signs=(visits(_visit(divided=one)),),
    ),
    Misconception(
        "divided-by-the-tile-sum",
        "O is divided by the sum of one tile",
        "lij is the sum over the tile at hand; O must be divided by the sum over all keys so far.",
        "Line 12 of the algorithm: divide by li_new.",
        signs=(visits(lambda o, l, a, b, l_j, pv: ((l * a * o + b * pv) / l_j, a * l + b * l_j)),),
    ),
    Misconception(
        "divided-by-the-old-l",
        "O is divided by the old normaliser",
        "Line 12 of the algorithm divides by the new one; the old one is 0 at the first visit.",
        "Divide by li_new.",
        signs=(visits(lambda o, l, a, b, l_j, pv: ((l * a * o + b * pv) / l, a * l + b * l_j)),),
    ),
)
