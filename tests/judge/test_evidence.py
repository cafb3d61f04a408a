"""Launches are shared out between two processes so that both take about as long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from checker.judge.evidence import half_of


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=40))
def test_no_half_is_longer_than_the_other_by_more_than_one_launch(steps: list[float]) -> None:
    second = half_of(dict(enumerate(steps)))
    assert second < set(range(len(steps)))
    taken = sum(steps[n] for n in second)
    assert abs(sum(steps) - 2 * taken) <= max(steps) * (1 + 1e-9)
