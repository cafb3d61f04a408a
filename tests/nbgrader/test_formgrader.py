"""nbgrader's formgrader in a real browser: scores, a report, a grade by hand, and grading again.

Screenshots are kept in build/screenshots.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browsers import TOKEN, blank_page, jupyter, picture, violations
from tests.nbgrader.conftest import ASSIGNMENT, RIGHT, Course, filled


@pytest.fixture(scope="module")
def server(shared_course: Course) -> Iterator[str]:
    """The address of a Jupyter server that was started in a course's folder; two students have been graded."""
    shared_course.put("anna", filled(RIGHT))
    shared_course.put("ben", filled(RIGHT.replace('other=-float("inf")', "other=0.0")))
    assert shared_course.run("autograde", ASSIGNMENT).status == 0
    shared_course.put("cleo", filled(RIGHT.replace("numerator / denominator", "numerator")))
    started = [sys.executable, "-m", "jupyter_server", f"--ServerApp.root_dir={shared_course.folder}"]
    with jupyter(lambda options: [*started, *options.split()], shared_course.folder) as address:
        yield address


@pytest.fixture(scope="module")
def page(server: str) -> Iterator[Any]:
    with blank_page() as page:
        page.goto(f"{server}formgrader?token={TOKEN}")  # from here on a cookie does
        yield page


def row(page: Any, server: str, name: str) -> Any:
    """A student's line in the list of submissions that can be graded."""
    page.goto(f"{server}formgrader/manage_submissions/{ASSIGNMENT}")
    line = page.locator("tr", has_text=name)
    line.wait_for()
    return line


def test_an_instructor_reads_changes_and_grades_again(page: Any, server: str, shared_course: Course) -> None:
    assert "65 / 100" in re.sub(r"\s+", " ", row(page, server, "ben").inner_text())
    picture(page, "formgrader-scores")

    page.goto(f"{server}formgrader/gradebook/{ASSIGNMENT}/{ASSIGNMENT}")
    page.locator("tbody tr a", has_text="Submission").first.wait_for()
    for link in [a.get_attribute("href") for a in page.locator("tbody tr a", has_text="Submission").all()]:
        page.goto(f"{server.rstrip('/')}{link}")
        page.locator(".score").first.wait_for()
        if page.locator("text=The padding is counted in the sum").count():
            break
    assert page.locator("text=65/100 points").count() == 1
    unfolds = page.locator("summary").all()
    assert {one.evaluate("one => getComputedStyle(one).display") for one in unfolds} == {"list-item"}  # with a triangle
    page.locator("text=65/100 points").scroll_into_view_if_needed()
    picture(page, "formgrader-report")

    score = page.locator("input.score")
    assert score.get_attribute("placeholder") == "65"
    with page.expect_response(lambda response: "/api/grade/" in response.url and response.request.method == "PUT"):
        score.fill("60")
        score.press("Tab")
    assert shared_course.scores()["ben"] == 60

    row(page, server, "ben").locator(".autograde a").click()
    page.locator("#success-modal", has_text="Successfully autograded").wait_for()
    picture(page, "formgrader-graded-again")
    assert shared_course.scores()["ben"] == 60
    grade = shared_course.grade("ben")
    assert (grade["auto_score"], grade["manual_score"], grade["needs_manual_grade"]) == (65, 60, True)
    assert "60 / 100" in re.sub(r"\s+", " ", row(page, server, "ben").inner_text())


def test_a_submission_is_judged_from_the_formgrader(page: Any, server: str, shared_course: Course) -> None:
    row(page, server, "cleo").locator(".autograde a").click()
    page.locator("#success-modal", has_text="Successfully autograded").wait_for()
    assert shared_course.scores()["cleo"] == 0
    assert "✗ rows of any length" in shared_course.report("cleo")


def test_nothing_is_wrong_with_a_report_in_feedback(page: Any, server: str, shared_course: Course) -> None:
    assert shared_course.run("generate_feedback", ASSIGNMENT).status == 0
    page.set_viewport_size({"width": 400, "height": 900})
    page.goto((shared_course.folder / "feedback" / "ben" / ASSIGNMENT / f"{ASSIGNMENT}.html").as_uri())
    report = "div[style*='border-left:4px']"
    assert page.locator(report).count() == 1
    assert violations(page, report) == []
    assert page.eval_on_selector(report, "one => one.scrollWidth <= one.clientWidth + 1")
