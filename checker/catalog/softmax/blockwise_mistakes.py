"""What kernels that walk a row in blocks would write, with a wrong idea of its maximum, its sum or its loops."""

from __future__ import annotations

import numpy as np

from checker.catalog.softmax.mistakes import exp32, shifted, total, y_is
from checker.catalog.softmax.reference import softmax
from checker.catalog.softmax.rows import block_size
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Part, Unwritten


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


def _past_first_block(case: Case) -> dict[str, Array]:
    values = case.tensors["y_ptr"].values
    return {"y_ptr": np.broadcast_to(np.arange(values.shape[1]) >= block_size(case), values.shape)}


# Wrong ideas about walking a row in blocks, for every softmax that subtracts the maximum.
BLOCKWISE = (
    Misconception(
        "first-block-only",
        "Only the first block of each row is written",
        "A row is longer than a block. Either there is no loop over the row around the store, or its addresses stay "
        "where they are when the loop goes on.",
        "Write in a loop, for start in range(0, n_cols, {block}), to {y_in_loop}.",
        signs=(Unwritten(_past_first_block),),
    ),
    Misconception(
        "max-by-lane",
        "Each lane has a maximum of its own",
        "The running maximum is a block: each lane keeps the largest x that it has seen itself. exp(x - m) of "
        "different lanes then cannot be added up, nor divided by one sum.",
        "Reduce the block to one number first: m = tl.maximum(m, tl.max(x, axis={axis})).",
        signs=(y_is(_by_lane).at(Part.MAXIMUM),),
    ),
    Misconception(
        "x-not-loaded-again",
        "The last pass uses the x of the last block for all blocks",
        "x is what was loaded last: the loop that writes has no load of its own, so each block of y is made of the "
        "last block of x.",
        "Load x in each loop that uses it.",
        signs=(y_is(lambda x, case: _last_loaded(x, case, in_sum=False)),),
    ),
    Misconception(
        "x-not-loaded-again",
        "Later passes use the x of the last block for all blocks",
        "x is what was loaded last: the loops that sum and write have no load of their own, so each block is taken for "
        "the last one.",
        "Load x in each loop that uses it.",
        signs=(y_is(lambda x, case: _last_loaded(x, case, in_sum=True)),),
    ),
    Misconception(
        "written-too-early",
        "Blocks are written before the sum is complete",
        "Each block was divided by the sum as it was after that block. It is complete only after the last one.",
        "Write in a pass of its own, after the one that computes the sum.",
        signs=(y_is(_divided_too_early),),
    ),
    Misconception(
        "minimum-for-maximum",
        "The smallest x of each block was taken for its maximum",
        "exp(x - m) is never above 1 if m is the maximum. Relative to something smaller it overflows, and inf / inf is "
        "NaN.",
        "Use tl.max.",
        signs=(y_is(_of_smallest).at(Part.MINIMUM, needed=True),),
    ),
    Misconception(
        "minimum-for-maximum",
        "The running maximum is a minimum",
        "It starts at -inf, and nothing is smaller, so it stays there: x - m is +inf, and inf / inf is NaN.",
        "Use tl.maximum and tl.max.",
        signs=(y_is(lambda x, _: np.full_like(x, np.nan)).at(Part.MINIMUM, needed=True),),
    ),
    Misconception(
        "block-local",
        "Each block has its own maximum and sum",
        "y holds the softmax of each block by itself. The maximum and the sum belong to the whole row: no block "
        "can be written before the last one has been seen.",
        "First go through all blocks for the maximum and the sum; then go through them again to write.",
        signs=(y_is(lambda x, case: np.concatenate([softmax(b) for b in blocks(x, case)], axis=1)),),
    ),
    Misconception(
        "no-max-subtraction",
        "The maximum is not subtracted",
        "exp(x) is infinite in fp32 from x = 88.8 on, and inf / inf is NaN; for very negative x all exponentials are "
        "0, and 0 / 0 is NaN as well.",
        "Subtract the row's maximum from x before the exponential, in the sum and in the result.",
        signs=(y_is(lambda x, _: exp32(x) / total(exp32(x))).at(Part.UNSHIFTED_EXPONENTIAL, needed=True),),
    ),
    Misconception(
        "max-forgotten-in-result",
        "The maximum is missing in the last pass",
        "The sum was taken of exp(x - m), but the result is exp(x) divided by it.",
        "Write exp(x - m) / l in the last pass too.",
        signs=(y_is(lambda x, _: exp32(x) / total(exp32(shifted(x)))),),
    ),
    Misconception(
        "max-forgotten-in-sum",
        "The maximum is missing in the sum",
        "The result is exp(x - m), but it is divided by the sum of exp(x).",
        "Sum exp(x - m).",
        signs=(y_is(lambda x, _: exp32(shifted(x)) / total(exp32(x))).at(Part.NORMALISER),),
    ),
    Misconception(
        "max-of-last-block",
        "The maximum is that of the last block only",
        "Each block's maximum replaces the one before it. Where an earlier block was much larger, exp(x - m) "
        "overflows: inf / inf is NaN.",
        "Keep the larger one: m = tl.maximum(m, tl.max(...)).",
        signs=(y_is(lambda x, case: with_max(x, top(blocks(x, case)[-1]))).at(Part.MAXIMUM),),
    ),
    Misconception(
        "first-block-again",
        "Every iteration of the loop loads the first block",
        "The loop goes on, but the addresses do not: columns past the first block are never read.",
        "Add the block's beginning to the addresses: {x_in_loop}.",
        signs=(y_is(lambda x, case: softmax(x[:, np.arange(x.shape[1]) % block_size(case)])).at(Part.LOAD),),
    ),
    Misconception(
        "max-starts-at-zero",
        "The running maximum starts at 0, or at another number that a row can stay below",
        "Of a row that is negative throughout, the maximum comes out too high. For very negative rows all "
        "exponentials are then 0, and 0 / 0 is NaN.",
        "Start at minus infinity, -float('inf').",
        signs=(y_is(lambda x, _: with_max(x, np.maximum(top(x), 0.0))).at(Part.START_ABOVE, needed=True),),
    ),
    Misconception(
        "max-starts-too-high",
        "The running maximum starts at a number that rows can be below",
        "With a start of -1000, rows that are below -1000 throughout get only zeros, and 0 / 0 is NaN.",
        "Start at minus infinity, -float('inf').",
        signs=(y_is(lambda x, _: with_max(x, np.maximum(top(x), -1000.0))).at(Part.START_ABOVE, needed=True),),
    ),
    Misconception(
        "padding-in-max",
        "The padding takes part in the maximum",
        "The lanes past the end of the row were loaded as 0, so the maximum of a negative row is 0. For very "
        "negative rows all exponentials are then 0, and 0 / 0 is NaN.",
        "Load the padding so that it never is the maximum: other=-float('inf').",
        signs=(y_is(lambda x, case: with_max(x, _padded_top(x, case))).at(Part.PADDING, needed=True),),
    ),
    Misconception(
        "sums-padded-lanes",
        "The padding is counted in the sum",
        "The lanes past the end of the row were loaded as 0, and each of them adds exp(0 - m) to the denominator.",
        "Load the padding as minus infinity, whose exponential is 0: other=-float('inf').",
        signs=(y_is(lambda x, case: _padded_sum(x, case, top(x))).at(Part.LOAD),),
    ),
    Misconception(
        "sums-padded-lanes",
        "The padding is counted in the maximum and in the sum",
        "The lanes past the end of the row were loaded as 0: the maximum is at least 0, and each of them adds "
        "exp(0 - m) to the denominator.",
        "Load the padding as minus infinity, whose exponential is 0: other=-float('inf').",
        signs=(y_is(lambda x, case: _padded_sum(x, case, _padded_top(x, case))).at(Part.LOAD),),
    ),
    Misconception(
        "sum-of-last-block",
        "The sum is that of the last block only",
        "The denominator holds the last block's sum alone: each block's replaces the one before it, or the line that "
        "adds stands after the loop instead of in it.",
        "Inside the loop: l = l + tl.sum(...).",
        signs=(
            y_is(lambda x, case: exp32(shifted(x)) / total(exp32(blocks(x, case)[-1] - top(x)))).at(Part.NORMALISER),
        ),
    ),
    Misconception(
        "sum-not-kept",
        "The normaliser is still 0 in the last pass",
        "y is exp(x - m) / 0: infinite, or NaN where the exponential is 0 as well. If you do compute a new sum for "
        "each block, it never becomes l.",
        "Inside the loop, assign the new sum to l.",
        signs=(y_is(lambda x, _: exp32(shifted(x)) / 0.0).at(Part.NORMALISER),),
    ),
    Misconception(
        "tail-not-summed",
        "The tail is missing in the sum",
        "The denominator adds up whole blocks only; the columns past the last whole block are not counted.",
        "Let the loop run to n_cols, range(0, n_cols, {block}), and mask the last block.",
        signs=(y_is(_without_tail),),
    ),
)
