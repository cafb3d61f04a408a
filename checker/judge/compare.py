"""Outputs against the reference: which elements are wrong, and whether a prediction explains them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from checker.puzzle import Array, Expected


def wrong_elements(actual: Array, expected: Expected) -> npt.NDArray[np.bool_]:
    """Elements further from the reference than its tolerance; a NaN is always wrong."""
    values = actual.astype(np.float64)
    with np.errstate(invalid="ignore"):
        close = np.abs(values - expected.values) <= expected.tolerance
    return ~(close | (values == expected.values))  # equal infinities have no difference


def explains(prediction: Array, actual: Array) -> bool:
    """Whether a misconception's outputs are those of the kernel, NaN for NaN.

    Looser than the reference's tolerance, because the order of operations inside a wrong kernel is
    not known; what matters is that no two misconceptions lie this close to each other.
    """
    out = np.finfo(actual.dtype)
    rounded = prediction.astype(actual.dtype)
    loose = 4 * float(out.eps) if out.bits < 32 else 2e-4
    return bool(
        np.allclose(
            actual.astype(np.float64),
            rounded.astype(np.float64),
            rtol=loose,
            atol=float(out.smallest_subnormal) if out.bits < 32 else 1e-30,
            equal_nan=True,
        )
    )
