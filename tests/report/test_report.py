"""Reports for people, and for machines."""

from __future__ import annotations

import io
import json
import re
import statistics
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from checker.check import Conditions, check
from checker.course.clean import clean, cleaned
from checker.course.columns import columns
from checker.course.language import CHINESE, speaking
from checker.course.verdict import Finding, PropertyResult, Run, Status, Verdict, Where
from checker.grading.export import harmless
from checker.nbgrader.students import is_odd
from checker.report.as_json import as_dict, dumps
from checker.report.terminal import overview, show
from checker.report.words import PLAIN_WORDS, apart
from checker.submission.read import from_cells
from tests.conftest import ROOT, SOLUTION, check_kernel
from tests.kernels import kernels, named

ANSI = re.compile(r"\x1b\[[0-9;]*m")

# What a title may begin with although it is small: names in code, and types.
SMALL = {
    *("x", "y", "z", "c", "p", "q", "k", "v", "o", "l", "m", "mi", "lse", "do", "dq", "dk", "dv", "delta", "out"),
    *("dO", "dP", "dS", "dQ", "dK", "dV", "rows", "keys_per_split", "log2(e)", "fp16", "fp32", "only"),
}


def shown(verdict: Verdict, width: int = 80, **options: object) -> str:
    out = io.StringIO()
    show(Console(file=out, width=width, markup=False, highlight=False, emoji=False, **options), verdict)  # type: ignore[arg-type]
    return out.getvalue()


@pytest.fixture(scope="module")
def wrong(quick: Conditions) -> list[Verdict]:
    return [check_kernel(kernel, quick) for kernel in kernels("wrong")[::140]]


def test_a_short_report_says_what_where_and_what_next_in_few_lines(wrong: list[Verdict]) -> None:
    """And the whole one all that there is."""
    typed = "./check p3 --full"
    lines = []
    for verdict in wrong:
        finding = verdict.findings[0]
        held = replace(finding, withheld=bool(finding.question))
        short = shown(replace(verdict, findings=(held, *verdict.findings[1:]), whole=typed, stepping="make step"), 80)
        lines.append(short.count("\n"))
        flat = " ".join(short.split())
        assert finding.title in flat and f"[{finding.id}]" in flat and flat.endswith(f"make step {typed}")
        assert (finding.question or finding.hint) in flat
        assert finding.where.line is None or f"▶ {finding.where.line} │" in flat
        assert sum(not one.passed for one in verdict.properties) == int(re.findall(r"(\d+) of \d+ prop", flat)[0])
        if finding.differs is not None:
            assert finding.differs.sentence in flat and finding.differs.proof in flat
        whole = " ".join(shown(verdict, 200).split())
        assert finding.explanation in whole and all(one.title in whole for one in verdict.properties)
    assert statistics.median(lines) <= 15 and max(lines) <= 22


def test_of_the_properties_that_fail_one_is_named_and_several_are_counted() -> None:
    finding = Finding("an-id", Status.WRONG, "A title", "", "", where=Where(case="with -inf (4 x 5)"))
    for titles, words in ((("blocks",), "1 of 1 properties fails: blocks"), (("a", "b"), "2 of 2 properties fail")):
        failed = tuple(PropertyResult(title, title, False, 1, "", "fp16") for title in titles)
        verdict = Verdict("p1", "A puzzle", Status.WRONG, (finding,), failed, runs=(Run("cuda", 1.0),), whole="./check")
        assert words in shown(verdict)


def test_a_hint_that_is_due_takes_the_place_of_the_question() -> None:
    finding = Finding("an-id", Status.WRONG, "A title", "First. Second.", "Do it.", question="Why?")
    verdict = Verdict("p1", "A puzzle", Status.WRONG, (finding, finding), runs=(Run("cuda", 1.0),), whole="./check")
    assert "Do it." in shown(verdict) and "Why?" not in shown(verdict) and "First." in shown(verdict)
    assert "Second." not in shown(verdict) and "and 1 more" in shown(verdict)
    withheld = replace(verdict, findings=(replace(finding, withheld=True),))
    assert "Why?" in shown(withheld) and "Do it." not in shown(withheld) and "more" not in shown(withheld)
    for whole in (replace(verdict, whole=""), replace(verdict, mode="grading")):
        assert all(text in shown(whole) for text in ("Do it.", "Why?", "Second."))


@pytest.mark.parametrize("width", [40, 80, 200])
def test_reports_fit_the_terminal(wrong: list[Verdict], width: int) -> None:
    for verdict in wrong:
        for one in (verdict, replace(verdict, whole="./check p1 --full")):
            assert all(len(line) <= width for line in shown(one, width).split("\n"))
            with speaking(CHINESE):
                assert all(columns(line) <= width for line in shown(one, width).split("\n"))


def test_what_is_typed_or_opened_is_never_cut_off() -> None:
    long = "a/" * 60 + "p2_safe_softmax.py"
    finding = Finding("not-started", Status.NOT_STARTED, "", "", "", examples=(f"make check FILE={long}",))
    assert f"  make check FILE={long}\n" in shown(Verdict("p1", "", Status.NOT_STARTED, (finding,)), 40)
    assert f"Next: {long}\n" in shown(Verdict("p1", "", Status.ACCEPTED, (), upcoming=long), 40)
    read = Verdict("p1", "", Status.ACCEPTED, (), walk_through="make solution PUZZLE=p1", upcoming="next.py")
    assert shown(read, 20).endswith("The solution: make solution PUZZLE=p1\nNext: next.py\n")


def test_colour_says_nothing_that_words_do_not(wrong: list[Verdict]) -> None:
    for verdict in wrong:
        plain = shown(verdict)
        coloured = shown(verdict, force_terminal=True, color_system="standard", no_color=False)
        assert "\x1b[" in coloured
        assert ANSI.sub("", coloured) == plain
        assert "\x1b[3" not in shown(verdict, force_terminal=True, no_color=True)


def test_a_report_names_line_reason_and_next_step(wrong: list[Verdict]) -> None:
    for verdict in wrong:
        text = " ".join(shown(verdict, 200).split())
        finding = verdict.findings[0]
        for part in (finding.title, finding.hint, f"[{finding.id}]"):
            assert " ".join(part.split()) in text
        assert "then check again" in text
        first = finding.title.split()[0]
        assert first[0] == first[0].upper() or first in SMALL or first.startswith("tl."), finding.title


def test_every_status_has_plain_words() -> None:
    assert set(PLAIN_WORDS) == set(Status)
    assert len(set(PLAIN_WORDS.values())) == len(Status)


@pytest.mark.parametrize("status", list(Status))
def test_every_status_can_be_shown(status: Status) -> None:
    finding = Finding("some-id", status, "Title", "Explanation.", "Hint.", Where(line=3, cell=2))
    verdict = Verdict("p1", "A puzzle", status, () if status is Status.ACCEPTED else (finding,), file="a.ipynb")
    assert PLAIN_WORDS[status] in shown(verdict)
    out = io.StringIO()
    Console(file=out, width=80).print(overview([verdict, verdict]))
    assert out.getvalue().count(PLAIN_WORDS[status].split()[0]) >= 2
    assert json.loads(dumps(as_dict(verdict)))["verdict"] == status.value


@pytest.mark.parametrize(
    ("worst", "first", "proven", "said"),
    [
        (Status.CRASHED, Status.WRONG, True, Status.PARTLY_RIGHT),
        (Status.NOT_A_NUMBER, Status.WRONG, False, Status.WRONG),
        (Status.OUT_OF_BOUNDS, Status.NOT_A_NUMBER, True, Status.NOT_A_NUMBER),
        (Status.PARTLY_RIGHT, Status.WRONG, True, Status.PARTLY_RIGHT),
        (Status.PARTLY_RIGHT, Status.DOES_NOT_COMPILE, True, Status.PARTLY_RIGHT),
        (Status.OUTPUT_FLOOD, Status.WRONG, True, Status.OUTPUT_FLOOD),
    ],
)
def test_the_headline_is_about_the_first_finding(worst: Status, first: Status, proven: bool, said: Status) -> None:
    """What is worse may come later; but a score of 0 needs its reason."""
    findings = tuple(Finding(f"{one.value}-id", one, "Title", "", "", Where(line=3)) for one in (first, worst))
    properties = (PropertyResult("rows", "Rows", proven, 100, ""),)
    verdict = Verdict("p1", "A puzzle", worst, findings, properties)
    assert shown(verdict).split("\n")[1].startswith(f"✗ {PLAIN_WORDS[said]}")
    assert as_dict(verdict)["verdict"] == worst.value


def test_text_of_the_student_is_shown_as_it_is_but_cannot_act(check_text: Callable[..., Verdict]) -> None:
    """Markup is text, control characters are gone; also in what the kernel prints."""
    loud = '    print("[bold]\\x1b[2J\\x07\\u202e<script>", n_cols)  # [red]\x1b[31m\n    row = '
    verdict = check_text(SOLUTION.replace("    row = ", loud).replace("mask=mask, other", "other"))
    report = shown(verdict, 200)
    assert "\x1b" not in report and "\x07" not in report and "\u202e" not in report
    assert "[bold]" in report and "<script>" in report
    assert "\\u001b" not in dumps(as_dict(verdict))


def test_prints_are_shown_with_their_program_and_case(check_text: Callable[..., Verdict]) -> None:
    verdict = check_text(old="    numerator =", new='    print("n", n_cols)\n    numerator =')
    assert verdict.accepted
    assert verdict.printed[0][0].startswith("a full block")
    assert verdict.printed[0][1].split("\n")[0] == "program 0: n [128]"
    assert "program 0: n [128]" in shown(verdict)


@given(st.text())
def test_clean_text_is_harmless(text: str) -> None:
    assert all(c.isprintable() or c in "\n\t\u200c\u200d" or ord(c) > 0xFFFF or c.isspace() for c in clean(text))
    assert clean(clean(text)) == clean(text)


NAMES = "王小明", "Åsa Öberg", "محمد", "דוד", "می\u200cخواهم", "👩\u200d🚀"
TURNS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_a_name_is_shown_as_it_is_written_but_turns_nothing_around() -> None:
    assert [*map(clean, NAMES)] == [*map(harmless, NAMES)] == [*NAMES]
    assert not any(map(is_odd, NAMES))
    for sign in TURNS + "\x1b":
        assert clean(f"a{sign}b") == harmless(f"a{sign}b") == "a�b" and is_odd(f"a{sign}b")


def test_long_text_is_cut_in_the_middle() -> None:
    verdict = cleaned(Verdict("p1", "x" * 10**6, Status.WRONG, ()))
    assert len(verdict.title) < 2100
    assert "[…]" in verdict.title


def test_json_is_strict() -> None:
    data = json.loads(
        dumps({"a": float("nan"), "b": [float("inf"), 1.5], "c": -float("inf")}), parse_constant=pytest.fail
    )
    assert data == {"a": "nan", "b": ["inf", 1.5], "c": "-inf"}


def test_no_points_are_shown_of_what_does_not_compile() -> None:
    verdict = check_kernel(named("p1_too_much_shared_memory"))
    text = shown(verdict)
    assert "0/100 points" in text and "25/25" not in text and "100 points on" not in text and "✓" not in text


def test_a_kernel_that_is_still_empty_is_not_called_a_mistake() -> None:
    stub = (ROOT / "solutions" / "p7_causal_backward.py").read_text()
    for name in ("dk_dv_kernel", "dq_kernel"):
        begin = stub.index("):  # fmt: skip", stub.index(f"def {name}"))
        end = stub.find("@triton.jit", begin)
        stub = stub[:begin] + "):  # fmt: skip\n    # FILL IN\n    pass\n\n\n" + (stub[end:] if end > 0 else "")
    verdict = check("p7", from_cells([("code", stub)], "kernels.py", numbered=False)).verdict
    assert "Right so far. Fill in the next kernel" in shown(verdict)


def test_two_numbers_of_reads_that_differ_are_told_apart() -> None:
    assert apart(2.3589, 2.3571) == ("2.359", "2.357")
    assert apart(1.0, 1.0) == ("1.00", "1.00")
