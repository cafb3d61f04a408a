"""The points that a classic mistake costs, and traffic, which counts once the results are right."""

from __future__ import annotations

import pytest

from checker.check import Conditions
from tests.conftest import check_kernel
from tests.kernels import named


@pytest.mark.parametrize(
    ("name", "lost"),
    {
        "p1_padding_loaded_as_zero": {"any-length", "traffic"},
        "p3_y_with_x_stride": {"strides", "far-rows"},
        "a1_accumulator_in_half": {"half"},
        "a3_keys_past_the_end": {"any-length", "traffic"},
        "p5_dense_heads": {"heads", "far-offsets", "traffic"},
        "p6_causal_ignored": {"causal", "hidden-queries", "traffic"},
        "p6_keys_behind_the_end": {"any-length", "traffic"},
        "p6_k_scaled_in_half": {"half"},
        "b1_causal_ignored": {"causal", "hidden-queries", "traffic"},
    }.items(),
)
def test_a_mistake_costs_what_it_breaks(name: str, lost: set[str]) -> None:
    verdict = check_kernel(named(name), Conditions())
    assert {p.name for p in verdict.properties if not p.passed} == lost


def test_who_is_wrong_everywhere_gets_little() -> None:
    """Launches of a single tile know nothing of rescaling."""
    assert check_kernel(named("p6_accumulator_not_rescaled"), Conditions()).earned <= 15
