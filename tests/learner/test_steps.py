"""A report asks first, and has the hint when the same is seen again; `make hint` says it at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker import catalog
from tests.kernels import named
from tests.learner.conftest import Course, solution_text

ID = "max-starts-at-zero"
[IDEA] = [m for m in catalog.load("p3").misconceptions if m.id == ID]
WRONG = named("p3_max_starts_at_zero")
ASKED, TOLD = f"puzzle p3: not solved, asked about {ID}\n", f"puzzle p3: not solved, told about {ID}\n"
START = 20  # characters of a text, which no line of a report breaks


@pytest.fixture
def wrong(course: Course) -> Course:
    """A course whose puzzle p3 was filled in with a mistake."""
    course.script("p3").write_text(WRONG.text)
    return course


def seen(report: str) -> tuple[bool, bool]:
    """Whether the question is shown, and whether the hint is."""
    return (f"Find out: {IDEA.question[:START]}" in report, f"Try: {IDEA.hint[:START]}" in report)


def test_the_hint_comes_when_the_same_is_seen_again(wrong: Course) -> None:
    first = wrong.run("check", "3").stdout
    assert (seen(first), wrong.progress) == ((True, False), ASKED)
    assert "make hint PUZZLE=p3" in first
    again = wrong.run("check", "3").stdout
    assert (seen(again), wrong.progress) == ((False, True), TOLD)  # in the question's place
    assert "make hint" not in again
    assert seen(wrong.run("check", "3", "--full").stdout) == (True, True)


def test_who_asks_gets_it_at_once_and_then_the_lessons_own(wrong: Course) -> None:
    wrong.run("check", "3")
    wrong.run("step", "3")  # which does not show it
    told = wrong.run("hint", "3")
    assert (told.returncode, seen(told.stdout), wrong.progress) == (0, (False, True), TOLD)
    assert IDEA.title in told.stdout
    assert "hint 1 of 3" in wrong.run("hint", "3").stdout


def test_what_was_fixed_since_has_no_hint(wrong: Course) -> None:
    wrong.run("check", "3")
    wrong.script("p3").write_text(named("p3_new_part_not_rescaled").text)
    assert "hint 1 of 3" in wrong.run("hint", "3").stdout


def test_success_forgets_what_was_wrong(wrong: Course) -> None:
    wrong.run("check", "3")
    wrong.script("p3").write_text(solution_text("p3"))
    assert wrong.run("check", "3").returncode == 0
    assert "about" not in wrong.progress


def test_where_nothing_can_be_noted_nothing_is_withheld(wrong: Course) -> None:
    wrong.root.chmod(0o555)
    try:
        assert seen(wrong.run("check", "3", "--full").stdout) == (True, True)
    finally:
        wrong.root.chmod(0o755)


def test_another_file_is_told_everything_and_nothing_is_noted(course: Course, tmp_path: Path) -> None:
    report = course.run("check", "3", "--full", "--file", str(WRONG.write(tmp_path))).stdout
    assert (seen(report), course.progress) == ((True, True), "")


def test_a_grade_has_the_hint_and_does_not_ask_for_another_check(wrong: Course) -> None:
    report = wrong.run("check", "3", "--key", "autumn", "--unsafe-no-sandbox").stdout
    assert (seen(report), wrong.progress) == ((True, True), "")
    assert "check again" not in report
