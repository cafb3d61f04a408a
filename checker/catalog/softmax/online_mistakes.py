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
    guard: Callable[[Array, bool], Array] = lambda m, _: np.where(np.isinf(m), 0.0, m),
    own: bool = False,
    own_factor: bool = False,
    both: bool = False,
) -> Writes:
    """The two-pass softmax with a factor `rescale(m_old, m_new)` for the old normaliser.

    `guard(m, first)`: what is subtracted, of the maximum so far; whether this is the first block. `own`: each block's
    exponentials are taken relative to the block's own maximum; `own_factor`: and the old normaliser is. `both`: the
    factor is for the new part as well.
    """

    def formula(x: Array, case: Case) -> Array:
        m, l = np.full((len(x), 1), -np.inf), np.zeros((len(x), 1))
        for number, block in enumerate(blocks(x, case)):
            m_new = np.maximum(m, top(block))
            shift = guard(m_new, number == 0)
            new = total(exp32(block - (top(block) if own else shift)))
            factor = rescale(m, guard(top(block), number == 0) if own_factor else shift)
            l = (l + new) * factor if both else l * factor + new
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
    Misconception(
        "denominator-not-rescaled",
        "The old normaliser is not rescaled when the maximum grows",
        "l adds up exponentials that were taken relative to different maxima. Of the row 1 3 | 2 5, block 1 3 leaves "
        "1.135, relative to 3, and block 2 5 adds 1.050, relative to 5. Added as they are they make 2.185, and l "
        "should be 1.203. Either nothing multiplies the old l, or m is overwritten before the factor is computed. "
        "The factor is then exp(0), which is 1.",
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
        "written-too-early",
        "What pass 1 writes to y is relative to the maximum so far, and stays so",
        "Pass 1 stores exponentials to y, and pass 2 only divides them. Those of early blocks are relative to an older "
        "maximum than l is: of the row 1 3 | 2 5, in blocks of two, block 1 3 was written relative to 3, so it comes "
        "out 7.39 times too large.",
        "Pass 2 loads x again and computes tl.exp(x - m) / l with the final m. y is only written, and only there.",
        question="The row is 1 3 | 2 5, in blocks of two. Relative to which maximum are the exponentials of the first "
        "block when they are stored, and relative to which is l at the end?",
        signs=(y_is(_first_pass_kept),),
    ),
    Misconception(
        "factor-overflows",
        "The factor is a ratio of two exponentials, which overflow",
        "On paper exp(m) / exp(m_new) is exp(m - m_new). In fp32 an exponential is infinite from 88.7 on, and 0 far "
        "below 0: for the maxima 500 and 501 that is inf / inf, and for -500 and -499 it is 0 / 0. Both are NaN.",
        "Subtract first, and take one exponential: tl.exp(m - m_new), or of what you subtract while m_new is -inf.",
        question="The maximum grows from 500 to 501. What are the two exponentials in your factor, and what should the "
        "factor be?",
        signs=(
            _online(lambda m, m_new: exp32(m) / exp32(m_new)).at(Part.RATIO_OF_EXPONENTIALS, needed=True),
            _online(lambda m, m_new: exp32(m) * exp32(-m_new)).at(Part.RATIO_OF_EXPONENTIALS, needed=True),
        ),
    ),
    Misconception(
        "rescaled-to-the-blocks-maximum",
        "The old normaliser is rescaled to the block's maximum, not to the new one",
        "If the block's maximum is lower than the one so far, the factor is above 1 where it should be 1. In the row 5 "
        "4 | 1 3, block 5 4 leaves 1.368, relative to 5, and the factor for block 1 3 is exp(5 - 3), which is 7.39.",
        "The factor is tl.exp(m - m_new), where m_new is the larger one of m and the block's maximum.",
        question="The maximum is 5 when block 1 3 comes in. What is the maximum afterwards, and to which number does "
        "your factor rescale the old l?",
        signs=(_online(own_factor=True).at(Part.NORMALISER),),
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
        "guard-in-the-maximum",
        "The guard also holds for rows that are far below 0",
        "What is subtracted never falls below a number that the guard names, -10,000 for instance, but m does. Of the "
        "row -20000 -20001 both exponentials are then 0 in fp32, so l is 0, and the last pass divides by it.",
        "Only -inf needs a guard: shift = tl.where(m_new == -float('inf'), 0.0, m_new).",
        question="A row is -20,000 throughout. What are m_new and what you subtract, and to what do the exponentials "
        "sum?",
        signs=tuple(
            _online(guard=lambda m, _, least=least: np.maximum(m, least)).at(Part.NORMALISER)  # type: ignore[misc]
            for least in (-1e4, -1e3, -65504.0, -100.0, 0.0)
        ),
    ),
    Misconception(
        "minus-infinity-prefix",
        "The guard against -inf minus -inf holds for the first block only",
        "A row can begin with several blocks of -inf. In the second of them the maximum is still -inf, and what goes "
        "into the exponentials is -inf - (-inf), which is NaN. One NaN in l stays there for good.",
        "Guard every iteration: shift = tl.where(m_new == -float('inf'), 0.0, m_new).",
        question="A row begins with two blocks of -inf. What is the maximum after each of them, and what does your "
        "kernel subtract in the second?",
        signs=(_online(guard=lambda m, first: np.where(np.isinf(m) & first, 0.0, m)).at(Part.NORMALISER),),
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
        signs=(_online(guard=lambda m, _: m).at(Part.UNGUARDED_EXPONENTIAL),),
    ),
)
