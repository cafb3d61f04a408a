"""Accesses outside a tensor, by name or in plain words."""

from __future__ import annotations

import pytest

from checker.course.case import Axis, AxisKind
from checker.course.misconception import Reach, Reaches
from checker.judge.refusals import Refused, name_refusals, refusal_finding
from tests.judge.made import STORES, case, code, idea, puzzle, refusal, where


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"tensor": None}, "Program 3 read at an address that is near none of the tensors."),
        ({"first": -2}, "Program 3 read 2 elements before the start of x (4 x 6); lanes outside: 4 of 8."),
        ({"dtype": "float16"}, "Program 3 read x as float16, but its elements are float32."),
        ({}, "Program 3 read x[4, 2], but x ends at row 3 (x has shape 4 x 6); lanes outside: 4 of 8."),
    ],
)
def test_an_access_outside_is_told_in_a_sentence(facts: dict[str, object], sentence: str) -> None:
    finding = refusal_finding(Refused(case(), refusal(**facts)), where)
    assert finding.explanation == sentence and not finding.named


def test_of_a_padded_tensor_the_column_is_what_is_too_large() -> None:
    apart = case()
    tensor = apart.tensors["x_ptr"]
    object.__setattr__(tensor, "strides", (10, 1))
    finding = refusal_finding(Refused(apart, refusal(first=7)), where)
    assert finding.where.index == (0, 7) and "but x ends at column 5" in finding.explanation


def test_what_has_no_stride_of_its_own_is_said_to_have_none() -> None:
    """LSE, say: a number for each query of each head, one after the other."""
    rows = case()
    tensor = rows.tensors["x_ptr"]
    plain = refusal_finding(Refused(rows, refusal()), where).hint
    object.__setattr__(tensor, "axes", (Axis(AxisKind.HEAD), Axis(AxisKind.QUERY)))
    hint = refusal_finding(Refused(rows, refusal()), where).hint
    assert "x has no stride of its own" in hint and "x_ptr + head * n_q" in hint
    assert "the tensor's own stride" in plain


def test_one_name_hides_what_has_none() -> None:
    known = idea("past-the-end", Reaches(lambda case, program: (Reach(False, "x_ptr", 24, 29),)))
    both = [Refused(case(), refusal()), Refused(case(id=1), refusal(lowest=0))]
    [finding] = name_refusals(puzzle(known), both, where, code())
    assert (finding.id, finding.named, finding.where.case_id) == ("past-the-end", True, 0)
    assert finding.examples[0].startswith("Program 3 read x[4, 2]")


def test_without_a_name_each_line_is_told_once() -> None:
    refused = [refusal(), refusal(program=1), refusal(store=True, line=STORES), refusal(tensor=None, line=9)]
    found = list(name_refusals(puzzle(), [Refused(case(), one) for one in refused], where, code()))
    assert [finding.id for finding in found] == ["reads-outside", "writes-outside", "reads-outside"]
