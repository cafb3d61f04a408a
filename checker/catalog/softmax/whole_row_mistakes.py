"""Mistakes of a softmax whose row is one block, and that subtracts no maximum."""

from __future__ import annotations

import numpy as np

from checker.catalog.softmax import rows
from checker.catalog.softmax.mistakes import y_is
from checker.catalog.softmax.reference import softmax
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Part, Writes


def _padding(case: Case) -> int:
    return rows.block_size(case) - rows.columns(case)


def _over_padding(x: Array, case: Case) -> Array:
    """Softmax of the row continued with zeros to the end of the block."""
    padded = np.pad(x, ((0, 0), (0, _padding(case))))
    return softmax(padded)[:, : x.shape[1]]


def _half_sum(x: Array, case: Case) -> Array:
    if case.tensors["x_ptr"].values.dtype != np.float16:
        return softmax(x)
    e = np.exp(x).astype(np.float16)
    return np.asarray(e / e.sum(axis=1, keepdims=True, dtype=np.float16))


def _with_epsilon(epsilon: float) -> Writes:
    return y_is(lambda x, _: np.exp(x) / (np.exp(x).sum(axis=1, keepdims=True) + epsilon))


WHOLE_ROW = (
    Misconception(
        "sums-padded-lanes",
        "tl.where makes 0 of the padding before the exponential is taken",
        "The exponential of 0 is 1, so each of the last BLOCK_SIZE - n_cols lanes adds 1 to the denominator: 25.5 "
        "instead of 24.5 for the lesson's row .5 3 1. Whatever the load put into these lanes, this line replaces it.",
        "Put in minus infinity, whose exponential is 0, or apply the tl.where to the exponential instead of x.",
        question="The row .5 3 1 lies in a block of 4. What does the fourth lane hold before this line, after it, and "
        "after the exponential?",
        signs=(y_is(_over_padding).at(Part.ZEROED_PADDING, needed=True),),
    ),
    Misconception(
        "sums-padded-lanes",
        "The padding is counted in the sum",
        "BLOCK_SIZE is the next power of two, so the last BLOCK_SIZE - n_cols lanes hold no element of the row. "
        "Loaded as 0, they have the exponential 1, and each of them adds 1 to the denominator: 25.5 instead of 24.5 "
        "for the lesson's row .5 3 1.",
        "Give the padded lanes a value whose exponential is 0: tl.load(..., mask=mask, other=-float('inf')).",
        question="The row .5 3 1 lies in a block of 4, whose lanes have four exponentials. What does the fourth add "
        "to your sum, and which x would add nothing?",
        signs=(y_is(_over_padding).at(Part.LOAD),),
    ),
    Misconception(
        "sums-padded-lanes",
        "The padding is taken out of the sum again, with the wrong number",
        "Loaded as 0, each of the BLOCK_SIZE - n_cols lanes past the end of the row adds 1 to the sum. What is "
        "subtracted here is n_cols: of the lesson's row .5 3 1, in a block of 4, that is 3 instead of 1.",
        "Give the padded lanes a value whose exponential is 0, other=-float('inf'), and subtract nothing.",
        question="A row of 3 lies in a block of 4. How many lanes hold padding, and how much does your kernel subtract "
        "for them?",
        signs=(y_is(lambda x, case: np.exp(x) / (np.exp(x).sum(axis=1, keepdims=True) + _padding(case) - x.shape[1])),),
    ),
    Misconception(
        "epsilon-in-the-sum",
        "Something small is added to the sum",
        "It is not small where the sum is. The exponentials of the row -20 -20 sum to 4.1e-9, and with 1e-6 more y is "
        ".002 .002 instead of .5 .5.",
        "Divide by the sum alone. An exponential is positive, so no sum of them needs help against a division by 0.",
        question="To what do the exponentials of the row -20 -20 sum, and how large is what you add to that?",
        signs=tuple(_with_epsilon(10.0**-digits) for digits in range(3, 17)),
    ),
    Misconception(
        "infinite-padding",
        "The padding makes the sum infinite",
        "Wherever there is padding, all of y is 0: it was divided by infinity. Either the padding is +inf and you add "
        "up exponentials, or it is -inf and you add up x itself.",
        "Load with other=-float('inf'), and sum the exponentials: those of the padding are then 0.",
        question="For a row of 3 in a block of 4, what do the four lanes hold that you sum? Which of them makes the "
        "sum infinite?",
        signs=(y_is(lambda x, case: np.zeros_like(x) if _padding(case) else softmax(x)).at(Part.LOAD),),
    ),
    Misconception(
        "no-division",
        "The exponentials were stored without dividing",
        "y holds exp(x) itself: of the row 0 1 that is 1 2.718, which sums to 3.718. The rows of a softmax sum to 1.",
        "Divide by the sum of the row's exponentials before you store: tl.sum(..., axis=0).",
        question="To what does each row of a softmax sum? Your kernel makes 1 2.718 of the row 0 1: what must be done "
        "with these two numbers?",
        signs=(y_is(lambda x, _: np.exp(x)),),
    ),
    Misconception(
        "divides-by-max",
        "Divided by the maximum instead of the sum",
        "y is exp(x) / max(x). Of the row 1 3 that gives .91 6.70 instead of .119 .881, and a row whose maximum is 0 "
        "or negative gets infinite or negative values.",
        "Replace the maximum by tl.sum(..., axis=0) over the exponentials.",
        question="The exponentials of the row 1 3 are 2.72 and 20.09. By which number must both be divided, so that "
        "they sum to 1?",
        signs=(y_is(lambda x, _: np.exp(x) / x.max(axis=1, keepdims=True)),),
    ),
    Misconception(
        "no-exponential",
        "Normalised x itself, without the exponential",
        "y is x / sum(x): of the row 1 3 that gives .25 .75 instead of .119 .881. A softmax normalises exp(x), which "
        "is positive whatever the sign of x.",
        "Take tl.exp of what you loaded, and sum that.",
        question="What does your kernel make of the row -1 1, and what does a softmax make of it?",
        signs=(y_is(lambda x, _: x / x.sum(axis=1, keepdims=True)),),
    ),
    Misconception(
        "sum-of-x",
        "Divided by the sum of x instead of the sum of exp(x)",
        "The numerator is right, but the denominator adds up the inputs, not their exponentials. Of the row 1 3 it is "
        "4 instead of 22.80, and y sums to 5.70.",
        "Sum the exponentials that you divide: tl.sum(..., axis=0) of tl.exp(x).",
        question="The row 1 3 has the exponentials 2.72 and 20.09. What is their sum, and what is your denominator?",
        signs=(y_is(lambda x, _: np.exp(x) / x.sum(axis=1, keepdims=True)),),
    ),
    Misconception(
        "half-sum",
        "The exponentials are added up in fp16",
        "fp16 ends at 65504, which exp passes at x = 11.1. From there on the sum is infinite, and y is 0, or NaN "
        "where the exponential is infinite as well.",
        "Convert right after the load, x.to(tl.float32), and do everything up to the store in fp32.",
        question="e to the power of 12 is 162,755. Where does fp16 end, and which type do your exponentials have when "
        "they are summed?",
        signs=(y_is(_half_sum),),
    ),
)
