"""Deadlines, late policy, and how many attempts count: nbgrader's own steps, configured by course.toml."""

from __future__ import annotations

import io
import json
import os
import shutil
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checker import catalog
from checker.commands.cli import cli
from checker.course.verdict import Status, Verdict
from checker.grading.found import found, of_assignment
from checker.grading.settings import Late, Settings
from tests.conftest import typed
from tests.nbgrader.conftest import ASSIGNMENT, RIGHT, Course, Notebook, filled

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
        (Late("per day", 30, most_percent=150), 50 * DAY, 80),
    ],
)
def test_what_a_late_submission_loses(late: Late, seconds: float, lost: float) -> None:
    assert late.penalty(80, seconds) == pytest.approx(lost)


def deadline(course: Course, when: datetime) -> None:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course.folder}/gradebook.db") as gradebook, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gradebook.update_or_create_assignment(ASSIGNMENT, duedate=when)


@pytest.mark.parametrize("percent", [0, 50, 100])
def test_what_does_not_compile_gets_what_the_course_gives(percent: int) -> None:
    """Of the points that were proven; other submissions that score 0 get nothing in any course."""
    course = Settings(Path(), does_not_compile=percent)
    proven = tuple(replace(one, passed=True) for one in catalog.load("p1").unproven)
    for status, worth in ((Status.DOES_NOT_COMPILE, percent), (Status.FORBIDDEN, 0), (Status.ACCEPTED, 100)):
        verdict = course.weighed(Verdict("p1", "", status, (), proven))
        assert abs(verdict.earned - worth) <= len(proven)
        assert verdict.earned == sum(map(verdict.worth, verdict.properties))
        assert all(verdict.counts(one) == (worth > 0) for one in verdict.properties)


def test_late_work_loses_points_of_the_judges_and_none_that_were_given_by_hand(course: Course) -> None:
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
    assert course.scores() == {"early": 100, "late": 50}
    course.grade("late", manual_score=None)
    course.settings('policy = "per day"', 'policy = "zero"')
    assert course.run("autograde", ASSIGNMENT, "--force").status == 0
    assert course.scores() == {"early": 100, "late": 0}


def test_who_has_more_time_is_late_only_after_it(course: Course) -> None:
    """By an extension; or as ten days from handing out to the deadline are fifteen; or by both."""
    course.settings('policy = "none"', 'policy = "per day"')
    due = datetime(2030, 5, 11, 12)
    for name, days in (("anna", 1.5), ("ben", 1.5), ("o'cleo @x.edu", 2.5), ("dora", 4.5), ("eve", 6.5)):
        path = course.put(name, filled(RIGHT))
        (path.parent / "timestamp.txt").write_text(f"{due + timedelta(days=days)} UTC")
    deadline(course, due)
    assert course.run("autograde", ASSIGNMENT).status == 0
    assert course.scores() == {"anna": 80, "ben": 80, "o'cleo @x.edu": 70, "dora": 50, "eve": 30}
    toml = course.folder / "course.toml"
    more = f"""[extension.{ASSIGNMENT}]\nanna = 2\n"o'cleo @x.edu" = 1.5\neve = 1\n[accommodations]\n"""
    toml.write_text(f"{toml.read_text()}\n{more}dora = 1.5\neve = 1.5\n")
    said = " ".join(CliRunner().invoke(cli, ["round", "p1", "--course", str(course.folder)]).output.split())
    assert "gives more time, but not from when on: write a time below [handed_out]" in said
    assert course.scores() == {"anna": 100, "ben": 80, "o'cleo @x.edu": 90, "dora": 50, "eve": 40}
    toml.write_text(f"{toml.read_text()}[handed_out]\n{ASSIGNMENT} = 2030-05-01T14:00:00+02:00\n")
    expected = {"anna": 100, "ben": 80, "o'cleo @x.edu": 90, "dora": 100, "eve": 90}
    assert CliRunner().invoke(cli, ["round", "p1", "--course", str(course.folder)]).exit_code == 0
    assert course.scores() == expected
    assert course.run("autograde", ASSIGNMENT, "--force").status == 0
    assert course.scores() == expected
    toml.write_text(toml.read_text().replace("anna = 2", "Ana = 2"))
    course.hand_in("anna", filled(RIGHT))
    done = course.run("collect", ASSIGNMENT)
    assert done.status == 0 and "gives Ana more time, and nobody of this name" in done.said, done.said
    assert "gives anna" not in done.said and "gives eve" not in done.said


def test_the_best_attempt_counts_after_what_late_work_loses(course: Course) -> None:
    due = datetime(2030, 5, 10, 12)
    deadline(course, due)
    course.settings('policy = "none"', 'policy = "per day"')
    inbound = course.exchange / "flash-puzzles" / "inbound"

    def hand_in(change: Callable[[Notebook], object] | bytes, days: float) -> None:
        course.hand_in("ida", change)
        new = max(inbound.glob("ida+*"), key=lambda path: path.stat().st_ctime)
        new.rename(inbound / f"ida+{ASSIGNMENT}+{due + timedelta(days=days)} UTC+{days}")

    def score(**changes: str) -> float | str:
        for old, new in changes.items():
            course.settings(f"{old} = ", f"{old} = {new} # ")
        assert CliRunner().invoke(cli, ["round", "p1", "--course", str(course.folder)]).exit_code == 0
        return course.scores()["ida"]

    hand_in(filled(RIGHT.replace("numerator / denominator", "numerator")), -2)
    worst = score()
    hand_in(filled(RIGHT), -1)
    assert worst != score() == 100
    hand_in(filled(RIGHT), 1.5)
    hand_in(filled(RIGHT.replace("numerator / denominator", "numerator")), -0.5)
    assert score() == 100
    assert score(counts='"newest"') == 80  # in place of the one that was collected
    assert score(counts='"best"') == 100
    assert score(allowed=f"1\n{ASSIGNMENT} = 0") == 100
    assert score(**{ASSIGNMENT: "1"}) == worst
    assert score(**{ASSIGNMENT: "0"}) == 100
    hand_in(b"{", 2)
    assert score() == 100  # late, it could have 80 at most
    for days in ("-1", "1.5"):
        shutil.rmtree(next(inbound.glob(f"ida+*+{days}")))
    assert score() == "needs grading"


WRONG = RIGHT.replace('other=-float("inf")', "other=0.0")


def test_students_are_told_as_much_as_the_course_says(course: Course) -> None:
    """And who teaches it everything: records keep it, and the policy may change without judging again."""
    finding, fix, place = "The padding is counted in the sum", "Try:", "failed with"
    course.put("kim", filled(WRONG))
    plain = (course.folder / "course.toml").read_text()
    seen = {}
    for detail, said in (
        ("full", 'detail = "full"'),
        ("finding", f'detail = "points"\n{ASSIGNMENT} = "finding"'),
        ("points", 'detail = "points"'),
    ):
        (course.folder / "course.toml").write_text(plain.replace('detail = "full"', said))
        assert course.run("autograde", ASSIGNMENT, "--student=kim", "--force").status == 0
        assert course.run("generate_feedback", ASSIGNMENT, "--student=kim", "--force").status == 0
        page = (course.folder / "feedback" / "kim" / ASSIGNMENT / f"{ASSIGNMENT}.html").read_text()
        shown = {text for text in (finding, fix, place) if text in page}
        assert shown == {text for text in (finding, fix, place) if text in course.report("kim")}
        seen[detail] = shown
        assert course.scores()["kim"] == 65
    assert seen == {"full": {finding, fix, place}, "finding": {finding, place}, "points": set()}
    done = typed(
        "grade", str(course.folder / "submitted" / "kim"), "--course", ".", "--json", "all.json", cwd=course.folder
    )
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((course.folder / "all.json").read_text())
    assert row["result"]["findings"][0]["hint"] and row["result"]["findings"][0]["explanation"]
    (course.folder / "course.toml").write_text(plain)


CANVAS = ("smithbob_12345_987655_p1_naive_softmax.ipynb", "wuli_LATE_12346_987656_p1_naive_softmax-1.ipynb")
MOODLE = tuple(f"{who}_assignsubmission_file_/p1_naive_softmax.ipynb" for who in ("Bo Wu_7", "Bo Wu_8", "Li Wu_9"))
FLAT = ("Ann O'Dea_11_assignsubmission_file_mine.ipynb",)


@pytest.mark.parametrize(
    ("files", "students"),
    [
        (CANVAS, {"smithbob_12345", "wuli_12346"}),
        (MOODLE, {"Bo Wu_7", "Bo Wu_8", "Li Wu"}),
        (FLAT, {"Ann O'Dea"}),
        (("mallory_1_2_smithbob_12345_987655_p1_naive_softmax.ipynb",), {"mallory_1"}),
        (("Mal_1_assignsubmission_file_/smithbob_12345_987655_p1_naive_softmax.ipynb",), {"Mal"}),
        (("Mal_1_assignsubmission_file_Bo Wu_7_assignsubmission_file_x.ipynb",), {"Mal"}),
        (("victim_11_100_p1.ipynb", "mallory_22_101_work/absent_33_1_p1.ipynb"), {"victim_11", "mallory_22"}),
        (("Bo Wu_7_assignsubmission_file_/a/x.ipynb", "Bo Wu_7_assignsubmission_file_/b/x.ipynb"), {"Bo Wu"}),
        (("notes.txt", "p1_naive_softmax.ipynb"), set()),
    ],
)
@pytest.mark.parametrize("zipped", [True, False])
def test_what_learning_platforms_export_is_collected(
    course: Course, files: tuple[str, ...], students: set[str], zipped: bool
) -> None:
    """As nbgrader wants it: downloaded/ASSIGNMENT/archive. Nobody hands in under another's name."""
    for name in ("submitted", "downloaded"):
        shutil.rmtree(course.folder / name, ignore_errors=True)
    archive = course.folder / "downloaded" / ASSIGNMENT / "archive"
    archive.mkdir(parents=True)
    for name in files:
        place = (course.folder.parent / "export" if zipped else archive) / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(course.folder / "source" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb", place)
    if zipped:
        shutil.make_archive(str(archive / "submissions"), "zip", course.folder.parent / "export")
        shutil.rmtree(course.folder.parent / "export")
    assert course.run("zip_collect", ASSIGNMENT).status == 0
    folder = course.folder / "submitted"
    assert {path.name for path in folder.glob("*")} == students
    if students:
        assert {work.student for work in found([folder])} == students
        assert course.run("autograde", ASSIGNMENT).status == 0
        assert {score for name, score in course.scores().items() if name in students} == {100}


def test_no_students_archive_stops_the_collecting_of_the_others(course: Course) -> None:
    """One that is none, one that leads out of its folder, one with somebody else's name in it, an enormous one."""
    for name in ("submitted", "downloaded"):
        shutil.rmtree(course.folder / name, ignore_errors=True)
    archive = course.folder / "downloaded" / ASSIGNMENT / "archive"
    archive.mkdir(parents=True)
    right = (course.folder / "source" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_bytes()
    members = {"../../evil.ipynb": right, "/absent_33_1_p1.ipynb": right, "zeros": bytes(200 << 20)}
    with zipfile.ZipFile(archive / "submissions.zip", "w", zipfile.ZIP_DEFLATED) as outer:
        outer.writestr("anna_1_100_p1.ipynb", right)
        outer.writestr("broken_2_101_work.zip", b"PK no archive")
        for number, (name, data) in enumerate(members.items(), start=3):
            inner = io.BytesIO()
            with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as students:
                students.writestr(name, data)
            outer.writestr(f"student_{number}_{number}_work.zip", inner.getvalue())
    done = course.run("zip_collect", ASSIGNMENT)
    assert done.status == 0 and done.said.count("cannot be unpacked") == 2, done.said
    folders = course.folder.glob("submitted/*/*")
    names = {folder.parent.name: {path.name for path in of_assignment(folder)} for folder in folders}
    kept = {"anna_1": {"p1.ipynb"}, "student_3": {"evil.ipynb"}, "student_4": {"absent_33_1_p1.ipynb"}}
    # What cannot be unpacked was handed in as well, and waits for somebody to look at it.
    assert names == {**kept, "broken_2": {"work.zip"}, "student_5": {"work.zip"}}
    assert not list(course.folder.parent.rglob("zeros"))


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
    assert done.status == 0 and done.said.count("is not a plain file") == 3
    submitted = course.folder / "submitted"
    assert {path.name for path in (submitted / "kim" / ASSIGNMENT).iterdir()} == {
        f"{ASSIGNMENT}.ipynb",
        "timestamp.txt",
        "submission_secret.txt",
    }
    assert (submitted / "leo" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").exists()


def test_what_cannot_be_copied_does_not_stop_the_others(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not to be read, as if by another user than root; nested too deep; too big, and no room on a disk."""
    names = ("mia", "max", "moe", "noa")
    for name in names:
        course.hand_in(name, filled(RIGHT))
    mia, deep, big, _ = (next((course.exchange / "flash-puzzles" / "inbound").glob(f"{name}+*")) for name in names)
    (mia / "unreadable").write_text("")
    (deep / "/".join(["x"] * 900)).mkdir(parents=True)
    with (big / "big").open("wb") as file:
        file.truncate(10**9)
    opened = os.open

    def refusing(path: Any, *rest: Any, **named: Any) -> int:
        if path == "unreadable":
            raise PermissionError(13, "Permission denied", path)
        return opened(path, *rest, **named)

    monkeypatch.setattr(os, "open", refusing)
    done = course.run("collect", ASSIGNMENT, "--update")
    assert done.status == 0 and done.said.count("was not collected") == 3, done.said
    assert "Permission denied" in done.said and "nested" in done.said and "max_dir_size" in done.said
    submitted = course.folder / "submitted"
    assert [name for name in names if (submitted / name / ASSIGNMENT).exists()] == ["noa"]


def test_an_odd_name_in_the_exchange_does_not_stop_the_others(course: Course) -> None:
    """Anybody can write there. A link in a submission's place would hand in another student's work."""
    course.hand_in("olga", filled(RIGHT))
    assert course.run("collect", ASSIGNMENT, "--update").status == 0
    inbound, when = course.exchange / "flash-puzzles" / "inbound", "2030-01-01 00:00:00 UTC"
    for name in ("olaf", f"olaf+{ASSIGNMENT}", f"olaf+{ASSIGNMENT}+yesterday", f"+{ASSIGNMENT}+{when}+x"):
        (inbound / name).mkdir()
    (inbound / f"ole+{ASSIGNMENT}+{when}+x").symlink_to(course.folder / "submitted" / "olga" / ASSIGNMENT)
    (inbound / f"ove+{ASSIGNMENT}+{when}+x").symlink_to("nowhere")
    (inbound / f"oda+{ASSIGNMENT}+{when}+x").write_text("")
    course.hand_in("otto", filled(RIGHT))
    done = course.run("collect", ASSIGNMENT, "--update")
    assert done.status == 0 and done.said.count("is not a submission") == 5, done.said
    there = {path.name for path in (course.folder / "submitted").iterdir()}
    assert {"olga", "otto"} <= there and not {"ole", "ove", "oda", "olaf"} & there
    assert ASSIGNMENT not in there  # what a student without a name would have handed in


def test_the_time_that_counts_is_the_one_of_submitting(course: Course) -> None:
    """It also stands in a file that the student can change, and at which `collect --update` would end."""
    course.hand_in("quinn", filled(RIGHT))
    (quinn,) = (course.exchange / "flash-puzzles" / "inbound").glob("quinn+*")
    submitted = (quinn / "timestamp.txt").read_text()
    for forged in (b"2001-01-01 00:00:00 UTC", b"yesterday", b"\xff"):
        (quinn / "timestamp.txt").write_bytes(forged)
        for _ in range(2):
            course.run("collect", ASSIGNMENT, "--update", ends=0)
        collected = course.folder / "submitted" / "quinn" / ASSIGNMENT
        assert (collected / "timestamp.txt").read_text() == submitted
        shutil.rmtree(collected)


def test_a_link_put_in_place_while_it_is_collected_is_not_followed(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = course.folder.parent / "another secret"
    secret.mkdir()
    (secret / "inside").write_text("the key")
    course.hand_in("pia", filled(RIGHT))
    (pia,) = (course.exchange / "flash-puzzles" / "inbound").glob("pia+*")
    (pia / "folder").mkdir()
    (pia / "folder" / "inside").write_text("mine")
    (pia / "file").write_text("mine")
    opened, seen = os.open, []

    def exchanging(path: Any, *rest: Any, **named: Any) -> int:
        if path in ("file", "folder") and path not in seen:  # after it was looked at, before it is opened
            seen.append(path)
            (pia / path).rename(course.folder.parent / f"old {path}")
            (pia / path).symlink_to(secret / "inside" if path == "file" else secret)
        return opened(path, *rest, **named)

    monkeypatch.setattr(os, "open", exchanging)
    assert course.run("collect", ASSIGNMENT, "--update").status == 0
    assert sorted(seen) == ["file", "folder"]
    texts = [path.read_text() for path in (course.folder / "submitted" / "pia").rglob("*") if path.is_file()]
    assert texts and "the key" not in texts
