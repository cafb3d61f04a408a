"""TF32's error in a right kernel is measured and said, and only where there is one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from checker.check import Conditions
from checker.course import places
from checker.course.language import CHINESE, speaking
from checker.judge.tf32 import EXPLAINED_IN, in_fp32, tf32_remarks
from checker.report.translated import said as in_other_words
from tests.conftest import check_changed
from tests.judge.made import case, error, puzzle, refusal, result, right

PLAIN = "tl.dot(a, tl.trans(b))"


def said(conditions: Conditions, instead: str) -> list[str]:
    verdict = check_changed("a1", PLAIN, instead, conditions)
    assert verdict.accepted, verdict.findings
    return [remark for remark in verdict.remarks if "TF32" in remark]


def test_a_kernel_is_told_what_its_own_launch_loses(quick: Conditions) -> None:
    [remark] = said(quick, PLAIN)
    assert "c is then off by 0.077 % (two by two tiles, two steps)" in remark


@pytest.mark.parametrize("precision", ["ieee", "tf32x3"])
def test_nobody_is_asked_for_what_is_there(quick: Conditions, precision: str) -> None:
    assert said(quick, f'tl.dot(a, tl.trans(b), input_precision="{precision}")') == []


def test_it_is_no_part_of_grading(quick: Conditions) -> None:
    verdict = check_changed("a1", PLAIN, PLAIN, Conditions(key="a key", host=quick.host))
    assert verdict.accepted and not any("TF32" in remark for remark in verdict.remarks)


def test_the_first_launch_in_fp32_of_each_kernel_is_taken() -> None:
    x = case().tensors["x_ptr"]
    halves = [replace(x, values=x.values.astype(np.float16)), replace(x, bf16=True)]
    cases = [case("half", tensors={"x_ptr": half}) for half in halves]
    cases += [case("first"), case("second"), case("other", kernel="other_kernel")]
    assert in_fp32(puzzle(work=lambda _: 1), cases) == {2: cases[2], 4: cases[4]}
    assert in_fp32(puzzle(), cases) == {}


def test_what_loses_most_is_told_and_a_rounding_is_not() -> None:
    little, much, more = (case(title) for title in ("little", "much", "more"))
    off = {little: 1 + 2.0**-16, much: 1 + 2.0**-10, more: 1 - 2.0**-9}
    ran = {one: result(one, right(one) * by) for one, by in off.items()}
    [remark] = tf32_remarks(puzzle(id=EXPLAINED_IN), ran)
    assert "y is then off by 0.2 % (more)" in remark
    assert list(tf32_remarks(puzzle(), {little: ran[little]})) == []


def test_where_it_is_not_explained_it_is_a_line() -> None:
    """In 100 columns, whatever the output is called; and the lesson that it names has the reason."""
    one = case()
    [remark] = tf32_remarks(puzzle(id="b1"), {one: result(one, right(one) * (1 - 2.0**-9))})
    assert remark.startswith("on a GPU") and f"y is off by 0.2 % (puzzle {EXPLAINED_IN} says why)" in remark
    assert len(f"By the way: {remark}".replace("y is", "dbias is")) <= 100
    with speaking(CHINESE):
        assert "tl.dot 把 fp32 舍入到 TF32，y 因此偏差 0.2 %" in in_other_words(remark)
    assert "rounds them to TF32" in places.script(EXPLAINED_IN).read_text()


@pytest.mark.parametrize("facts", [{"error": error()}, {"refused": refusal()}, {"left_out": "memory"}])
def test_what_did_not_run_to_its_end_says_nothing(facts: dict[str, object]) -> None:
    one = case()
    assert list(tf32_remarks(puzzle(), {one: result(one, right(one) * 2, **facts)})) == []
    assert list(tf32_remarks(puzzle(), {one: None})) == []
    assert list(tf32_remarks(puzzle(), {one: result(one, np.zeros(right(one).shape))})) != []


def test_it_is_not_said_of_what_is_not_accepted(quick: Conditions) -> None:
    verdict = check_changed("a1", PLAIN, f"{PLAIN}\n        if Bm >= 4096:\n            acc = 2 * acc", quick)
    assert verdict.findings[0].id == "never-reached" and not any("TF32" in remark for remark in verdict.remarks)
