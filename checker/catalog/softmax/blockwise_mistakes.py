"""What kernels that walk a row in blocks would write, with a wrong idea of its maximum, its sum or its loops."""

from __future__ import annotations

import numpy as np

from checker.catalog.softmax.mistakes import exp32, shifted, total, y_is
from checker.catalog.softmax.reference import softmax
from checker.catalog.softmax.rows import block_size
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Part, Unwritten, Writes


def blocks(x: Array, case: Case) -> list[Array]:
    """The row's blocks of columns, the last one as short as it is."""
    return [x[:, at : at + block_size(case)] for at in range(0, x.shape[1], block_size(case))]


def _padding(x: Array, case: Case) -> int:
    return int(-x.shape[1] % block_size(case))


def with_max(x: Array, m: Array) -> Array:
    """The softmax with another maximum."""
    e = exp32(x - m)
    return np.asarray(e / total(e))


def _padded_sum(x: Array, case: Case, m: Array) -> Array:
    padding = _padding(x, case) * exp32(-m) if _padding(x, case) else 0.0
    return np.asarray(exp32(x - m) / (total(exp32(x - m)) + padding))


def top(x: Array) -> Array:
    """Each row's maximum, kept as a column."""
    return np.asarray(x.max(axis=-1, keepdims=True))


def _padded_top(x: Array, case: Case) -> Array:
    """Each row's maximum with the padding, which is 0."""
    return np.maximum(top(x), 0.0) if _padding(x, case) else top(x)


def filled(x: Array, case: Case) -> Array:
    """The row in blocks, shape (rows, blocks, block size), filled up with -inf."""
    padded = np.pad(x, ((0, 0), (0, _padding(x, case))), constant_values=-np.inf)
    return padded.reshape(len(x), -1, block_size(case))


def _by_lane(x: Array, case: Case) -> Array:
    """The softmax with a maximum of each lane, over all blocks, instead of one of the row."""
    lanes = filled(x, case)
    e = exp32(lanes - lanes.max(axis=1, keepdims=True))
    made = e / e.sum(axis=(1, 2), keepdims=True)
    return np.asarray(made.reshape(len(x), -1)[:, : x.shape[1]])


def _last_loaded(x: Array, case: Case, in_sum: bool) -> Array:
    """Each block as the softmax of the last one's x; `in_sum`: it was summed in place of each of them, too."""
    lanes = filled(x, case)
    e = exp32(lanes[:, -1:] - lanes.max(axis=(1, 2), keepdims=True))
    l = e.sum(axis=(1, 2)) * lanes.shape[1] if in_sum else total(exp32(shifted(x)))[:, 0]
    made = np.repeat(e, lanes.shape[1], axis=1) / l[:, None, None]
    return np.asarray(made.reshape(len(x), -1)[:, : x.shape[1]])


def _divided_too_early(x: Array, case: Case) -> Array:
    """Each block divided by the sum of the blocks up to it."""
    lanes = filled(x, case)
    e = exp32(lanes - lanes.max(axis=(1, 2), keepdims=True))
    made = e / np.cumsum(e.sum(axis=2), axis=1)[:, :, None]
    return np.asarray(made.reshape(len(x), -1)[:, : x.shape[1]])


def _of_smallest(x: Array, case: Case) -> Array:
    """The softmax with the largest of the blocks' minima instead of the maximum."""
    return with_max(x, filled(x, case).min(axis=2).max(axis=1)[:, None])


def _without_tail(x: Array, case: Case) -> Array:
    """The softmax with the sum of whole blocks alone."""
    e = exp32(shifted(x))
    return np.asarray(e / total(e[:, : x.shape[1] - x.shape[1] % block_size(case)]))


def _padded_with(number: float) -> Writes:
    """The softmax of the row filled up to whole blocks with a number."""

    def formula(x: Array, case: Case) -> Array:
        m = np.maximum(top(x), number) if _padding(x, case) else top(x)
        return np.asarray(exp32(x - m) / (total(exp32(x - m)) + _padding(x, case) * exp32(number - m)))

    return y_is(formula)


def _sum_of_own(x: Array, case: Case) -> Array:
    """Divided by the sum of exponentials that are relative to each block's own maximum."""
    return np.asarray(exp32(shifted(x)) / sum(total(exp32(shifted(block))) for block in blocks(x, case)))


def _result_of_own(x: Array, case: Case) -> Array:
    """Each block's exponentials relative to its own maximum, divided by the row's sum."""
    own = np.concatenate([exp32(shifted(block)) for block in blocks(x, case)], axis=1)
    return np.asarray(own / total(exp32(shifted(x))))


def _of_lse(x: Array, case: Case) -> Array:
    """Exponentials relative to log(sum(exp(x))), one number in fp32."""
    lse = (top(x) + np.log(total(exp32(shifted(x))))).astype(np.float32)
    return exp32(x - lse)


def _tail(case: Case) -> dict[str, Array]:
    values = case.tensors["y_ptr"].values
    whole = values.shape[1] // block_size(case) * block_size(case)
    return {"y_ptr": np.broadcast_to(np.arange(values.shape[1]) >= whole, values.shape)}


def _past_first_block(case: Case) -> dict[str, Array]:
    values = case.tensors["y_ptr"].values
    return {"y_ptr": np.broadcast_to(np.arange(values.shape[1]) >= block_size(case), values.shape)}


# Wrong ideas about walking a row in blocks, for every softmax that subtracts the maximum.
BLOCKWISE = (
    Misconception(
        "first-block-only",
        "Blocks lie too far apart: only the first one is in the row",
        "The loop counts columns: with {block} = 4, start is 0, 4 and 8. Multiplied by {block} once more it is 0, 16 "
        "and 32, and a row of 10 columns has ended before the second block begins.",
        "start is the block's first column already: {x_in_loop}, and the same in the mask and in the store.",
        question="A row has 10 columns in blocks of 4. Which values does start take in your loop, and at which columns "
        "do the blocks that you address begin?",
        signs=(Unwritten(_past_first_block, line=Part.START_TIMES_STEP),),
    ),
    Misconception(
        "first-block-only",
        "The loop ends at {block}, not at the end of the row",
        "range takes a begin, an end and a step. A loop that ends at {block} sees the columns of the first block "
        "alone, and the rest of the row is not written.",
        "The row ends at n_cols, and the step is a block: for start in range(0, n_cols, {block}).",
        question="A row has 10 columns in blocks of 4. Which values must start take, and which does your range give?",
        signs=(Unwritten(_past_first_block, line=Part.RANGE_TO_BLOCK),),
    ),
    Misconception(
        "tail-left-out",
        "The last columns are left out: those that do not fill a block",
        "n_cols need not be a multiple of {block}. Of a row of 10 columns in blocks of 4, columns 8 and 9 are not "
        "written. A row that is shorter than a block is not written at all.",
        "Let the loop run to n_cols, range(0, n_cols, {block}), and let the mask switch off the lanes past the end. A "
        "number of blocks is rounded up: tl.cdiv(n_cols, {block}).",
        question="A row has 10 columns in blocks of 4. How many iterations does your last loop have, and which of them "
        "writes column 9?",
        signs=(Unwritten(_tail),),
    ),
    Misconception(
        "first-block-only",
        "Only the first block of each row is written",
        "A row is longer than a block, and nothing past its first block is written. Either there is no loop over the "
        "row around the store, or its addresses stay where they are while the loop continues.",
        "Write in a loop, for start in range(0, n_cols, {block}), to {y_in_loop}.",
        question="A row has 10 columns in blocks of 4. How many blocks must be stored, and at which column does each "
        "of your stores begin?",
        signs=(Unwritten(_past_first_block),),
    ),
    Misconception(
        "max-by-lane",
        "Each lane has a maximum of its own",
        "The running maximum is a block: each lane keeps the largest x that it has seen itself. Of the row 1 3 | 2 5, "
        "in blocks of two, that leaves 2 and 5. Exponentials relative to 2 and to 5 cannot be added up, nor divided "
        "by one sum.",
        "Reduce the block along the row first: m = tl.maximum(m, tl.max(x, axis={axis})).",
        question="Print m after the first loop. How many maxima does one row have, and how many does m hold for it?",
        signs=(y_is(_by_lane).at(Part.MAXIMUM),),
    ),
    Misconception(
        "x-not-loaded-again",
        "The last pass uses the x of the last block for all blocks",
        "x is what was loaded last. The loop that writes has no load of its own, so each block of y is made of the "
        "last block of x: of the row 1 3 | 2 5, both blocks are made of 2 5.",
        "Load x in each loop that uses it, from {x_in_loop}.",
        question="The row is 1 3 | 2 5, in blocks of two. When your last loop writes the first block of y, which "
        "block does x hold?",
        signs=(y_is(lambda x, case: _last_loaded(x, case, in_sum=False)),),
    ),
    Misconception(
        "x-not-loaded-again",
        "Later passes use the x of the last block for all blocks",
        "x is what was loaded last. The loops that sum and write have no load of their own, so each block is taken "
        "for the last one: the row 1 3 | 2 5 is taken for 2 5 | 2 5.",
        "Load x in each loop that uses it, from {x_in_loop}.",
        question="The row is 1 3 | 2 5, in blocks of two. When your second loop begins, which block does x hold, and "
        "which line changes that?",
        signs=(y_is(lambda x, case: _last_loaded(x, case, in_sum=True)),),
    ),
    Misconception(
        "written-too-early",
        "Blocks are written before the sum is complete",
        "Each block was divided by the sum as it was after that block, and it is complete only after the last one. Of "
        "the row 1 3 | 2 5, the first block is divided by 0.154, and the sum is 1.203.",
        "Write in a loop of its own, after the one that computes the sum.",
        question="The row is 1 3 | 2 5, in blocks of two. When your kernel stores the first block, which elements are "
        "in the sum that it divides by?",
        signs=(y_is(_divided_too_early),),
    ),
    Misconception(
        "own-maximum-in-sum",
        "The sum is taken relative to each block's own maximum",
        "Exponentials that are relative to different maxima cannot be added up. Of the row 1 3 | 2 5, in blocks of "
        "two, block 1 3 adds 1.135, relative to 3, and block 2 5 adds 1.050, relative to 5. That makes 2.185, and the "
        "sum relative to 5 is 1.203.",
        "Subtract the row's maximum in every block: tl.exp(x - m).",
        question="The row is 1 3 | 2 5, in blocks of two. Which number does your sum subtract in the first block, and "
        "which one in the second?",
        signs=(y_is(_sum_of_own).at(Part.NORMALISER),),
    ),
    Misconception(
        "own-maximum-in-result",
        "The last pass subtracts each block's own maximum",
        "The sum is relative to m, the maximum of the whole row. Of the row 1 3 | 2 5, in blocks of two, the first "
        "block subtracts 3 where 5 belongs, so its elements come out 7.39 times too large.",
        "Subtract the row's maximum in the last pass, too: tl.exp(x - m) / l.",
        question="The row is 1 3 | 2 5, in blocks of two, and the sum was taken relative to 5. Which number does your "
        "last pass subtract in the first block?",
        signs=(y_is(_result_of_own),),
    ),
    Misconception(
        "not-the-maximum",
        "What is subtracted is the largest |x|, not the largest x",
        "In a row of negative numbers the largest absolute value belongs to the smallest element. Of the row -200 "
        "-201, 201 is subtracted: both exponentials are 0 in fp32, and 0 / 0 is NaN.",
        "Take the maximum of x itself, with its sign: m = tl.maximum(m, tl.max(x, axis={axis})).",
        question="What does your kernel subtract from the row -200 -201, and which of the two numbers is the larger "
        "one?",
        signs=(
            y_is(lambda x, _: with_max(x, top(np.abs(x)))).at(Part.MAXIMUM),
            y_is(lambda x, case: with_max(x, top(np.abs(x)) + (np.inf if _padding(x, case) else 0.0))).at(Part.MAXIMUM),
        ),
    ),
    Misconception(
        "not-the-maximum",
        "What is subtracted is the mean of the row, not its maximum",
        "An element can lie far above the mean. Of the row 0 0 0 400 the mean is 100, exp(400 - 100) is infinite in "
        "fp32, and inf / inf is NaN. Relative to the maximum no exponential is above 1.",
        "Keep the maximum of each block: m = tl.maximum(m, tl.max(x, axis={axis})).",
        question="What does your kernel subtract from the row 0 0 0 400, and which exponent is then the largest?",
        signs=(y_is(lambda x, _: with_max(x, x.mean(axis=-1, keepdims=True))),),
    ),
    Misconception(
        "not-the-maximum",
        "What is subtracted is the first element of the row, not its maximum",
        "An element can lie far above the first one. Of the row 0 400, 0 is subtracted, exp(400) is infinite in fp32, "
        "and inf / inf is NaN.",
        "Keep the maximum of each block: m = tl.maximum(m, tl.max(x, axis={axis})).",
        question="What does your kernel subtract from the row 0 400, and which exponent is then the largest?",
        signs=(y_is(lambda x, _: with_max(x, x[:, :1])),),
    ),
    Misconception(
        "minimum-for-maximum",
        "The smallest x of each block was taken for its maximum",
        "exp(x - m) is never above 1 if m is the maximum. Relative to something smaller it can overflow: with m = 0, "
        "an x of 100 gives infinity in fp32, and inf / inf is NaN.",
        "Use tl.max for the block: m = tl.maximum(m, tl.max(x, axis={axis})).",
        question="The blocks of a row are 1 3 and 2 5. What does your kernel keep of each of them, 1 and 2 or 3 and 5?",
        signs=(y_is(_of_smallest).at(Part.MINIMUM, needed=True),),
    ),
    Misconception(
        "minimum-for-maximum",
        "The running maximum is a minimum",
        "The running maximum starts at -inf, and nothing is smaller, so it stays there: x - m is +inf, and inf / inf "
        "is NaN.",
        "Use tl.maximum and tl.max: m = tl.maximum(m, tl.max(x, axis={axis})).",
        question="m starts at -inf, and the first block has the maximum 3. Which of the two does your kernel keep?",
        signs=(y_is(lambda x, _: np.full_like(x, np.nan)).at(Part.MINIMUM, needed=True),),
    ),
    Misconception(
        "block-local",
        "Each block has its own maximum and sum",
        "y holds the softmax of each block by itself: of the row 1 3 | 2 5, in blocks of two, .119 .881 | .047 .953, "
        "which sums to 2. The maximum and the sum belong to the whole row.",
        "First go through all blocks for the maximum and the sum; then go through them again to write, in a loop of "
        "its own.",
        question="To what does the row 1 3 | 2 5 sum in your y? When your kernel stores the first block, has it seen "
        "the 5?",
        signs=(y_is(lambda x, case: np.concatenate([softmax(b) for b in blocks(x, case)], axis=1)),),
    ),
    Misconception(
        "no-max-subtraction",
        "The maximum is not subtracted",
        "exp(x) is infinite in fp32 from 88.7 on, and inf / inf is NaN. Far below 0 all exponentials are 0, and 0 / 0 "
        "is NaN as well.",
        "Subtract the row's maximum from x before the exponential, in the sum and in the result: tl.exp(x - m).",
        question="The rows 100 101 and 0 1 have the same softmax. What was subtracted, and which number could you "
        "subtract from any row, so that no exponent is above 0?",
        signs=(y_is(lambda x, _: exp32(x) / total(exp32(x))).at(Part.UNSHIFTED_EXPONENTIAL, needed=True),),
    ),
    Misconception(
        "max-forgotten-in-result",
        "The maximum is missing in the last pass",
        "The sum was taken of exp(x - m), but what the last pass divides by it is exp(x). Of the row 1 3 2 5, whose "
        "maximum is 5, y comes out 148 times too large, and from 88.7 on exp(x) is infinite.",
        "Write tl.exp(x - m) / l in the last pass, too.",
        question="In the row 1 3 2 5, the element 5 adds exactly 1 to your sum. What does your last pass divide for "
        "this element, and in what do the two exponents differ?",
        signs=(y_is(lambda x, _: exp32(x) / total(exp32(shifted(x)))),),
    ),
    Misconception(
        "max-forgotten-in-sum",
        "The maximum is missing in the sum",
        "The result is exp(x - m), but it is divided by the sum of exp(x). Of the row 1 3 2 5, whose maximum is 5, y "
        "comes out 148 times too small.",
        "Sum what you divide later: tl.exp(x - m).",
        question="In the row 1 3 2 5, the element 5 has the numerator 1. How much does this element add to your sum, "
        "and how much should it add?",
        signs=(y_is(lambda x, _: exp32(shifted(x)) / total(exp32(x))).at(Part.NORMALISER),),
    ),
    Misconception(
        "lse-as-the-state",
        "Maximum and sum are kept in one number, which has too few digits for both",
        "On paper exp(x - LSE) with LSE = m + log(l) is the softmax. But near 100,000 the numbers of fp32 lie 0.0078 "
        "apart. So LSE has log(l) to the nearest multiple of that, and every element of y is off by up to 0.4 %.",
        "Keep m and l apart: tl.exp(x - m) / l. A logarithm has to wait until the maximum is gone: tl.exp((x - m) - "
        "tl.log(l)).",
        question="Two elements of a row are 100,000, so m is 100,000 and log(l) is 0.6931. Which of the two numbers "
        "100,000.6875 and 100,000.6953 is nearer to their sum, and what is lost?",
        signs=(y_is(_of_lse),),
    ),
    Misconception(
        "max-of-last-block",
        "The maximum is that of the last block only",
        "Each block's maximum replaces the one before it. If the maxima of two blocks are 300 and 5, m ends at 5, and "
        "exp(300 - 5) overflows: inf / inf is NaN.",
        "Keep the larger one: m = tl.maximum(m, tl.max(x, axis={axis})).",
        question="Three blocks have the maxima 3, 5 and 4. What is m after each of them in your kernel, and what "
        "should it be at the end?",
        signs=(y_is(lambda x, case: with_max(x, top(blocks(x, case)[-1]))).at(Part.MAXIMUM),),
    ),
    Misconception(
        "first-block-again",
        "Every iteration of the loop loads the first block",
        "The loop continues, but the addresses of the load stay where they are, so columns past the first block are "
        "never read: the row 1 3 | 2 5 is taken for 1 3 | 1 3.",
        "Add the block's beginning to the addresses: {x_in_loop}.",
        question="A row has 10 columns in blocks of 4. Which columns must the second iteration load, and which part "
        "of your address changes from one iteration to the next?",
        signs=(y_is(lambda x, case: softmax(x[:, np.arange(x.shape[1]) % block_size(case)])).at(Part.LOAD),),
    ),
    Misconception(
        "max-starts-at-zero",
        "The running maximum starts at 0, or at another number that a row can stay below",
        "A row that stays below the start gets a maximum that is too high. With a start of 0, the row -200 -201 gets "
        "0: both exponentials are then 0 in fp32, and 0 / 0 is NaN.",
        "Start at minus infinity, -float('inf').",
        question="What is m after the row -200 -201 in your kernel, and what should it be? With which start would the "
        "first element always win?",
        signs=(y_is(lambda x, _: with_max(x, np.maximum(top(x), 0.0))).at(Part.START_ABOVE, needed=True),),
    ),
    Misconception(
        "max-starts-too-high",
        "The running maximum starts at a number that rows can be below",
        "With a start of -1000, a row that is far below -1000 throughout gets a maximum that is too high. All of its "
        "exponentials are then 0, and 0 / 0 is NaN.",
        "Start at minus infinity, -float('inf').",
        question="x may be as low as -100,000. What is m after a row that is -100,000 throughout, and which start "
        "would no row stay below?",
        signs=(y_is(lambda x, _: with_max(x, np.maximum(top(x), -1000.0))).at(Part.START_ABOVE, needed=True),),
    ),
    Misconception(
        "padding-in-max",
        "The padding takes part in the maximum",
        "The lanes past the end of the row were loaded as 0, and take part in the maximum: of the row -200 -201 -202, "
        "in a block of 4, it is 0. All exponentials are then 0 in fp32, and 0 / 0 is NaN.",
        "Load the padding so that it never is the maximum: other=-float('inf').",
        question="The row -200 -201 -202 lies in a block of 4. What does the fourth lane hold, and which of the four "
        "is the largest?",
        signs=(y_is(lambda x, case: with_max(x, _padded_top(x, case))).at(Part.PADDING, needed=True),),
    ),
    Misconception(
        "padding-in-max",
        "The padding is a number that a row can stay below",
        "The lanes past the end of the row hold a large negative number in place of minus infinity, -10,000 for "
        "instance. Of the row -20000 -20001 -20002, in a block of 4, that is the maximum: all exponentials are 0 in "
        "fp32, and y is 0 where .665 .245 .090 belongs.",
        "Load the padding as minus infinity, which no element is below: other=-float('inf').",
        question="x may be as low as -100,000. Which number do your padded lanes hold, and what is the maximum of a "
        "row that is -100,000 throughout?",
        signs=tuple(_padded_with(number).at(Part.PADDING) for number in (-1e4, -1e3, -1e5, -65504.0, -100.0)),
    ),
    Misconception(
        "sums-padded-lanes",
        "tl.where makes 0 of the padding before the exponential is taken",
        "The exponential of 0 - m is not 0, so each lane past the end of the row adds to the denominator. The row 1 3 "
        "2, in a block of 4, has the sum 1.553 instead of 1.503. Whatever the load put into these lanes, this line "
        "replaces it.",
        "Put in minus infinity, whose exponential is 0, or apply the tl.where to the exponential instead of x.",
        question="The row 1 3 2 has the maximum 3, and lies in a block of 4. What does the fourth lane hold before "
        "this line, after it, and after the exponential?",
        signs=(
            y_is(lambda x, case: _padded_sum(x, case, top(x))).at(Part.ZEROED_PADDING, needed=True),
            y_is(lambda x, case: _padded_sum(x, case, _padded_top(x, case))).at(Part.ZEROED_PADDING, needed=True),
        ),
    ),
    Misconception(
        "sums-padded-lanes",
        "The padding is counted in the sum",
        "The lanes past the end of the row were loaded as 0, and each of them adds exp(0 - m) to the denominator. The "
        "row 1 3 2, in a block of 4, has the sum 1.553 instead of 1.503.",
        "Load the padding as minus infinity, whose exponential is 0: other=-float('inf').",
        question="The row 1 3 2 has the maximum 3, and lies in a block of 4. What does the fourth lane add to your "
        "sum, and which x would add nothing?",
        signs=(y_is(lambda x, case: _padded_sum(x, case, top(x))).at(Part.LOAD),),
    ),
    Misconception(
        "sums-padded-lanes",
        "The padding is counted in the maximum and in the sum",
        "The lanes past the end of the row were loaded as 0: the maximum is at least 0, and each of them adds exp(0 - "
        "m) to the denominator. Of the row -1 -2 -3, in a block of 4, the maximum is 0, and the fourth lane adds 1.",
        "Load the padding as minus infinity, whose exponential is 0: other=-float('inf').",
        question="The row -1 -2 -3 lies in a block of 4. What does the fourth lane do to the maximum and to the sum? "
        "Which x would do nothing to either?",
        signs=(y_is(lambda x, case: _padded_sum(x, case, _padded_top(x, case))).at(Part.LOAD),),
    ),
    Misconception(
        "sum-of-last-block",
        "The sum begins again in each iteration",
        "The line that sets the sum to 0 stands inside the loop, so each block forgets the blocks before it, and the "
        "denominator is the last block's sum alone. Of the row 1 3 | 2 5 it is 1.050 instead of 1.203.",
        "Set it once, before the loop. Inside, only add.",
        question="The row is 1 3 | 2 5, in blocks of two. Print l at the beginning and at the end of each iteration: "
        "what becomes of the first block's sum?",
        signs=(
            y_is(lambda x, case: exp32(shifted(x)) / total(exp32(blocks(x, case)[-1] - top(x)))).at(
                Part.SUM_STARTED_IN_LOOP, needed=True
            ),
        ),
    ),
    Misconception(
        "sum-of-last-block",
        "The sum is that of the last block only",
        "The denominator holds the last block's sum alone: each block's replaces the one before it, or the line that "
        "adds stands after the loop instead of in it. Of the row 1 3 | 2 5 it is 1.050 instead of 1.203.",
        "Add inside the loop, to what l holds already: l = l + tl.sum(...).",
        question="The row is 1 3 | 2 5, in blocks of two. After the second iteration, which elements are in l, and "
        "what became of those of the first?",
        signs=(
            y_is(lambda x, case: exp32(shifted(x)) / total(exp32(blocks(x, case)[-1] - top(x)))).at(Part.NORMALISER),
        ),
    ),
    Misconception(
        "sum-not-kept",
        "The normaliser is still 0 in the last pass",
        "y is exp(x - m) / 0: infinite, or NaN where the exponential is 0 as well. l still holds its start, 0, when "
        "the last pass divides by it. Perhaps your loop computes a sum for each block that never becomes l.",
        "Inside the loop, the line that computes the new sum assigns it to l: l = ... + tl.sum(...).",
        question="Print l before the last pass. Which line was meant to change it, and which name gets that line's "
        "result?",
        signs=(y_is(lambda x, _: exp32(shifted(x)) / 0.0).at(Part.NORMALISER),),
    ),
    Misconception(
        "tail-not-summed",
        "The tail is missing in the sum",
        "The denominator adds up whole blocks only. Of a row of 10 columns in blocks of 4, columns 8 and 9 are not "
        "counted.",
        "Let the loop run to n_cols, range(0, n_cols, {block}), and mask the last block.",
        question="A row has 10 columns in blocks of 4. At which columns do the iterations of the loop that sums "
        "begin, and which of them sees column 9?",
        signs=(y_is(_without_tail),),
    ),
)
