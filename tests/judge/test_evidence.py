"""What a launch may move, how launches are shared out between two processes, and where a line stands."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from checker.course.puzzle import Budget
from checker.judge.evidence import A_FEW, MANY_TIMES, half_of, launch_of, locator
from checker.submission.read import from_cells
from tests.judge.made import case


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=40))
def test_no_half_is_longer_than_the_other_by_more_than_one_launch(steps: list[float]) -> None:
    second = half_of(dict(enumerate(steps)))
    assert second < set(range(len(steps)))
    taken = sum(steps[n] for n in second)
    assert abs(sum(steps) - 2 * taken) <= max(steps) * (1 + 1e-9)


def test_a_launch_may_move_many_times_what_the_programs_that_run_need() -> None:
    budget = {"x_ptr": Budget(loads=A_FEW), "y_ptr": Budget(stores=A_FEW)}
    assert launch_of(case(), budget).most_touched == 2 * MANY_TIMES * A_FEW
    assert launch_of(case(grid=(8,), programs=(0, 7)), budget).most_touched == MANY_TIMES * A_FEW // 2
    assert launch_of(case(grid=(800,), programs=(0, 7)), budget).most_touched == A_FEW


def test_a_line_stands_among_those_of_its_own_text() -> None:
    """Also where what is above it is of another text without a number: on a page, the imports."""
    where = locator(from_cells([("code", "import a\nimport b"), ("code", "one\ntwo")], "editor", numbered=False))(3)
    assert (where.line, where.source) == (1, ((1, "one"), (2, "two")))
