"""What kernels that keep the maximum and the normaliser in one pass would write, with a wrong idea of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from checker.catalog.numbers import exp32
from checker.catalog.softmax import blockwise_mistakes
from checker.catalog.softmax.blockwise_mistakes import LATE, Exponential, blocks, filled, relative, top, with_max
from checker.catalog.softmax.mistakes import shifted, total, y_is
from checker.catalog.softmax.rows import block_size
from checker.course.case import Array, Case
from checker.course.misconception import Part, Writes
from checker.course.words import Ideas

idea = Ideas(__file__, blockwise_mistakes.idea)


def _online(
    rescale: Callable[[Array, Array], Array] = lambda m, m_new: exp32(m - m_new),
    guard: Callable[[Array, bool], Array] = lambda m, _: np.where(np.isinf(m), 0.0, m),
    own: bool = False,
    own_factor: bool = False,
    both: bool = False,
    padded: bool = False,
    of_block: bool = False,
    kept_of_block: bool = False,
    stale_guard: bool = False,
    term: Exponential = relative,
    result: Exponential = relative,
) -> Writes:
    """The two-pass softmax with a factor `rescale(m_old, m_new)` for the old normaliser.

    `guard(m, first)`: what is subtracted, of the maximum so far; whether this is the first block. `own`: each block's
    exponentials are taken relative to the block's own maximum; `own_factor`: and the old normaliser is. `both`: the
    factor is for the new part as well. `padded`: padded lanes, which hold -inf, count as terms. `of_block`: a block's
    maximum is used in place of the running one; `kept_of_block`: it is only what the next block starts from.
    `stale_guard`: whether -inf must not be subtracted is asked of the maximum before the block. `term`, `result`: how
    exponentials are taken, in pass 1 and in pass 2.
    """

    def formula(x: Array, case: Case) -> Array:
        m, l = np.full((len(x), 1), -np.inf), np.zeros((len(x), 1))
        for number, block in enumerate(filled(x, case).swapaxes(0, 1) if padded else blocks(x, case)):
            m_new = top(block) if of_block else np.maximum(m, top(block))
            shift = np.where(np.isinf(m), 0.0, m_new) if stale_guard else guard(m_new, number == 0)
            new = total(term(block, top(block) if own else shift))
            factor = rescale(m, guard(top(block), number == 0) if own_factor else shift)
            l = (l + new) * factor if both else l * factor + new
            m = top(block) if kept_of_block else m_new
        return np.asarray(result(x, m) / l)

    return y_is(formula)


def _outside(x: Array, m: Array) -> Array:
    """exp(x) - m, in place of exp(x - m)."""
    return np.asarray(exp32(x) - m)


def _lanes_added(x: Array, case: Case) -> Array:
    """Maximum and normaliser of each lane by itself, the latter added up as they are."""
    lanes = filled(x, case)
    m = lanes.max(axis=1, keepdims=True)
    l = exp32(lanes - np.where(np.isinf(m), 0.0, m)).sum(axis=(1, 2))
    return np.asarray(exp32(shifted(x)) / l[:, None])


def _running(x: Array, case: Case) -> Array:
    """Each block with the maximum and the normaliser of the row up to it."""
    written = []
    for end in range(block_size(case), x.shape[1] + block_size(case), block_size(case)):
        seen = x[:, :end]
        m = np.where(np.isinf(top(seen)), 0.0, top(seen))
        written.append((exp32(seen - m) / total(exp32(seen - m)))[:, end - block_size(case) :])
    return np.concatenate(written, axis=1)


def _running_as_added(x: Array, case: Case) -> Array:
    """The same, where the normaliser adds up what each block has relative to the maximum up to it."""
    written, m, l = [], np.full((len(x), 1), -np.inf), np.zeros((len(x), 1))
    for block in blocks(x, case):
        m = np.maximum(m, top(block))
        e = exp32(block - np.where(np.isinf(m), 0.0, m))
        l = l + total(e)
        written.append(e / l)
    return np.concatenate(written, axis=1)


def _first_pass_kept(x: Array, case: Case) -> Array:
    """Each block's exponentials relative to the maximum up to it, divided by the row's sum."""
    written, m = [], np.full((len(x), 1), -np.inf)
    for block in blocks(x, case):
        m = np.maximum(m, top(block))
        written.append(exp32(block - np.where(np.isinf(m), 0.0, m)))
    return np.asarray(np.concatenate(written, axis=1) / total(exp32(shifted(x))))


def _guard_kept(x: Array, case: Case) -> Array:
    """The softmax with a maximum of at least 0 after a block of -inf."""
    return with_max(x, np.where(np.isinf(top(blocks(x, case)[0])), np.maximum(top(x), 0.0), top(x)))


def _max_not_kept(x: Array, case: Case) -> Array:
    """exp(x + inf), divided by the sum of the last block."""
    last = blocks(x, case)[-1]
    return np.asarray(np.exp(x + np.inf) / total(exp32(last - np.where(np.isinf(top(last)), 0.0, top(last)))))


# Wrong ideas about keeping the maximum and the normaliser up to date in one pass.
ONLINE = (
    idea("denominator-not-rescaled", _online(lambda m, m_new: np.ones_like(m)).at(Part.NORMALISER)),
    idea("new-part-rescaled-too", _online(both=True).at(Part.NORMALISER)),
    idea("lanes-added-without-rescaling", y_is(_lanes_added)),
    idea("minimum-for-maximum", y_is(_max_not_kept).at(Part.MINIMUM, needed=True)),
    idea("max-not-kept", y_is(_max_not_kept)),
    idea("new-part-not-rescaled", _online(own=True).at(Part.NORMALISER)),
    idea("rescaled-by-the-inverse", _online(lambda m, m_new: exp32(m_new - m)).at(Part.INVERSE_FACTOR, needed=True)),
    idea("written-too-early", y_is(lambda x, case: _running(x, case))),
    idea("written-too-early/in-one-loop", y_is(_running_as_added)),
    idea("written-too-early/relative", y_is(_first_pass_kept)),
    idea(
        "factor-overflows",
        _online(lambda m, m_new: exp32(m) / exp32(m_new)).at(Part.RATIO_OF_EXPONENTIALS, needed=True),
        _online(lambda m, m_new: exp32(m) * exp32(-m_new)).at(Part.RATIO_OF_EXPONENTIALS, needed=True),
    ),
    idea(
        "subtracted-too-late",
        *(
            _online(factor, guard, term=late, result=result)
            for late in LATE
            for factor in (lambda m, m_new: exp32(m - m_new), late)
            for guard in (lambda m, _: np.where(np.isinf(m), 0.0, m), lambda m, _: m)
            for result in (late, relative)
        ),
    ),
    idea(
        "subtracted-outside",
        _online(term=_outside, padded=True).at(Part.NORMALISER),
        _online(term=_outside, padded=True, result=_outside).at(Part.NORMALISER),
        _online(term=lambda x, m: exp32(x) - m / x.shape[1], padded=True).at(Part.NORMALISER),
    ),
    idea("subtracted-outside/result", _online(result=_outside)),
    idea(
        "sum-of-x",
        _online(term=lambda x, _: x, padded=True).at(Part.NORMALISER),
        _online(term=lambda x, m: x - m, padded=True).at(Part.NORMALISER),
    ),
    idea("max-of-last-block", _online(of_block=True).at(Part.MAXIMUM), _online(kept_of_block=True).at(Part.MAXIMUM)),
    idea("guard-of-the-old-maximum", _online(stale_guard=True).at(Part.NORMALISER)),
    idea("rescaled-to-the-blocks-maximum", _online(own_factor=True).at(Part.NORMALISER)),
    idea("guard-in-the-maximum", y_is(_guard_kept)),
    idea(
        "guard-in-the-maximum/far-below",
        *(
            _online(guard=lambda m, _, least=least: np.maximum(m, least)).at(Part.NORMALISER)  # type: ignore[misc]
            for least in (-1e4, -1e3, -65504.0, -100.0, 0.0)
        ),
    ),
    idea(
        "minus-infinity-prefix",
        _online(guard=lambda m, first: np.where(np.isinf(m) & first, 0.0, m)).at(Part.NORMALISER),
    ),
    idea("minus-infinity-prefix/unguarded", _online(guard=lambda m, _: m).at(Part.UNGUARDED_EXPONENTIAL)),
)
