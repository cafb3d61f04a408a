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
    """exp(x) as fp32 has it, infinite from 88.7 on; in float64."""
    return np.exp(x).astype(np.float32).astype(np.float64)


def total(x: Array) -> Array:
    """Sum over a row, kept as a column."""
    return np.asarray(x.sum(axis=-1, keepdims=True))


def shifted(x: Array) -> Array:
    """x minus its row's maximum."""
    return np.asarray(x - x.max(axis=-1, keepdims=True))


def _half(x: Array) -> Array:
    """Rounded to fp16, infinite beyond 65504; in float64."""
    return x.astype(np.float16).astype(np.float64)


# Wrong ideas that any kernel for a row-wise softmax can have.
RESULTS = (
    Misconception(
        "no-division",
        "The exponentials are divided by the largest of them, not by their sum",
        "The largest element of each row of y is exactly 1, and rows do not sum to 1: the row 1 3 2 5 gives .018 .135 "
        ".050 1, which sums to 1.203.",
        "Divide by the sum of the exponentials: tl.sum in the place of tl.max.",
        question="To what does each row of a softmax sum? By which number does your kernel divide the exponentials of "
        "the row 1 3 2 5, and by which one must it?",
        signs=(y_is(lambda x, _: np.exp(shifted(x))).at(Part.MAX_OF_EXPONENTIALS, needed=True),),
    ),
    Misconception(
        "no-division",
        "The exponentials were stored without dividing by their sum",
        "y holds exp(x - max(x)). The largest element of each row is exactly 1, and rows do not sum to 1: the row 1 3 "
        "2 5 gives .018 .135 .050 1, which sums to 1.203.",
        "The denominator is the sum of the exponentials over the whole row: divide by it before you store.",
        question="To what does each row of a softmax sum? Your kernel makes .018 .135 .050 1 of the row 1 3 2 5: what "
        "must be done with these four numbers?",
        signs=(y_is(lambda x, _: np.exp(shifted(x))),),
    ),
    Misconception(
        "base-two",
        "2**x was used where e**x is asked for",
        "y is made of powers of 2. Of the row 0 1 that gives .333 .667 instead of .269 .731: the larger element gets "
        "too little.",
        "Use tl.exp, or multiply x by log2(e) = 1.4426950408889634 before tl.exp2.",
        question="In the softmax of the row 0 1, the second element is 2.718 times the first. How many times is it in "
        "your y, and which function makes it so?",
        signs=(y_is(lambda x, _: np.exp2(shifted(x)) / total(np.exp2(shifted(x)))),),
    ),
    Misconception(
        "exponential-twice",
        "The exponential is taken twice",
        "y is made of exponentials of exponentials: the exponential of 1 is 2.718, and the exponential of that is "
        "15.154. From x = 4.5 on it is infinite in fp32.",
        "Divide the exponentials themselves by their sum.",
        question="Follow the element 1 through your kernel. How often does it go through an exponential before it is "
        "stored?",
        signs=tuple(
            y_is(formula)
            for formula in (
                lambda x, _: exp32(exp32(x)) / total(exp32(x)),
                lambda x, _: exp32(exp32(x)) / total(exp32(exp32(x))),
                lambda x, _: exp32(exp32(shifted(x))) / total(exp32(shifted(x))),
                lambda x, _: exp32(exp32(shifted(x))) / total(exp32(exp32(shifted(x)))),
            )
        ),
    ),
    Misconception(
        "sigmoid",
        "y is the sigmoid of each element",
        "y holds e / (1 + e), element by element, where e is the exponential. That is a sigmoid, which knows nothing "
        "of the other elements. Of the row 0 0 0 it gives .5 .5 .5, which sums to 1.5.",
        "The denominator is the sum of the exponentials of the whole row, and the same for all of its elements.",
        question="To what does the row 0 0 0 sum in your y? Which exponentials are in the denominator of its first "
        "element?",
        signs=(
            y_is(lambda x, _: exp32(x) / (1.0 + exp32(x))),
            y_is(lambda x, _: exp32(shifted(x)) / (1.0 + exp32(shifted(x)))),
        ),
    ),
    Misconception(
        "sum-for-its-logarithm",
        "The sum is subtracted in the exponent, not its logarithm",
        "y is exp(x - m - l), which is exp(x - m) divided by exp(l). Of the row 0 0, with the sum 2, that gives .135 "
        ".135 instead of .5 .5.",
        "Divide by the sum, or subtract its logarithm in the exponent: l and tl.log(l) are not the same.",
        question="exp(a - b) is exp(a) divided by something. What is it divided by in your kernel, if the sum is 2?",
        signs=(y_is(lambda x, _: exp32(shifted(x) - total(exp32(shifted(x))))),),
    ),
    Misconception(
        "log-softmax",
        "y is the logarithm of the softmax",
        "y holds x - max(x) - log(sum(exp(x - max(x)))). Of the row 0 0 that is -.693 twice, the logarithm of .5. A "
        "softmax lies between 0 and 1.",
        "Divide the exponentials by their sum; no logarithm is needed.",
        question="Can an element of a softmax be negative? The softmax of the row 0 0 is .5 .5: which step of your "
        "kernel makes -.693 of that?",
        signs=(y_is(lambda x, _: shifted(x) - np.log(total(np.exp(shifted(x))))),),
    ),
    Misconception(
        "no-exponential",
        "The numerator lacks the exponential",
        "y is x divided by the sum of the exponentials. Of the row 0 1 that gives 0 .269 instead of .269 .731: the "
        "sum is right, and what is divided by it is not.",
        "Divide the exponentials that you have summed, not x.",
        question="The exponentials of the row 0 1 sum to 3.718. Which two numbers does your kernel divide by that, "
        "and which two add up to it?",
        signs=(y_is(lambda x, _: x / total(np.exp(x))),),
    ),
    Misconception(
        "no-exponential",
        "The numerator lacks the exponential",
        "y is (x - max(x)) divided by the sum of the exponentials. Of the row 0 1 that gives -.731 0 instead of .269 "
        ".731, so nothing in y is positive.",
        "Divide the exponentials, as you have summed them.",
        question="The exponents of the row 0 1 are -1 and 0, and the exponentials sum to 1.368. Which two numbers "
        "does your kernel divide by that, and which two add up to it?",
        signs=(y_is(lambda x, _: shifted(x) / total(np.exp(shifted(x)))),),
    ),
    Misconception(
        "no-exponential",
        "y is x minus its maximum: there is neither an exponential nor a division",
        "Of the row 0 1, y holds -1 0. The softmax is .269 .731: positive numbers that sum to 1.",
        "Take the exponential and divide by the sum before you store.",
        question="Which two steps lead from -1 0 to .269 .731, and which of them does your kernel take?",
        signs=(y_is(lambda x, _: shifted(x)),),
    ),
    Misconception(
        "input-stored",
        "y is x itself",
        "What was loaded is stored again as it is: of the row 0 1, y holds 0 1 instead of .269 .731. Nothing that you "
        "computed reaches the store.",
        "Store the exponentials, divided by their sum over the row.",
        question="Which value does your store write, and on which line did it last change?",
        signs=(y_is(lambda x, _: x),),
    ),
    Misconception(
        "multiplied-by-the-sum",
        "The exponentials are multiplied by their sum",
        "The normaliser makes each row sum to 1, so it divides. Multiplied by it, the row 0 0, with exponentials 1 1 "
        "and the sum 2, gives 2 2 instead of .5 .5.",
        "Divide the exponentials by their sum: / instead of *.",
        question="The exponentials of a row are 1 1, and their sum is 2. What must be done with the 2, so that two "
        "numbers come out that sum to 1?",
        signs=(y_is(lambda x, _: exp32(shifted(x)) * total(exp32(shifted(x)))),),
    ),
    Misconception(
        "mean-for-sum",
        "The exponentials are divided by their mean",
        "Each row of y sums to n_cols, not to 1: somewhere the sum was divided by the number of columns. The row 0 0 "
        "then gives 1 1 instead of .5 .5.",
        "The denominator is the sum of the exponentials itself, not divided by n_cols.",
        question="A row of 10 columns sums to 10 in your y. Which division in your kernel makes the denominator ten "
        "times too small?",
        signs=(y_is(lambda x, _: exp32(shifted(x)) / exp32(shifted(x)).mean(axis=-1, keepdims=True)),),
    ),
    Misconception(
        "mean-for-sum",
        "The result is divided by the number of columns as well",
        "Each row of y sums to 1 / n_cols, not to 1: besides the sum, something divides by the number of columns. The "
        "row 0 0 then gives .25 .25 instead of .5 .5.",
        "The sum of the exponentials is the whole denominator: leave n_cols out of it.",
        question="A row of 10 columns sums to .1 in your y. Which division in your kernel makes it ten times too "
        "small?",
        signs=(y_is(lambda x, _: exp32(shifted(x)) / total(exp32(shifted(x))) / x.shape[1]),),
    ),
    Misconception(
        "exponentials-in-half",
        "The exponentials are rounded to fp16 before they are divided",
        "fp16 has 11 binary digits, so each element of y is off by up to 0.049 %. Exponentials above 65504 are "
        "infinite, and very small ones are 0.",
        "Compute in fp32 up to the store, which converts to the type of y by itself.",
        question="Which type do your exponentials have when they are divided, and which line gives it to them?",
        signs=(
            y_is(lambda x, _: _half(exp32(x)) / total(exp32(x))),
            y_is(lambda x, _: _half(exp32(shifted(x))) / total(exp32(shifted(x)))),
        ),
    ),
    Misconception(
        "sign-reversed",
        "The exponent has the wrong sign",
        "y holds exp(max(x) - x) over the sum: the smallest element of a row comes out largest. Of the row 0 1 that "
        "gives 1.99 .731 instead of .269 .731.",
        "The exponent grows with x: it is x - max(x), never above 0.",
        question="In the row 0 1, the maximum is 1. Is your exponent of the first element -1 or 1, and which "
        "exponential is below 1?",
        signs=(y_is(lambda x, _: exp32(-shifted(x)) / total(exp32(shifted(x)))),),
    ),
    Misconception(
        "sign-reversed",
        "The exponents have the wrong sign",
        "y is the softmax of -x: the smallest element of a row comes out largest. Of the row 0 1 that gives .731 .269 "
        "instead of .269 .731.",
        "The exponent grows with x: it is x, or x - max(x), never max(x) - x or -x.",
        question="The softmax of the row 0 1 is .269 .731. Which element of x has the larger exponent in your kernel, "
        "0 or 1?",
        signs=(y_is(lambda x, _: exp32(-shifted(x)) / total(exp32(-shifted(x)))),),
    ),
    Misconception(
        "base-two",
        "The numerator is a power of 2, the sum is of powers of e",
        "tl.exp2 and tl.exp do not go together. Of the row 0 1, powers of 2 over a sum of powers of e give .365 .731, "
        "which does not sum to 1.",
        "Use tl.exp in both places.",
        question="Of which number are your numerators powers, and of which are the terms of your sum? To what does a "
        "row of your y add up?",
        signs=(y_is(lambda x, _: np.exp2(shifted(x)) / total(np.exp(shifted(x)))),),
    ),
    Misconception(
        "base-two",
        "The numerator is a power of e, the sum is of powers of 2",
        "tl.exp2 and tl.exp do not go together. Of the row 0 1, powers of e over a sum of powers of 2 give .245 .667, "
        "which does not sum to 1.",
        "Use tl.exp in both places.",
        question="Of which number are your numerators powers, and of which are the terms of your sum? To what does a "
        "row of your y add up?",
        signs=(y_is(lambda x, _: np.exp(shifted(x)) / total(np.exp2(shifted(x)))).at(Part.NORMALISER),),
    ),
    Misconception(
        "branches-swapped",
        "tl.where keeps the padding and throws the row away",
        "tl.where(condition, a, b) is a where the condition holds, and b elsewhere. Here the lanes of the row get "
        "what is meant for the padding: their exponentials add up to 0, and 0 / 0 is NaN.",
        "Exchange the last two arguments of tl.where.",
        question="A row of 3 lies in a block of 4. In which lanes is your condition true, and what do these lanes get?",
        signs=(y_is(lambda x, _: np.full_like(x, np.nan)).at(Part.SWAPPED_BRANCHES, needed=True),),
    ),
    Misconception(
        "wrong-row-map",
        "Every program works on the same row",
        "All rows of y hold the softmax of row 0 of x, so every program loads the same row, whatever its number.",
        "tl.program_id(0) says which rows a program owns: use it in the load as well, {x}.",
        question="Rows of x are 16 elements apart. At which element does your load begin in program 0, and at which "
        "in program 3?",
        signs=(y_is(lambda x, _: np.broadcast_to(softmax(x[:1]), x.shape)),),
    ),
)
