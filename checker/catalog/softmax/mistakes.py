"""What kernels with a wrong idea of the softmax would write: shared by all puzzles about it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from checker.catalog.softmax.reference import row_input, softmax
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Part, Writes


def y_is(formula: Callable[[Array, Case], Array]) -> Writes:
    """The kernel writes `formula(x, case)` to y; x in float64."""
    return Writes(lambda case: {"y_ptr": formula(row_input(case), case)})


def exp32(x: Array) -> Array:
    """exp(x) as fp32 has it, infinite from 88.8 on; in float64."""
    return np.exp(x).astype(np.float32).astype(np.float64)


def total(x: Array) -> Array:
    """Sum over a row, kept as a column."""
    return np.asarray(x.sum(axis=-1, keepdims=True))


def shifted(x: Array) -> Array:
    """x minus its row's maximum."""
    return np.asarray(x - x.max(axis=-1, keepdims=True))


# Wrong ideas that any kernel for a row-wise softmax can have.
RESULTS = (
    Misconception(
        "no-division",
        "The exponentials were stored without dividing by their sum",
        "y holds exp(x - max(x)): the largest element of each row is exactly 1, and rows do not sum to 1.",
        "The denominator is the sum of the exponentials over the whole row.",
        signs=(y_is(lambda x, _: np.exp(shifted(x))),),
    ),
    Misconception(
        "base-two",
        "2**x was used where e**x is asked for",
        "tl.exp2 is a power of two. exp(x) = exp2(x * log2(e)) with log2(e) = 1.4426950408889634.",
        "Use tl.exp, or multiply x by log2(e) before tl.exp2.",
        signs=(y_is(lambda x, _: np.exp2(shifted(x)) / total(np.exp2(shifted(x)))),),
    ),
    Misconception(
        "log-softmax",
        "This is the logarithm of the softmax",
        "y holds x - max(x) - log(sum(exp(x - max(x)))), which is the log-softmax.",
        "Divide the exponentials by their sum; no logarithm is needed.",
        signs=(y_is(lambda x, _: shifted(x) - np.log(total(np.exp(shifted(x))))),),
    ),
    Misconception(
        "no-exponential",
        "The numerator lacks the exponential",
        "y is x divided by the sum of the exponentials. A softmax divides exp(x) by it.",
        "Divide the exponentials that you have summed, not x.",
        signs=(y_is(lambda x, _: x / total(np.exp(x))),),
    ),
    Misconception(
        "no-exponential",
        "The numerator lacks the exponential",
        "y is (x - max(x)) divided by the sum of the exponentials. A softmax divides exp(x - max(x)) by it.",
        "Divide the exponentials, as you have summed them.",
        signs=(y_is(lambda x, _: shifted(x) / total(np.exp(shifted(x)))),),
    ),
    Misconception(
        "no-exponential",
        "y is x less its maximum: there is neither an exponential nor a division",
        "A softmax is exp(x - max(x)), divided by the sum of these over the row.",
        "Take the exponential and divide by the sum before you store.",
        signs=(y_is(lambda x, _: shifted(x)),),
    ),
    Misconception(
        "input-stored",
        "y is x itself",
        "What was loaded is stored again as it is.",
        "Store the exponentials, divided by their sum.",
        signs=(y_is(lambda x, _: x),),
    ),
    Misconception(
        "multiplied-by-the-sum",
        "The exponentials are multiplied by their sum",
        "The normaliser makes each row sum to 1: it divides.",
        "Write / instead of *.",
        signs=(y_is(lambda x, _: exp32(shifted(x)) * total(exp32(shifted(x)))),),
    ),
    Misconception(
        "mean-for-sum",
        "The exponentials are divided by their mean",
        "Each row of y sums to n_cols, not to 1: somewhere the sum was divided by the number of columns.",
        "The denominator is the sum itself.",
        signs=(y_is(lambda x, _: exp32(shifted(x)) / exp32(shifted(x)).mean(axis=-1, keepdims=True)),),
    ),
    Misconception(
        "sign-reversed",
        "The exponent has the wrong sign",
        "y holds exp(max(x) - x) over the sum: the smallest element of a row comes out largest.",
        "The exponent is x - max(x), never above 0.",
        signs=(y_is(lambda x, _: exp32(-shifted(x)) / total(exp32(shifted(x)))),),
    ),
    Misconception(
        "sign-reversed",
        "The exponents have the wrong sign",
        "y is the softmax of -x: the smallest element of a row comes out largest.",
        "The exponent is x - max(x), never above 0.",
        signs=(y_is(lambda x, _: exp32(-shifted(x)) / total(exp32(-shifted(x)))),),
    ),
    Misconception(
        "base-two",
        "The numerator is a power of 2, the sum is of powers of e",
        "tl.exp2 and tl.exp do not go together: exp(x) = exp2(x * log2(e)) with log2(e) = 1.4426950408889634.",
        "Use tl.exp in both places.",
        signs=(y_is(lambda x, _: np.exp2(shifted(x)) / total(np.exp(shifted(x)))),),
    ),
    Misconception(
        "base-two",
        "The numerator is a power of e, the sum is of powers of 2",
        "tl.exp2 and tl.exp do not go together: exp(x) = exp2(x * log2(e)) with log2(e) = 1.4426950408889634.",
        "Use tl.exp in both places.",
        signs=(y_is(lambda x, _: np.exp(shifted(x)) / total(np.exp2(shifted(x)))).at(Part.NORMALISER),),
    ),
    Misconception(
        "branches-swapped",
        "tl.where keeps the padding and throws the row away",
        "tl.where(condition, a, b) is a where the condition holds. Here the lanes of the row get what is meant for the "
        "padding: their exponentials add up to 0, and 0 / 0 is NaN.",
        "Exchange the last two arguments.",
        signs=(y_is(lambda x, _: np.full_like(x, np.nan)).at(Part.SWAPPED_BRANCHES, needed=True),),
    ),
    Misconception(
        "wrong-row-map",
        "Every program works on the same row",
        "All rows of y hold the softmax of row 0 of x.",
        "tl.program_id(0) says which rows a program owns: use it in the load as well.",
        signs=(y_is(lambda x, _: np.broadcast_to(softmax(x[:1]), x.shape)),),
    ),
)
