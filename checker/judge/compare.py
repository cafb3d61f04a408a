"""Outputs against the reference: which elements are wrong, and whether a prediction explains them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from checker.course.case import Array
from checker.course.puzzle import Expected

MOSTLY = 0.9  # share of the rows that a misconception must explain


def wrong_elements(actual: Array, expected: Expected) -> npt.NDArray[np.bool_]:
    """Elements further from the reference than its tolerance; a NaN is always wrong."""
    values = actual.astype(np.float64)
    with np.errstate(invalid="ignore"):
        close = np.abs(values - expected.values) <= expected.tolerance
    return np.asarray(~(close | (values == expected.values)))  # equal infinities have no difference


def agrees(prediction: Array, actual: Array, expected: Expected, rows: bool = False) -> npt.NDArray[np.bool_]:
    """Return the elements in which a misconception's outputs equal the kernel's, NaN for NaN.

    Looser than the reference's tolerance, because the order of operations inside a wrong kernel is not known. But
    never so loose that the right value would do as well: a prediction must lie nearer to what was seen than that does.
    If they stand in `rows`, the reference's tolerance grows with a row that has.
    """
    out = np.finfo(actual.dtype)
    loose = 4 * float(out.eps) if out.bits < 32 else 2e-4
    seen = actual.astype(np.float64)
    with np.errstate(all="ignore"):
        believed = prediction.astype(actual.dtype).astype(np.float64)
        tolerance = expected.tolerance
        if rows:
            largest, right = (np.abs(x).max(axis=-1, keepdims=True) for x in (believed, expected.values))
            grown = np.fmin(tolerance * largest / right, loose * largest)  # fmin passes over the NaN of 0 / 0
            tolerance = np.where(np.isfinite(largest), np.fmax(tolerance, grown), tolerance)
        same = np.isfinite(believed) & (np.abs(seen - believed) <= loose * np.abs(believed) + tolerance)
        same &= np.abs(seen - believed) <= np.abs(believed - expected.values) / 2 + tolerance
    return np.asarray(same | (seen == believed) | (np.isnan(seen) & np.isnan(believed)))


def explains(prediction: Array, actual: Array, expected: Expected, rows: bool = True) -> bool:
    """Return whether a misconception's outputs are those of the kernel in nearly all rows; without `rows`, in nearly
    all of its elements, each of which is a row's, as those of l and LSE are.

    A tenth of them may differ (a denominator near 0, say), among those that went wrong and among the others. What
    matters is that no two misconceptions lie this close to each other.
    """
    same, right = agrees(prediction, actual, expected, rows), ~wrong_elements(actual, expected)
    same, stayed_right = (_all_along_rows(x) if rows else x for x in (same, right))
    return all(bool(same[part].mean() >= MOSTLY) for part in (~stayed_right, stayed_right) if part.any())


def gets_it_right(prediction: Array, dtype: np.dtype[Any], expected: Expected) -> bool:
    """Return whether a misconception's outputs pass for right in a case, in nearly all rows."""
    with np.errstate(all="ignore"):
        wrong = wrong_elements(prediction.astype(dtype), expected)
    return bool(_all_along_rows(~wrong).mean() >= MOSTLY)


def _all_along_rows(mask: Array) -> npt.NDArray[np.bool_]:
    """Return whether a mask holds in every element of a row, for all rows; a vector's elements are its rows."""
    return np.asarray(mask.reshape(-1, mask.shape[-1]).all(axis=-1) if mask.ndim > 1 else mask)
