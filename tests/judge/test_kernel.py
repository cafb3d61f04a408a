"""The choice among the observations on a kernel: one thing at a time, and basic things first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from checker.course.case import Case
from checker.course.misconception import Raises, Reach, Reaches, Writes
from checker.course.puzzle import Invariant, Property, Puzzle
from checker.course.verdict import Finding, Status
from checker.judge import kernel
from checker.judge.errors import OUTSIDE
from checker.judge.evidence import Evidence
from checker.judge.judge import Judgement, in_order_of_cases, judge, properties, status_of
from checker.judge.launches import IDLE
from checker.judge.requests import runs_of
from checker.sandbox.protocol.records import IN_LOOP, LOSS, MULTIPLIED, STORE
from checker.sandbox.protocol.results import LaunchResult
from tests.judge.made import Record, case, code, error, evidence, idea, puzzle, refusal, result, right, usual, where

PAST = idea("past", Reaches(lambda case, program: (Reach(False, "x_ptr", 24, 29),)))
RAISED = idea("raised", Raises("known"))
TRIPLED = idea("tripled", Writes(lambda case: {"y_ptr": 1.5 * right(case).astype(np.float64)}))


def judged(of: Puzzle, *seen: Evidence) -> Judgement:
    """The judgement; the cases are numbered in order."""
    numbered = [replace(one, case=replace(one.case, id=n)) for n, one in enumerate(seen)]
    return judge(of, numbered, where, {"double_kernel": code().kernel})


def ids(made: Judgement) -> list[str]:
    return [finding.id for finding in made.findings]


def odd(one: Case) -> Evidence:
    """Wrong in a way that has no name."""
    return evidence(one, right(one) + np.arange(1, 7) ** 2)


def tripled(one: Case) -> Evidence:
    return evidence(one, 1.5 * right(one))


def lossy(way: int, one: Case | None = None, by: float = 0.0) -> Evidence:
    one = one or case()
    y = right(one) + by
    return evidence(one, y, [*usual(one), (LOSS, 0, 0, 3, (), 1, way)])


def test_a_right_kernel_has_no_finding() -> None:
    made = judged(puzzle(), evidence(case()), evidence(case("other")))
    assert (made.findings, made.failed, made.over_traffic) == ([], {}, {})
    assert [(t.tensor, t.loads) for t in made.traffic] == [("x_ptr", 48), ("y_ptr", 0)]


@pytest.mark.parametrize("turned", [False, True])
def test_a_run_that_had_memory_is_judged_though_the_other_had_none(turned: bool) -> None:
    def seen(one: Case, ran: LaunchResult) -> Evidence:
        of_gpu, none = replace(one, on_gpu=True), result(one, on_gpu=True, left_out=True)
        return Evidence(of_gpu, none, ran) if turned else Evidence(of_gpu, ran, none)

    wrong = result(case(), 1.5 * right(case()), on_gpu=True)
    made = judged(
        puzzle(TRIPLED), seen(case(), wrong), seen(case(), result(case(), error=error())), seen(case(), result(case()))
    )
    assert made.failed == {0: "24 of 24 elements of y are wrong", 1: "stopped with ValueError"}
    assert made.left_out == {0, 1, 2}


def test_why_a_case_failed_is_told_in_a_few_words() -> None:
    stopped = result(case(), refused=refusal())
    made = judged(
        puzzle(),
        Evidence(case(), None, None),
        Evidence(case(proves=("traffic",)), result(case()), None),
        evidence(case(), error=error()),
        Evidence(case(), stopped, None),
        odd(case()),
        evidence(case(), records=[]),
        lossy(IN_LOOP),
        evidence(case(), left_out=True),
    )
    assert made.failed == {
        0: "did not get that far",
        1: "did not get that far",
        2: "stopped with ValueError",
        3: "read outside x",
        4: "24 of 24 elements of y are wrong",
        5: "y is not written",
        6: "A running sum is kept in half precision",
    }
    assert made.left_out == {7}


def test_cases_that_look_alike_whatever_is_wrong_are_heard_only_if_no_other_failed() -> None:
    alike = evidence(case(informative=False), error=error())
    assert ids(judged(puzzle(TRIPLED), alike, tripled(case()))) == ["tripled"]
    assert ids(judged(puzzle(TRIPLED), alike, evidence(case()))) == ["kernel-error"]


def test_what_has_no_name_is_left_out_beside_what_stops_the_kernel() -> None:
    stopped = evidence(case(), error=error("known"))
    assert ids(judged(puzzle(RAISED), odd(case()), stopped)) == ["raised"]
    assert ids(judged(puzzle(RAISED, TRIPLED), tripled(case()), stopped)) == ["raised", "tripled"]


def test_a_wrong_address_with_a_name_explains_races_and_values() -> None:
    outside = evidence(case(), refused=refusal())
    races = evidence(case(), records=[*usual(case()), (STORE, 1, 3, 9, range(1), 8, 0)])
    assert ids(judged(puzzle(PAST), races, outside, odd(case()))) == ["past"]
    assert ids(judged(puzzle(), races, outside, odd(case()))) == ["written-twice", "reads-outside", "wrong-values"]


def test_a_row_map_that_shares_and_leaves_out_is_not_told_again_in_part() -> None:
    twice: Record = (STORE, 1, 2, 9, range(1), 8, 0)
    shares, left_out = [*usual(case()), twice], usual(case())[:-1]
    both = [*usual(case())[:-1], twice]
    seen = [evidence(case(), records=one) for one in (shares, left_out, both)]
    assert ids(judged(puzzle(), *seen[:2])) == ["not-written", "written-twice"]
    assert ids(judged(puzzle(), *seen)) == ["wrong-row-map"]


def test_a_named_value_explains_an_address_outside_and_any_mistake_idle_programs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leaves = evidence(case(), error=error("", "OutsideMemory"))
    assert ids(judged(puzzle(TRIPLED), tripled(case()), leaves)) == ["tripled"]
    assert ids(judged(puzzle(), odd(case()), leaves)) == [OUTSIDE]
    idle = Finding(IDLE, Status.OVER_TRAFFIC, "Idle", "They are idle.", "Start fewer.", where(case=case(id=0)))
    monkeypatch.setattr(kernel, "traffic_findings", lambda *_: [idle])
    assert ids(judged(puzzle(), evidence(case()))) == [IDLE]
    assert ids(judged(puzzle(), evidence(case()), odd(case()))) == ["wrong-values"]


def test_names_come_before_places() -> None:
    outside = evidence(case(), refused=refusal())
    assert ids(judged(puzzle(TRIPLED), outside, tripled(case()))) == ["tripled", "reads-outside"]


def test_digits_that_are_lost_explain_wrong_values_of_that_type() -> None:
    half = case()
    for name, tensor in half.tensors.items():
        object.__setattr__(half.tensors[name], "values", tensor.values.astype(np.float16))
    assert ids(judged(puzzle(), lossy(IN_LOOP, half, by=1.0))) == ["accumulator-in-half"]
    assert ids(judged(puzzle(), lossy(IN_LOOP, half), odd(case()))) == ["wrong-values"]  # in fp32
    assert ids(judged(puzzle(TRIPLED), lossy(IN_LOOP, half), tripled(case()))) == ["tripled", "accumulator-in-half"]
    one = case(shape=(1, 1))  # of which 1.5 * y is y + 1
    assert ids(judged(puzzle(TRIPLED), lossy(IN_LOOP, one, by=1.0))) == ["tripled"]
    assert ids(judged(puzzle(), lossy(MULTIPLIED, by=1.0))) == ["sizes-multiplied", "wrong-values"]
    assert ids(judged(puzzle(), lossy(MULTIPLIED), evidence(case(), error=error()))) == ["kernel-error"]


def test_the_two_runs_must_agree_to_the_last_bit() -> None:
    first, second = result(case()), result(case(), right(case()) * (1 + 1e-7))
    [finding] = judged(puzzle(), Evidence(case(), first, second)).findings
    assert (finding.id, finding.where.index) == ("order-dependent", (0, 0))


def test_two_runs_are_for_launches_whose_programs_can_meet_and_for_a_gpu() -> None:
    about_traffic = case(proves=("right", "traffic"))
    runs = {
        one.title: runs_of(one, puzzle())
        for one in (
            replace(case(), title="about values"),
            replace(about_traffic, title="about traffic"),
            replace(about_traffic, title="one program", grid=(1,)),
            replace(about_traffic, title="chosen for its sizes", once=True),
            replace(case(), title="on a GPU", grid=(1,), on_gpu=True),
        )
    }
    assert runs == {"about values": 1, "about traffic": 2, "one program": 1, "chosen for its sizes": 1, "on a GPU": 2}


def test_a_law_is_checked_where_all_values_are_right() -> None:
    law = Invariant("law", "Broken", "It holds.", lambda case, outputs: np.arange(4) == 2)
    [finding] = judged(puzzle(invariants=(law,)), evidence(case())).findings
    assert finding.explanation == "It holds. Row 2 does not."
    assert ids(judged(puzzle(invariants=(law,)), evidence(case(programs=(0,), asked={"y_ptr": np.array(True)})))) == []
    assert ids(judged(puzzle(invariants=(law,)), odd(case()))) == ["wrong-values"]


def test_traffic_is_told_of_right_launches_and_of_the_first_that_moves_too_much() -> None:
    twice = [*usual(case()), *usual(case())[::2]]
    made = judged(puzzle(), evidence(case(), records=twice), evidence(case(), records=[*twice, *twice[-4:]]))
    assert ids(made) == ["read-too-often"] and made.failed == {} and list(made.over_traffic) == ["double_kernel"]
    stored = [*usual(case()), *usual(case())[1::2]]
    assert ids(judged(puzzle(), evidence(case(), records=twice), evidence(case(), records=stored))) == [
        "read-too-often"
    ]
    assert ids(judged(puzzle(), evidence(case(), right(case()) + 1, twice))) == ["wrong-values"]
    chosen = case(once=True, informative=False)
    one_run = Evidence(chosen, result(chosen, None, twice), None)
    assert ids(judged(puzzle(), one_run)) == ["read-too-often"]
    assert ids(judged(puzzle(), one_run, odd(case(informative=False)))) == ["wrong-values"]


def test_a_wrong_output_has_a_map_and_an_own_case_its_reason() -> None:
    [finding] = judged(puzzle(), odd(case(why="You compare with 7."))).findings
    assert finding.error_map is not None and finding.explanation.startswith("You compare with 7. ")


def test_what_was_said_of_one_kernel_is_not_explained_again() -> None:
    of = puzzle(TRIPLED)
    several = replace(of, kernels=(*of.kernels, replace(of.kernels[0], name="other_kernel")))
    seen = [tripled(case()), tripled(case(kernel="other_kernel", id=1))]
    made = judge(several, seen, where, dict.fromkeys(("double_kernel", "other_kernel"), code().kernel))
    assert ids(made) == ["tripled"] and made.findings[0].examples[-1] == "The same in other_kernel, line 4."
    seen = [odd(case()), odd(case(kernel="other_kernel", id=1))]
    made = judge(several, seen, where, dict.fromkeys(("double_kernel", "other_kernel"), code().kernel))
    assert ids(made) == ["wrong-values", "wrong-values"]


def test_a_property_is_proven_by_all_of_its_cases() -> None:
    cases = [case("a", 0, sizes="4 x 6"), case("b", 1), case("c", 2, proves=("traffic",))]
    right, traffic = properties(puzzle(), cases, Judgement(failed={0: "why"}))
    assert (right.passed, right.detail, right.case) == (False, "a (4 x 6): why", "a") and traffic.passed
    assert [p.passed for p in properties(puzzle(), cases, Judgement(over_traffic={"double_kernel": "x"}))] == [
        True,
        False,
    ]
    failed = properties(puzzle(), cases, Judgement(failed={2: "why"}, over_traffic={"double_kernel": "x"}))[1]
    assert failed.detail == "counted once the results are right"
    left_out = properties(puzzle(), cases, Judgement(left_out={1}))[0]
    assert left_out.passed and left_out.detail == "not run: b, too large for this GPU"
    assert not any(p.passed for p in properties(puzzle(), [], Judgement()))


SEVERAL = replace(
    puzzle(),
    properties=(Property("right", "", 1), Property("tail", "", 2), Property("half", "", 4), Property("t", "", 8, True)),
)


@pytest.mark.parametrize(
    ("failed", "lost"),
    [
        ({}, []),
        ({2}, ["tail"]),
        ({2, 4}, ["tail"]),  # half precision has passed where no tail was asked for
        ({2, 3, 4}, ["tail", "half"]),  # and here it has not
        ({3}, ["half"]),
        ({3, 4}, ["half"]),
        ({4}, ["half"]),  # nothing else explains it
        ({5}, ["t"]),
        ({2, 5}, ["tail", "t"]),
        ({2, 4, 6}, ["tail", "t"]),  # traffic is counted once the results are right
        ({0, 1, 2, 3, 4, 5, 6}, ["right", "tail", "half", "t"]),
    ],
    ids=str,
)
def test_a_property_is_not_lost_with_another_that_its_case_asks_for(failed: set[int], lost: list[str]) -> None:
    cases = [
        case("a", 0),
        case("b", 1, proves=("tail",)),
        case("c", 2, proves=("tail",)),
        case("d", 3, proves=("half",)),
        case("e", 4, proves=("half",), asks=frozenset({"tail"})),
        case("f", 5, proves=("t",)),
        case("g", 6, proves=("t", "tail"), asks=frozenset({"half"})),
    ]
    results = properties(SEVERAL, cases, Judgement(failed=dict.fromkeys(failed, "why")))
    assert [p.name for p in results if not p.passed] == lost


def finding(status: Status, id: int | None) -> Finding:
    return Finding("", status, "", "", "", where(case=case(id=id)) if id is not None else where())


def test_findings_are_in_the_order_of_cases_and_traffic_comes_last() -> None:
    over, crash, wrong, sandbox = (
        finding(status, id)
        for status, id in ((Status.OVER_TRAFFIC, 0), (Status.CRASHED, 1), (Status.WRONG, 1), (Status.TIME_LIMIT, None))
    )
    assert in_order_of_cases([over, wrong, crash, sandbox]) == [sandbox, crash, wrong, over]


@pytest.mark.parametrize(
    ("statuses", "passed", "status"),
    [
        ([], True, Status.ACCEPTED),
        ([], False, Status.WRONG),
        ([Status.WRONG], False, Status.WRONG),
        ([Status.WRONG], True, Status.PARTLY_RIGHT),
        ([Status.WRONG, Status.CRASHED], True, Status.CRASHED),
    ],
)
def test_the_worst_finding_gives_the_status(statuses: list[Status], passed: bool, status: Status) -> None:
    [proven, _] = properties(puzzle(), [case()], Judgement(failed={} if passed else {0: "why"}))
    assert status_of([finding(one, 0) for one in statuses], (proven,)) is status
