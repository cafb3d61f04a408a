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
        "l adds up exponentials that were taken relative to different maxima. Of the row 1 3 | 2 5, block 1 3 leaves "
        "1.135, relative to 3, and block 2 5 adds 1.050, relative to 5. Added as they are they make 2.185, and l "
        "should be 1.203. If you do multiply the old l by a factor, then m was overwritten before that, and the "
        "factor is exp(0), which is 1.",
        "Multiply the old l by tl.exp(m - what you subtract now) while m still holds the old maximum; the line m = "
        "m_new comes last.",
        question="After block 1 3, l is 1.135, relative to 3. How much is that relative to 5? When your kernel needs "
        "the old maximum for it, does m still hold the 3?",
        signs=(_online(lambda m, m_new: np.ones_like(m)).at(Part.NORMALISER),),
    ),
    Misconception(
        "new-part-rescaled-too",
        "The factor is for the old normaliser, but the new part gets it too",
        "What a block adds is relative to the new maximum already, so only what l held before needs the factor. In "
        "the first block the factor is exp(-inf), which is 0, and even the new part is lost.",
        "Multiply before you add: l * factor + tl.sum(...), without parentheses around the sum.",
        question="After block 1 3, block 2 5 adds e**(2 - 5) + e**(5 - 5), which is 1.050. Relative to which maximum "
        "is that, and by what does your kernel multiply it?",
        signs=(_online(both=True).at(Part.NORMALISER),),
    ),
    Misconception(
        "lanes-added-without-rescaling",
        "The lanes' normalisers are added without being rescaled",
        "Each lane has a maximum of its own, and its normaliser is relative to that. Of the row 1 3 | 2 5, in blocks "
        "of two, lane 0 holds 1.368 relative to 2, and lane 1 holds 1.135 relative to 5. These two cannot be added up "
        "as they are.",
        "After the loop: m_row = tl.max(m, axis={axis}), then l = tl.sum(l * tl.exp(m - m_row), axis={axis}).",
        question="Lane 0 saw 1 and 2, and holds 1.368 relative to 2. How much is that relative to 5, the maximum of "
        "the row?",
        signs=(y_is(_lanes_added),),
    ),
    Misconception(
        "minimum-for-maximum",
        "The running maximum is a minimum",
        "The running maximum starts at -inf, and nothing is smaller, so it stays there: x - m is +inf, and so is y.",
        "Use tl.maximum and tl.max: m_new = tl.maximum(m, tl.max(x, axis={axis})).",
        question="m starts at -inf, and the first block has the maximum 3. Which of the two does your kernel keep?",
        signs=(y_is(_max_not_kept).at(Part.MINIMUM, needed=True),),
    ),
    Misconception(
        "max-not-kept",
        "The running maximum is still -inf in the last pass",
        "m still holds its start, -inf, when the last pass subtracts it: x - m is +inf, and so is y. Perhaps your "
        "loop computes a new maximum for each block that never becomes m.",
        "The first loop ends with m = m_new.",
        question="Print m before the last pass. Which line was meant to change it, and which name gets that line's "
        "result?",
        signs=(y_is(_max_not_kept),),
    ),
    Misconception(
        "new-part-not-rescaled",
        "The new part is not rescaled to the new maximum",
        "The exponentials of each block were taken relative to the block's own maximum. If an earlier block had a "
        "larger one, they count too much: after a maximum of 5, block 4 0 adds 1.018, relative to 4, instead of "
        "0.375, relative to 5.",
        "Sum tl.exp(x - m_new), or 0 instead of m_new while that is -inf; or multiply the block's sum by tl.exp(its "
        "own maximum - m_new).",
        question="The maximum is 5 when block 4 0 comes in. Relative to which number does your kernel take this "
        "block's exponentials, and relative to which is the l that they are added to?",
        signs=(_online(own=True).at(Part.NORMALISER),),
    ),
    Misconception(
        "rescaled-by-the-inverse",
        "The old normaliser is rescaled the wrong way round",
        "When the maximum grows, the old normaliser must become smaller. Here it becomes larger: the factor from 3 to "
        "5 is 7.39 instead of 0.135. At the first block, where the old maximum is -inf, it is infinite.",
        "The factor is tl.exp(m - m_new), the old maximum minus the new one: it is never above 1.",
        question="The maximum grows from 3 to 5. Should 1.135, which is relative to 3, become larger or smaller "
        "relative to 5? What is your factor?",
        signs=(_online(lambda m, m_new: exp32(m_new - m)).at(Part.INVERSE_FACTOR, needed=True),),
    ),
    Misconception(
        "written-too-early",
        "Blocks are written before the row has been seen to its end",
        "Each block was divided by the normaliser as it was after that block, and it is final only after the last "
        "one. Of the row 1 3 | 2 5, the first block is written with the maximum 3 and the normaliser 1.135, and the "
        "row's are 5 and 1.203.",
        "Write in a second loop, after the one that computes m and l.",
        question="The row is 1 3 | 2 5, in blocks of two. What are m and l when your kernel stores the first block, "
        "and what are they at the end of the row?",
        signs=(y_is(lambda x, case: _running(x, case)),),
    ),
    Misconception(
        "guard-in-the-maximum",
        "After a block of -inf the running maximum is 0",
        "The 0 that is subtracted while the maximum is -inf was kept as the maximum. If the row continues with -200 "
        "-201, its maximum comes out as 0, both exponentials are 0 in fp32, and 0 / 0 is NaN.",
        "Keep the 0 in a variable of its own, shift = tl.where(m_new == -float('inf'), 0.0, m_new), and carry m_new "
        "on as the maximum, -inf as it is.",
        question="A row begins with a block of -inf, and the next block is -200 -201. What is m after each of the two "
        "in your kernel, and what should it be?",
        signs=(y_is(_guard_kept),),
    ),
    Misconception(
        "minus-infinity-prefix",
        "-inf minus -inf is NaN",
        "As long as a row has shown nothing but -inf, its maximum is -inf as well. What goes into the exponentials is "
        "then -inf - (-inf), which is NaN. One NaN in l stays there for good.",
        "While the maximum is -inf, subtract 0 instead, in both exponentials: shift = tl.where(m_new == "
        "-float('inf'), 0.0, m_new).",
        question="After a block of -inf, what are the old maximum and the new one? What could be subtracted from -inf "
        "instead, so that its exponential is 0, as it should be?",
        signs=(_online(guarded=False).at(Part.NORMALISER),),
    ),
)
