"""What kernels that keep the maximum and the normaliser in one pass would write, with a wrong idea of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from checker.catalog.softmax.blockwise_mistakes import blocks, filled, top, with_max
from checker.catalog.softmax.mistakes import exp32, shifted, total, y_is
from checker.catalog.softmax.rows import block_size
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Part, Writes


def _online(
    rescale: Callable[[Array, Array], Array] = lambda m, m_new: exp32(m - m_new),
    guarded: bool = True,
    own: bool = False,
    both: bool = False,
) -> Writes:
    """The two-pass softmax with a factor `rescale(m_old, m_new)` for the old normaliser.

    `guarded`: 0 is subtracted instead of the maximum while that is -inf. `own`: each block's exponentials are
    taken relative to the block's own maximum. `both`: the factor is for the new part as well.
    """

    def formula(x: Array, case: Case) -> Array:
        m, l = np.full((len(x), 1), -np.inf), np.zeros((len(x), 1))
        for block in blocks(x, case):
            m_new = np.maximum(m, top(block))
            shift = np.where(guarded & np.isinf(m_new), 0.0, m_new)
            new = total(exp32(block - (top(block) if own else shift)))
            l = (l + new) * rescale(m, shift) if both else l * rescale(m, shift) + new
            m = m_new
        return np.asarray(exp32(x - m) / l)

    return y_is(formula)


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


def _guard_kept(x: Array, case: Case) -> Array:
    """The softmax with a maximum of at least 0 after a block of -inf."""
    return with_max(x, np.where(np.isinf(top(blocks(x, case)[0])), np.maximum(top(x), 0.0), top(x)))


def _max_not_kept(x: Array, case: Case) -> Array:
    """exp(x + inf), divided by the sum of the last block."""
    last = blocks(x, case)[-1]
    return np.asarray(np.exp(x + np.inf) / total(exp32(last - np.where(np.isinf(top(last)), 0.0, top(last)))))


# Wrong ideas about keeping the maximum and the normaliser up to date in one pass.
ONLINE = (
    Misconception(
        "denominator-not-rescaled",
        "The old normaliser is not rescaled when the maximum grows",
        "l adds up exponentials that were taken relative to different maxima. What l held relative to the old "
        "maximum must be multiplied by exp(m_old - m_new) first. If you do multiply, then m was overwritten "
        "before that, and the factor is exp(0) = 1.",
        "Multiply the old l by exp(m - what you subtract now) while m still holds the old maximum; "
        "the line m = m_new comes last.",
        signs=(_online(lambda m, m_new: np.ones_like(m)).at(Part.NORMALISER),),
    ),
    Misconception(
        "new-part-rescaled-too",
        "The factor is for the old normaliser, but the new part gets it too",
        "What is added now is relative to the new maximum already. Only what l held before needs the factor "
        "exp(m_old - m_new). In the first block that is 0, and there even the new part is lost.",
        "Multiply before you add: l * factor + tl.sum(...), without parentheses around the sum.",
        signs=(_online(both=True).at(Part.NORMALISER),),
    ),
    Misconception(
        "lanes-added-without-rescaling",
        "The lanes' normalisers are added without being rescaled",
        "Each lane has a maximum of its own, and its normaliser is relative to that. To add them up, each needs the "
        "factor exp(its own maximum - the row's maximum).",
        "After the loop: m_row = tl.max(m, axis={axis}), then l = tl.sum(l * tl.exp(m - m_row), axis={axis}).",
        signs=(y_is(_lanes_added),),
    ),
    Misconception(
        "minimum-for-maximum",
        "The running maximum is a minimum",
        "It starts at -inf, and nothing is smaller, so it stays there: x - m is +inf, and so is y.",
        "Use tl.maximum and tl.max.",
        signs=(y_is(_max_not_kept).at(Part.MINIMUM, needed=True),),
    ),
    Misconception(
        "max-not-kept",
        "The running maximum is still -inf in the last pass",
        "x - m is then +inf, and so is y. If you do compute a new maximum for each block, it never becomes m.",
        "The first loop ends with m = m_new.",
        signs=(y_is(_max_not_kept),),
    ),
    Misconception(
        "new-part-not-rescaled",
        "The new part is not rescaled to the new maximum",
        "The exponentials of each block were taken relative to the block's own maximum. If an earlier block had a "
        "larger one, they count too much.",
        "Sum exp(x - m_new), or 0 instead of m_new while that is -inf; or multiply the block's sum by "
        "exp(its own maximum - m_new).",
        signs=(_online(own=True).at(Part.NORMALISER),),
    ),
    Misconception(
        "rescaled-by-the-inverse",
        "The old normaliser is rescaled the wrong way round",
        "The factor must make the old normaliser smaller when the maximum grows. exp(m_new - m_old) makes it larger, "
        "and infinite at the first block, where m_old is -inf.",
        "The factor is exp(m_old - m_new): it is never above 1.",
        signs=(_online(lambda m, m_new: exp32(m_new - m)).at(Part.INVERSE_FACTOR, needed=True),),
    ),
    Misconception(
        "written-too-early",
        "Blocks are written before the row has been seen to its end",
        "Each block was divided by the normaliser as it was after that block. It is final only after the last one.",
        "Write in a second pass, after the one that computes m and l.",
        signs=(y_is(lambda x, case: _running(x, case)),),
    ),
    Misconception(
        "guard-in-the-maximum",
        "After a block of -inf the running maximum is 0",
        "The 0 that is subtracted while the maximum is -inf was kept as the maximum. A row that goes on far below 0 "
        "then has only exponentials that are 0, and 0 / 0 is NaN.",
        "Keep the 0 in a variable of its own (shift), and carry m_new on as the maximum, -inf as it is.",
        signs=(y_is(_guard_kept),),
    ),
    Misconception(
        "minus-infinity-prefix",
        "-inf minus -inf is NaN",
        "As long as a row has shown nothing but -inf, the maximum is -inf as well. Both x - m_new and m_old - m_new "
        "are then -inf - (-inf), which is NaN, and it stays in l for good.",
        "While the maximum is -inf, subtract 0 instead, in both: shift = tl.where(m_new == -float('inf'), 0.0, m_new).",
        signs=(_online(guarded=False).at(Part.NORMALISER),),
    ),
)
