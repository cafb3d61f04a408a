"""Reports in HTML: whole, small, and harmless whatever a submission says."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.check import Conditions
from checker.course.verdict import Finding, Held, Run, Status, Verdict, Where
from checker.report.html import html
from checker.report.words import PLAIN_WORDS
from tests.conftest import ROOT, check_kernel, check_path
from tests.kernels import kernels, named


@pytest.mark.parametrize("status", Status)
def test_every_status_can_be_shown_in_html(status: Status) -> None:
    finding = Finding("an-id", status, "A title", "Why & <b>", 'Do "this"', Where(3, cell=2, source=((3, "x < y"),)))
    shown = html(Verdict("p1", "A puzzle", status, (finding,)))
    assert PLAIN_WORDS[status] in shown
    assert shown.count("<div") == shown.count("</div>")


def test_every_cell_of_a_table_keeps_its_distance() -> None:
    """A page of nbgrader's gives it none: the points would touch the words before them."""
    shown = html(check_path(ROOT / "solutions" / "p1_naive_softmax.py"))
    cells = re.findall(r"<td[^>]*>", shown)
    assert len(cells) > 20 and all("padding:" in cell for cell in cells)


@given(st.text(), st.text())
def test_text_of_a_submission_cannot_become_html(evil: str, code: str) -> None:
    where = Where(1, source=((1, code),), case=evil)
    finding = Finding(evil, Status.WRONG, evil, evil, evil, where, (evil, "<script>alert(1)</script>"))
    shown = html(Verdict("p1", evil, Status.WRONG, (finding,), remarks=(evil,), printed=((evil, evil + code),)))
    tags = set(re.findall(r"</?([a-zA-Z]\w*)", shown))
    assert tags <= {"div", "b", "span", "pre", "table", "thead", "tbody", "tr", "th", "td"} | {"details", "summary"}
    assert "<script" not in shown and " on" not in "".join(re.findall(r"<[^>]*>", shown)).replace(" only", "")


def test_the_map_shows_what_is_wrong() -> None:
    verdict = check_kernel(named("p4_padding_counted"))
    picture = verdict.findings[0].error_map
    assert picture is not None
    assert picture.tensor == "y_ptr" and (picture.rows, picture.columns) == ("rows", "columns")
    assert sum(map(sum, picture.wrong)) > 0
    assert len(picture.wrong) <= 16 and all(len(line) <= 32 for line in picture.wrong)
    assert "where it is wrong" in html(verdict)


def test_in_practice_the_whole_report_is_folded_below_a_short_one() -> None:
    verdict = check_kernel(named("p4_padding_counted"))
    short, folded, whole = html(verdict).partition("All of the report")
    assert folded and verdict.findings[0].title in short and "<table" not in short
    assert all(one.title in whole for one in verdict.properties)
    assert folded not in html(replace(verdict, mode="grading"))


def test_reports_stay_small(quick: Conditions) -> None:
    for kernel in [kernel for kernel in kernels("wrong") if kernel.puzzle in ("p1", "p7")][::6]:
        assert len(html(check_kernel(kernel, quick))) < 30_000


def test_what_pytorch_holds_is_shown_beside_plain_attention() -> None:
    def shown(at_once: int, *findings: Finding) -> str:
        held = Held("f", "a case", at_once, 1000, 4000, 50, 60, 120)
        status = Status.OVER_TRAFFIC if findings else Status.ACCEPTED
        return html(Verdict("a2", "In PyTorch", status, findings, runs=(Run("pytorch", 0.1, held=(held,)),)))

    right = shown(800)
    assert "800, at most 1,000" in right and "4,000" in right and "50, at most 60" in right
    widths = re.findall(r"background:(#\w+);width:([\d.]+)%", right)
    assert [float(width) for _, width in widths] == [20.0, 100.0, 41.7, 100.0]  # of the widest of three
    wrong = shown(1200, Finding("too-much-at-once", Status.OVER_TRAFFIC, "T", "E", "H"))
    assert "takes more memory or work than is needed" in wrong
    colours = [colour for colour, _ in re.findall(r"background:(#\w+);width:([\d.]+)%", wrong)]
    assert colours[0] != widths[0][0] and colours[1:] == [colour for colour, _ in widths[1:]]
