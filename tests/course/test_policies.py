"""Deadlines, late policy, and how many attempts count: nbgrader's own steps, configured by course.toml."""

from __future__ import annotations

import os
import shutil
import warnings
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from checker.course.settings import Late
from tests.course.conftest import ASSIGNMENT, RIGHT, Course, filled

DAY = 86400.0


@pytest.mark.parametrize(
    ("late", "seconds", "lost"),
    [
        (Late(), 10 * DAY, 0),
        (Late("zero"), 1, 80),
        (Late("zero", grace_minutes=5), 299, 0),
        (Late("per day", 10), 1, 8),
        (Late("per day", 10), DAY, 8),
        (Late("per day", 10), DAY + 1, 16),
        (Late("per day", 10, grace_minutes=60), DAY + 3600, 8),
        (Late("per day", 30, most_percent=50), 5 * DAY, 40),
        (Late("per day", 30), 50 * DAY, 80),
    ],
)
def test_what_a_late_submission_loses(late: Late, seconds: float, lost: float) -> None:
    assert late.penalty(80, seconds) == pytest.approx(lost)


def deadline(course: Course, when: datetime) -> None:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course.folder}/gradebook.db") as gradebook, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gradebook.update_or_create_assignment(ASSIGNMENT, duedate=when)


def test_late_work_loses_points_and_manual_grades_too(course: Course) -> None:
    course.settings('policy = "none"', 'policy = "per day"')
    handed_in = datetime(2030, 5, 10, 12)
    for name, days in (("early", -1), ("late", 1.5)):
        path = course.put(name, filled(RIGHT))
        (path.parent / "timestamp.txt").write_text(f"{handed_in + timedelta(days=days)} UTC")
    deadline(course, handed_in)
    assert course.run("autograde", ASSIGNMENT).status == 0
    assert course.scores() == {"early": 100, "late": 80}
    course.grade("late", manual_score=50.0)
    assert course.run("autograde", ASSIGNMENT, "--force").status == 0
    assert course.scores() == {"early": 100, "late": 40}
    course.settings('policy = "per day"', 'policy = "zero"')
    assert course.run("autograde", ASSIGNMENT, "--force").status == 0
    assert course.scores() == {"early": 100, "late": 0}


def test_the_newest_of_the_attempts_that_count_is_collected(course: Course) -> None:
    for attempt in (1, 2, 3):
        course.hand_in("ida", filled(f"{RIGHT}\n# attempt {attempt}"))
    collected = course.folder / "submitted" / "ida" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"

    def attempt_collected() -> str:
        assert course.run("collect", ASSIGNMENT, "--update").status == 0
        return Path(collected).read_text().partition("# attempt ")[2][0]

    course.settings("allowed = 0", "allowed = 2")
    assert attempt_collected() == "2"
    course.settings("allowed = 2", f"allowed = 1\n{ASSIGNMENT} = 0")
    assert attempt_collected() == "3"


def test_only_plain_files_are_collected(course: Course) -> None:
    """A link in the exchange leads to what the instructor may read; a pipe would wait for ever."""
    secret = course.folder.parent / "secret"
    secret.write_text("the key")
    course.hand_in("kim", filled(RIGHT))
    course.hand_in("leo", filled(RIGHT))
    (kim,) = (course.exchange / "flash-puzzles" / "inbound").glob("kim+*")
    (kim / "notes.html").symlink_to(secret)
    (kim / "folder").symlink_to(secret.parent)
    os.mkfifo(kim / "pipe")
    done = course.run("collect", ASSIGNMENT, "--update")
    assert done.status == 0 and done.said.count("is no plain file") == 3
    submitted = course.folder / "submitted"
    assert {path.name for path in (submitted / "kim" / ASSIGNMENT).iterdir()} == {
        f"{ASSIGNMENT}.ipynb",
        "timestamp.txt",
        "submission_secret.txt",
    }
    assert (submitted / "leo" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").exists()


def test_what_cannot_be_copied_does_not_stop_the_others(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    course.hand_in("mia", filled(RIGHT))
    course.hand_in("noa", filled(RIGHT))
    whole = shutil.copytree

    def failing(src: str, *rest: Any, **named: Any) -> Any:
        if "mia+" in str(src):
            raise shutil.Error([(src, "", "Permission denied")])
        return whole(src, *rest, **named)

    monkeypatch.setattr(shutil, "copytree", failing)
    done = course.run("collect", ASSIGNMENT, "--update")
    assert done.status == 0 and "mia+" in done.said and "was not collected" in done.said
    assert not (course.folder / "submitted" / "mia" / ASSIGNMENT).exists()
    assert (course.folder / "submitted" / "noa" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").exists()
