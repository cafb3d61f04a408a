"""The bound of a softmax admits what a GPU's order of additions makes of a right kernel, and little more."""

from __future__ import annotations

import numpy as np
import pytest

from checker import catalog
from checker.catalog.numbers import THREADS
from checker.catalog.softmax.launch import launch
from checker.catalog.softmax.reference import expected
from checker.course.case import for_gpu


def as_threads_add(terms: np.ndarray, block: int) -> np.float32:
    """The sum of a block: each thread its own lanes one after the other, then threads in pairs. In fp32."""
    lanes = np.zeros(block, np.float32)
    lanes[: terms.size] = terms
    sums = np.zeros(THREADS, np.float32)
    for part in lanes.reshape(-1, THREADS):
        sums += part
    while sums.size > 1:
        sums = sums[::2] + sums[1::2]
    return sums[0]


@pytest.mark.parametrize("value", [0.1, 0.7, 1.9, -3.3])
@pytest.mark.parametrize("n", [1000, 4097, 30_000, 63_251])
def test_rows_of_equal_numbers_are_in_the_bound_however_long(n: int, value: float) -> None:
    """All terms are alike, so all roundings of a sum go the same way."""
    [kernel] = catalog.load("p1").kernels
    block = 1 << (n - 1).bit_length()
    x = np.full((1, n), value, np.float32)
    case = for_gpu(launch(kernel, "alike", "any-length", x, {"BLOCK_SIZE": block}))
    terms = np.exp(x[0])
    y = terms / as_threads_add(terms, block)
    right = expected(case)["y_ptr"]
    assert (np.abs(y - right.values) <= right.tolerance).all()
    assert (np.abs(y * (1 + 2e-4) - right.values) > right.tolerance).all()
