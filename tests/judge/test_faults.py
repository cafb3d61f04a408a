"""Traffic out of its bounds in words: which line, how often, which tensors together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.course.verdict import Traffic
from checker.judge.traffic import Fault, fault_findings, times
from checker.sandbox.protocol.records import LOAD, STORE
from tests.judge.made import case, where

X = Traffic("double_kernel", "x_ptr", 24, 48, 0, 24, 0)
TWICE = Fault(LOAD, X, X, done=48, most=24, least=0, lines={2: 24, 5: 24}, place="")


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ({2: 48}, 2),  # by itself too much
        ({2: 24, 5: 24}, 5),  # of two that are as much, the later
        ({2: 24, 5: 12, 7: 12}, 2),
        ({2: 16, 5: 16, 7: 16}, None),
    ],
)
def test_the_line_that_is_too_much_is_marked_if_the_log_can_tell(lines: dict[int, int], line: int | None) -> None:
    assert replace(TWICE, lines=lines).line == line


def test_what_is_not_needed_or_too_seldom_is_marked_where_it_is_done() -> None:
    none = replace(TWICE, most=0)
    assert (none.id, none.line) == ("read-at-all", 5)
    seldom = replace(TWICE, done=24, most=96, least=48)
    assert (seldom.id, seldom.line) == ("read-too-seldom", 5)


def test_what_is_read_too_seldom_is_told_in_numbers_with_what_it_is_read_for() -> None:
    seldom = replace(TWICE, done=24, most=96, least=48, anew="each tile of keys")
    [finding] = fault_findings([seldom], case(), where)
    assert finding.title == "x is read once per element here, and must be read at least 2 times"
    assert "reads x at least 2 times per element in this case, anew for each tile of keys" in finding.explanation
    assert "?" in finding.question and finding.hint == "Load it anew for each tile of keys."
    l_and_m = [replace(seldom, moved=replace(X, tensor=name), done=n) for name, n in (("l_ptr", 24), ("m_ptr", 0))]
    [finding] = fault_findings(l_and_m, case(), where)
    assert finding.title == "l and m are read too seldom"


def test_tensors_with_the_same_fault_are_told_together() -> None:
    k, v = (replace(TWICE, moved=replace(X, tensor=name), total=replace(X, tensor=name)) for name in ("k_ptr", "v_ptr"))
    stored = replace(TWICE, kind=STORE, total=replace(X, stores=48, most_stores=24))
    together, apart = fault_findings([k, stored, v], case(), where)
    assert together.title == "k and v are read 2 times per element, once is enough"
    assert (apart.id, apart.title) == ("written-too-often", "x is written 2 times per element, once is enough")


def test_a_load_that_belongs_before_a_loop_is_told_so() -> None:
    again = replace(TWICE, lines={5: 48}, place="before the loop")
    [finding] = fault_findings([again], case(), where)
    assert finding.hint == "x at line 5 is read again and again: load it before the loop."
    assert "before the loop" not in finding.question


def test_a_question_stands_before_each_hint_that_says_what_to_do() -> None:
    for fault in (TWICE, replace(TWICE, kind=STORE), replace(TWICE, lines={5: 48}, place="before the loop")):
        [finding] = fault_findings([fault], case(), where)
        assert finding.question.endswith("?")
    [finding] = fault_findings([replace(TWICE, most=0)], case(), where)
    assert finding.hint == "This puzzle needs no load from x." and not finding.question


@pytest.mark.parametrize(("done", "text"), [(24, "once"), (48, "2 times"), (36, "1.50 times"), (0, "0 times")])
def test_how_often_each_element_is_moved(done: int, text: str) -> None:
    assert times(done, 24) == text
