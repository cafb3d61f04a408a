"""Mistakes of a softmax whose row is one block, and that subtracts no maximum."""

from __future__ import annotations

import numpy as np

from checker.catalog.softmax import rows
from checker.catalog.softmax.mistakes import y_is
from checker.catalog.softmax.reference import softmax
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Part


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


WHOLE_ROW = (
    Misconception(
        "sums-padded-lanes",
        "The padding is counted in the sum",
        "BLOCK_SIZE is the next power of two, so the last BLOCK_SIZE - n_cols lanes hold no element of "
        "the row. Loaded as 0 they have the exponential 1, and each of them adds 1 to the denominator.",
        "Give the padded lanes a value whose exponential is 0: tl.load(..., mask=mask, other=-float('inf')).",
        signs=(y_is(_over_padding).at(Part.LOAD),),
    ),
    Misconception(
        "infinite-padding",
        "The padding makes the sum infinite",
        "Wherever there is padding, all of y is 0, so the denominator is infinite. Padding that was loaded as +inf "
        "does that to a sum of exponentials; padding that is -inf does it to a sum of x.",
        "The padding's exponential must be 0, so its x is minus infinity: other=-float('inf').",
        signs=(y_is(lambda x, case: np.zeros_like(x) if _padding(case) else softmax(x)).at(Part.LOAD),),
    ),
    Misconception(
        "no-division",
        "The exponentials were stored without dividing",
        "y holds exp(x) itself. A softmax divides by the sum of the row's exponentials.",
        "Compute tl.sum of the exponentials over the row and divide by it before you store.",
        signs=(y_is(lambda x, _: np.exp(x)),),
    ),
    Misconception(
        "divides-by-max",
        "Divided by the maximum instead of the sum",
        "y = exp(x) / max(x). The denominator of a softmax is the sum of the exponentials of the row.",
        "Replace the maximum by tl.sum over the exponentials.",
        signs=(y_is(lambda x, _: np.exp(x) / x.max(axis=1, keepdims=True)),),
    ),
    Misconception(
        "no-exponential",
        "Normalised x itself, without the exponential",
        "y = x / sum(x). A softmax normalises exp(x), which is positive whatever the sign of x.",
        "Take tl.exp of what you loaded before you sum it.",
        signs=(y_is(lambda x, _: x / x.sum(axis=1, keepdims=True)),),
    ),
    Misconception(
        "sum-of-x",
        "Divided by the sum of x instead of the sum of exp(x)",
        "The numerator is right, but the denominator adds up the inputs, not their exponentials.",
        "Sum the numerator: tl.sum(numerator, axis=0).",
        signs=(y_is(lambda x, _: np.exp(x) / x.sum(axis=1, keepdims=True)),),
    ),
    Misconception(
        "half-sum",
        "The exponentials are added up in fp16",
        "fp16 ends at 65504, which exp passes at x = 11.1: the sum becomes infinite and y 0 or NaN.",
        "Convert right after the load, x.to(tl.float32), and do everything up to the store in fp32.",
        signs=(y_is(_half_sum),),
    ),
)
