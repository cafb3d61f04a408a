"""Memory and work of a PyTorch program against its bounds."""

from __future__ import annotations

import pytest

from checker.course.case import Case
from checker.course.misconception import Footprint, Uses
from checker.course.puzzle import Footprints, Puzzle
from checker.course.verdict import Finding, Status
from checker.judge.footprint import footprint_findings, held, used
from checker.sandbox.protocol.records import BLOCK, DOT, HELD
from tests.judge.made import Record, case, evidence, idea, puzzle, usual, where

ENOUGH = Footprint(largest=24, at_once=60, products=100)
PLAIN = Footprint(largest=96, at_once=200, products=100)


def bounded(*ideas: object, **facts: object) -> Puzzle:
    return puzzle(*ideas, footprint=Footprints(lambda case: ENOUGH, lambda case: PLAIN), **facts)  # type: ignore[arg-type]


def call(largest: int = 24, at_once: int = 60, products: int = 100) -> list[Record]:
    """A call that makes a tensor in line 2, holds the most in line 3, and multiplies in lines 4 and 5."""
    made = [(BLOCK, 0, 0, 2, (), largest, 0), (HELD, 0, 0, 2, (), largest, 0), (HELD, 0, 0, 3, (), at_once, 0)]
    return [*usual(case()), *made, (DOT, 0, 0, 4, (), 10, 4), (DOT, 0, 0, 5, (), products - 40, 1)]


def told(of: Puzzle, *calls: list[Record]) -> list[Finding]:
    everything = [evidence(case(id=n), records=one) for n, one in enumerate(calls)]
    return list(footprint_findings(of, everything[0], everything, where))


def test_what_a_call_used_is_the_largest_the_peak_and_the_sum() -> None:
    result = evidence(case(), records=call(20, 50, 90)).result
    assert result is not None
    assert used(result) == Footprint(20, 50, 90)
    result = evidence(case()).result
    assert result is not None and used(result) == Footprint(0, 0, 0)


def test_what_is_enough_is_not_told() -> None:
    assert told(bounded(), call()) == []


@pytest.mark.parametrize(
    ("too_much", "id", "line", "number"),
    [
        (call(largest=25), "too-large-a-tensor", 2, "25"),
        (call(at_once=61_000), "too-much-at-once", 3, "61,000"),
        (call(products=150), "multiplied-too-much", None, "1.5 times"),
        (call(largest=25, at_once=61, products=150), "too-large-a-tensor", 2, "25"),  # the others follow
        (call(at_once=61, products=150), "too-much-at-once", 3, "61"),
    ],
)
def test_what_is_too_much_is_told_with_its_line(too_much: list[Record], id: str, line: int | None, number: str) -> None:
    [finding] = told(bounded(), too_much)
    assert (finding.id, finding.status, finding.where.line) == (id, Status.OVER_TRAFFIC, line)
    assert number in finding.title


def test_a_name_must_explain_every_call_that_used_too_much() -> None:
    def whole(case: Case, used: Footprint) -> bool:
        return used.largest >= 96

    named = bounded(idea("whole-matrix", Uses(whole)))
    [finding] = told(named, call(largest=96), call(), call(largest=100))
    assert (finding.id, finding.where.line) == ("whole-matrix", 2)
    [finding] = told(named, call(largest=96), call(largest=30))
    assert finding.id == "too-large-a-tensor"


def test_the_report_gets_the_call_in_which_plain_attention_would_hold_the_most() -> None:
    plain = Footprints(lambda case: ENOUGH, lambda case: Footprint(96, 100 + case.id, 100))
    calls = [evidence(case(f"call {n}", id=n), records=call(at_once=40 + n)) for n in (1, 3, 2)]
    [one] = held(puzzle(footprint=plain), calls)
    assert (one.case, one.at_once, one.most_at_once, one.plain_at_once) == ("call 3", 43, 60, 103)
    assert held(puzzle(), calls) == ()
