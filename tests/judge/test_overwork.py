"""Findings on launches that were ended because they did too much."""

from __future__ import annotations

from dataclasses import replace

from checker.course.misconception import Moves
from checker.course.puzzle import Budget
from checker.course.verdict import Status
from checker.judge.evidence import Evidence
from checker.sandbox.protocol.records import LOAD, TOO_MUCH_WORK
from tests.judge.made import LOADS, Record, case, error, evidence, idea, puzzle, usual
from tests.judge.test_kernel import ids, judged


def ended(times: int, line: int = 3, records: list[Record] | None = None, id: int = 0, of: str = "endless") -> Evidence:
    """A launch that was ended when the loop in this line had run so often."""
    return evidence(case(of, id=id), records=records or [], error=error(str(times), TOO_MUCH_WORK, line))


def test_the_loop_is_marked_with_how_often_it_ran_and_how_often_is_enough() -> None:
    made = judged(puzzle(), evidence(case()), ended(40_000), Evidence(case("after"), None, None))
    [finding] = made.findings
    assert (finding.id, finding.status, finding.where.line) == ("time-limit", Status.TIME_LIMIT, 3)
    assert "had run 40,000 times" in finding.explanation
    assert "For all programs together, 10 times are more than enough." in finding.explanation  # 4 programs, 6 tiles
    assert made.failed == {1: "did not finish", 2: "did not get that far"}


def test_it_is_told_of_any_case_if_others_were_not_run_for_it() -> None:
    far = ended(40_000)
    far = replace(far, case=replace(far.case, informative=False))
    assert ids(judged(puzzle(), evidence(case()), far, Evidence(case("after"), None, None))) == ["time-limit"]


def test_where_no_tiles_are_known_only_the_loop_is_told() -> None:
    [finding] = judged(puzzle(budget=lambda case: {}), ended(40_000)).findings
    assert finding.explanation.endswith("when it was stopped.")


def test_a_loop_that_ran_no_more_than_enough_is_not_to_blame() -> None:
    for one in (ended(10), ended(0, line=0)):
        [finding] = judged(puzzle(), one).findings
        assert (finding.id, finding.where.line) == ("time-limit", None)
        assert "many times the operations" in finding.explanation


def test_single_elements_have_their_name_whether_the_launch_ended_or_not() -> None:
    budget = {"x_ptr": Budget(loads=24, least_at_once=4), "y_ptr": Budget(stores=24)}
    single: list[Record] = [(LOAD, 0, 0, LOADS, (n,), 1, 0) for n in range(6)]
    made = judged(puzzle(budget=lambda case: budget), ended(40_000, records=single))
    assert ids(made) == ["no-tiles"] and list(made.over_traffic) == ["double_kernel"]


def test_an_idea_that_explains_the_launches_that_ended_before_names_it() -> None:
    twice = [*usual(case()), *usual(case())[::2]]
    moves = idea("again", Moves(lambda case, moved: moved["x_ptr"].loads == 48))
    cut = ended(40_000, records=twice + twice)
    assert ids(judged(puzzle(moves), evidence(case(), records=twice), cut)) == ["again"]
    assert ids(judged(puzzle(moves), evidence(case()), cut)) == ["time-limit"]
    assert ids(judged(puzzle(), evidence(case()), cut)) == ["time-limit"]  # how often x was read says less


def test_beside_what_is_wrong_in_other_launches_it_is_told_too() -> None:
    wrong = evidence(case(), case().tensors["x_ptr"].values)
    assert sorted(ids(judged(puzzle(), wrong, ended(40_000)))) == ["time-limit", "wrong-values"]
