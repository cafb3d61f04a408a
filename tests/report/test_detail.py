"""Detail for students: less at each step, and points never change."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from checker import catalog
from checker.check import Conditions, check, unreadable
from checker.course.lesson import emptied
from checker.course.verdict import Status, Verdict
from checker.report.as_json import as_dict
from checker.report.detail import Detail, shown_with
from checker.report.html import html
from checker.report.screen import plain
from checker.report.terminal import report
from checker.report.words import spot
from checker.submission.read import from_cells
from tests.conftest import ROOT, check_kernel, check_path
from tests.kernels import named


@pytest.fixture(scope="module")
def wrong() -> Verdict:
    """A verdict with an error map, examples, a hint and a remark."""
    verdict = check_kernel(named("p4_padding_counted"))
    return replace(verdict, mode="grading", remarks=("By the by.",), asking="", upcoming="")


def shown(verdict: Verdict) -> str:
    return plain(report(verdict)) + html(verdict)


def test_everything_is_what_there_was(wrong: Verdict) -> None:
    assert shown_with(wrong, "full") is wrong


def test_a_finding_keeps_its_name_and_place_and_loses_values_and_fix(wrong: Verdict) -> None:
    finding, less = wrong.findings[0], shown_with(wrong, "finding").findings[0]
    assert finding.hint and finding.explanation and finding.question and finding.examples and finding.error_map
    assert (less.id, less.title, less.where, less.status) == (finding.id, finding.title, finding.where, finding.status)
    page = shown(shown_with(wrong, "finding"))
    for text in (
        finding.hint,
        finding.explanation,
        finding.question,
        *finding.examples,
        "where it is wrong",
        "By the by.",
    ):
        assert text[:30] in shown(wrong) and text[:30] not in page
    assert finding.title in page and spot(wrong.file, finding.where) in page


def test_points_say_nothing_but_what_was_proven(wrong: Verdict) -> None:
    less = shown_with(wrong, "points")
    page = shown(less)
    assert less.findings == () and wrong.findings[0].title not in page
    assert all(one.title in page for one in wrong.properties) and "failed with" in shown(wrong)
    assert "failed with" not in page and "registers" not in page and "Try:" not in page
    right = replace(check_path(ROOT / "solutions" / "p1_naive_softmax.py"), mode="grading")
    assert "times per element" in html(right) and "times per element" not in html(shown_with(right, "points"))


@pytest.mark.parametrize("detail", get_args(Detail))
def test_score_and_status_stay(wrong: Verdict, detail: Detail) -> None:
    before, after = as_dict(wrong), as_dict(shown_with(wrong, detail))
    for name in ("verdict", "score", "submission_sha256", "versions", "sandbox", "mode"):
        assert after[name] == before[name]
    assert f"{wrong.earned}/{wrong.possible} points" in shown(shown_with(wrong, detail))


@pytest.mark.parametrize("detail", get_args(Detail))
@pytest.mark.parametrize("status", Status)
def test_every_status_can_be_shown_in_every_detail(wrong: Verdict, status: Status, detail: Detail) -> None:
    findings = tuple(replace(one, status=status) for one in wrong.findings)
    assert shown(shown_with(replace(wrong, status=status, findings=findings), detail))


@pytest.mark.parametrize("detail", get_args(Detail))
def test_what_is_wrong_with_a_file_is_always_told(detail: Detail) -> None:
    assert "It is torn." in shown(shown_with(unreadable("p1", "mine.py", "It is torn."), detail))
    stub = emptied((ROOT / "puzzles" / "p1_naive_softmax.py").read_text(), catalog.load("p1"))
    empty = check("p1", from_cells([("code", stub)], "mine.py", numbered=False), Conditions(key="k")).verdict
    assert "so there are no points" in shown(shown_with(empty, detail))
    assert "make" not in shown(shown_with(empty, detail))  # after the deadline there is nothing to be typed
