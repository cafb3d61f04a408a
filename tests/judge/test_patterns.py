"""Patterns of wrong values: a type that they were rounded to, or the sizes at which they come."""

from __future__ import annotations

import numpy as np
import pytest

from checker.course.case import Case
from checker.course.puzzle import Expected
from checker.judge.locate import common_sizes, rounded_to


@pytest.mark.parametrize(("dtype", "name"), [(np.float16, "fp16"), (np.float32, None)])
def test_rounding_of_the_output_is_recognised(dtype: type, name: str | None) -> None:
    values = np.random.default_rng(0).normal(0.0, 1.0, (4, 32))
    right = Expected(values, np.abs(values) * 1e-6)
    assert rounded_to(values.astype(dtype).astype(np.float32), right) == name
    assert rounded_to((1.01 * values).astype(np.float16).astype(np.float32), right) is None


def launch(n: int, block: int = 16) -> Case:
    return Case(f"{n}", "kernel", (), (1,), {}, {"n_cols": n}, {"BLOCK_SIZE": block})


def test_sizes_that_came_out_wrong_are_compared_with_the_others() -> None:
    sentence = common_sizes([launch(17), launch(33)], [launch(16), launch(32), launch(31)])
    assert sentence.startswith("The 2 launches that came out wrong have n_cols % BLOCK_SIZE == 1;")
    assert common_sizes([launch(17), launch(20)], [launch(33), launch(36)]) == ""
