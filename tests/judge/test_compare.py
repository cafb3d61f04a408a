"""Outputs against the reference, and against what an idea gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.course.case import Array
from checker.course.puzzle import Expected
from checker.judge.compare import agrees, explains, gets_it_right, wrong_elements

RIGHT = Expected(np.array([[1.0, 2.0, 4.0]]), np.full((1, 3), 1e-6))


def of(*values: float) -> Array:
    return np.array([values], np.float32)


@given(st.floats(width=32))
def test_only_what_is_near_is_right_and_nan_never(value: float) -> None:
    one = Expected(np.array([[value]]), np.array([[1e-3]]))
    assert wrong_elements(of(value), one).item() is bool(np.isnan(value))
    assert wrong_elements(of(np.nan), one).item()


def test_predicted_infinity_explains_only_infinity() -> None:
    infinite = of(np.inf, np.inf, np.inf).astype(np.float64)
    assert not agrees(infinite, of(0.5, 7.0, -3.0), RIGHT).any()
    assert agrees(infinite, of(np.inf, -np.inf, np.nan), RIGHT).tolist() == [[True, False, False]]


def test_a_prediction_lies_nearer_than_the_right_value() -> None:
    """Outputs that are off by a little are not explained by an idea that is off by as little somewhere else."""
    seen = of(1.0001, 2.0002, 4.0004)
    assert explains(seen.astype(np.float64), seen, RIGHT)
    assert not explains(np.array([[0.9999, 2.0, 4.0004]]), seen, RIGHT)


def test_of_a_vector_per_head_a_tenth_may_differ() -> None:
    right = Expected(np.ones((1, 32)), np.full((1, 32), 1e-6))
    seen = np.full((1, 32), 2.0, np.float32)
    idea = np.full((1, 32), 2.0)
    idea[0, 5] = 3.0
    assert explains(idea, seen, right, rows=False)
    assert not explains(idea, seen, right, rows=True)


@pytest.mark.parametrize(("size", "explained"), [(1e6, True), (1e2, False)])
def test_the_tolerance_grows_with_a_row_that_has(size: float, explained: bool) -> None:
    """Its small elements are differences of large numbers, which another order of operations rounds in another way."""
    seen, idea = of(size, -size, 0.2), np.array([[size, -size, 0.1]])
    assert explains(idea, seen, RIGHT) is explained
    assert not explains(idea, seen, RIGHT, rows=False)  # as l, each element of which is a row's
    nothing = Expected(np.zeros((1, 3)), np.zeros((1, 3)))
    assert explains(np.array([[1.0, -1.0, 0.0]]), of(1.0, -1.0, 1e-4), nothing)
    assert not explains(np.array([[1.0, -1.0, 0.0]]), of(1.0, -1.0, 1e-3), nothing)


@pytest.mark.parametrize(("rows", "passes"), [(1, True), (2, False)])
def test_a_prediction_passes_for_right_if_nearly_all_rows_do(rows: int, passes: bool) -> None:
    right = Expected(np.ones((10, 3)), np.full((10, 3), 1e-6))
    predicted = np.ones((10, 3))
    predicted[:rows, 1] = 5.0
    assert gets_it_right(predicted, np.dtype(np.float32), right) is passes
