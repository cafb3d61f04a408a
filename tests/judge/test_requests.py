"""Limits on a launch's traffic and work, and how two processes share the launches."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker import catalog
from checker.course import ladder
from checker.course.puzzle import Budget
from checker.judge.requests import A_FEW, A_LITTLE, A_STEP, MANY_TIMES, half_of, launch_of, steps_of, tiles_of
from checker.sandbox.protocol.records import OPERATION
from tests.judge.made import case, puzzle


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=40))
def test_no_half_is_longer_than_the_other_by_more_than_one_launch(steps: list[float]) -> None:
    second = half_of(dict(enumerate(steps)))
    assert second < set(range(len(steps)))
    taken = sum(steps[n] for n in second)
    assert abs(sum(steps) - 2 * taken) <= max(steps) * (1 + 1e-9)


BUDGET = {"x_ptr": Budget(loads=A_FEW), "y_ptr": Budget(stores=A_FEW)}
LARGE = puzzle(budget=lambda case: BUDGET)


def test_a_launch_may_move_many_times_what_the_programs_that_run_need() -> None:
    assert launch_of(case(), LARGE).most_touched == 2 * MANY_TIMES * A_FEW
    assert launch_of(case(grid=(8,), programs=(0, 7)), LARGE).most_touched == MANY_TIMES * A_FEW // 2
    assert launch_of(case(grid=(800,), programs=(0, 7)), LARGE).most_touched == A_FEW
    assert launch_of(case()).most_touched == A_FEW


def test_it_may_do_many_times_what_its_programs_and_their_tiles_take() -> None:
    """A tile of x or y is 4 columns of one row."""
    assert tiles_of(case(), LARGE) == {"x_ptr": A_FEW / 4, "y_ptr": A_FEW / 4}
    steps = 4 + A_FEW / 2
    assert steps_of(case(), LARGE) == steps
    assert launch_of(case(), LARGE).most_work == MANY_TIMES * A_STEP * OPERATION * steps
    assert launch_of(case(programs=(0, 3)), LARGE).most_work == MANY_TIMES * A_STEP * OPERATION * steps / 2
    products = replace(LARGE, work=lambda case: 1000)
    assert launch_of(case(), products).most_work == MANY_TIMES * (A_STEP * OPERATION * steps + 1000)
    assert launch_of(case(), puzzle()).most_work == launch_of(case()).most_work == A_LITTLE * OPERATION
    assert (
        launch_of(case(), replace(puzzle(), steps=lambda case: 40.0)).most_work == 40 * MANY_TIMES * A_STEP * OPERATION
    )


@pytest.mark.parametrize("puzzle_id", ladder.RUNGS)
def test_no_launch_may_do_what_takes_half_a_minute(puzzle_id: str) -> None:
    """An operation takes 10 to 20 us."""
    of = catalog.load(puzzle_id)
    most = max(launch_of(case, of).most_work for case in of.cases(of.draw()))
    assert A_LITTLE <= most / OPERATION < 1_500_000
