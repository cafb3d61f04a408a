"""Feedback goes through nbgrader's exchange to each student, whatever the notebook was called and whoever is odd."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import SOLUTION
from tests.nbgrader.conftest import ASSIGNMENT, RIGHT, Course, filled

SECRET = "submission_secret.txt"
Change = Callable[[Path], object]


def work(course: Course, name: str, called: str) -> Path:
    """The right kernel in a copy of the notebook."""
    stub = course.work(name)
    notebook = json.loads(stub.read_text())
    filled(RIGHT)(notebook)
    stub.with_name(called).write_text(json.dumps(notebook))
    return stub


def renamed(course: Course, name: str) -> None:
    work(course, name, "Anna Homework.ipynb").unlink()


def copied(course: Course, name: str) -> None:
    work(course, name, f"{ASSIGNMENT}-Copy1.ipynb").unlink()


def beside_the_stub(course: Course, name: str) -> None:
    work(course, name, f"{ASSIGNMENT}_final.ipynb")


def in_a_file(course: Course, name: str) -> None:
    course.work(name).with_suffix(".py").write_text(SOLUTION)


CLASS = {"anna": renamed, "ben": copied, "cleo": beside_the_stub, "dan": in_a_file}
ODD: dict[str, Change] = {  # what a secret may be once it was collected, and what an instructor may put there by hand
    "missing": Path.unlink,
    "empty": lambda secret: secret.write_text(""),
    "folder": lambda secret: (secret.unlink(), secret.mkdir()),
    "binary": lambda secret: secret.write_bytes(b"\xff"),
    "timeless": lambda secret: secret.with_name("timestamp.txt").unlink(),
}


@pytest.fixture(scope="module")
def released(shared_course: Course) -> Iterator[Course]:
    for name, hand_in in CLASS.items():
        hand_in(shared_course, name)
        assert shared_course.student(name, "submit", ASSIGNMENT).status == 0
    for name in ODD:
        shared_course.hand_in(name, filled(RIGHT))
    assert shared_course.run("collect", ASSIGNMENT).status == 0
    for name, change in ODD.items():
        change(shared_course.folder / "submitted" / name / ASSIGNMENT / SECRET)
    for command in ("autograde", "generate_feedback"):
        shared_course.run(command, ASSIGNMENT, ends=0)
    yield shared_course


def test_one_who_cannot_get_feedback_costs_nobody_else(released: Course) -> None:
    done = released.run("release_feedback", ASSIGNMENT, ends=0)
    left_out = [name for name in (*CLASS, *ODD) if f"The feedback of {name} was not released" in done.said]
    assert left_out == ["missing", "empty", "folder", "binary"]


@pytest.mark.parametrize("name", [*CLASS, "timeless"])
def test_feedback_comes_under_the_name_that_was_handed_in(released: Course, name: str) -> None:
    released.run("release_feedback", ASSIGNMENT, f"--student={name}", ends=0)
    handed_in = {path.stem for path in (released.homes / name / ASSIGNMENT).glob("*.ipynb")}
    fetched = released.student(name, "fetch_feedback", ASSIGNMENT)
    assert fetched.status == 0 and "Could not find" not in fetched.said, fetched.said
    pages = list((released.homes / name / ASSIGNMENT / "feedback").rglob("*.html"))
    assert {page.stem for page in pages} == handed_in != set()
    assert all("100/100 points" in page.read_text() for page in pages)
