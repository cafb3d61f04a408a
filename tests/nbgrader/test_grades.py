"""`python -m checker grades`: a real gradebook, and what a learning platform has exported, good and bad."""

from __future__ import annotations

import csv
import shutil
import stat
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.course.status import Misuse
from tests.conftest import installed
from tests.nbgrader.conftest import ASSIGNMENT, RIGHT, ROOT, Course, filled
from tests.nbgrader.test_policies import deadline

installed("nbgrader")

from checker.commands.grades import grades  # noqa: E402

EXPORTS = Path(__file__).parent / "exports"
HALF = RIGHT.replace("numerator / denominator", "numerator")


def said(*arguments: object) -> str:
    """What the verb prints. Raises Misuse."""
    done = CliRunner().invoke(grades, [str(one) for one in arguments], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return " ".join(done.output.split())


def column(path: Path, heading: str) -> dict[str, str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return {row["SIS Login ID"]: row[heading] for row in csv.DictReader(file)}


def test_a_gradebook_becomes_grades_in_canvas(course: Course) -> None:
    """Right, late, changed by hand, wrong; one that could not be graded, one that is not handed in, one of nobody."""
    course.settings('policy = "none"', 'policy = "per day"')
    due = datetime(2030, 5, 10, 12)
    kernels = {"ann": RIGHT, "smithbob_12345": RIGHT, "eve": RIGHT, "zed": HALF}
    for name, kernel in kernels.items():
        path = course.put(name, filled(kernel))
        late = 1.5 if name == "smithbob_12345" else -1
        (path.parent / "timestamp.txt").write_text(f"{due + timedelta(days=late)} UTC")
    deadline(course, due)
    done = course.run("autograde", ASSIGNMENT, ends=0)
    course.grade("ann", manual_score=61.25)
    course.put("eve", filled(HALF))  # and nobody has graded that yet
    assert course.run("db", "student", "add", "cy", "--email=cy@example.edu").status == 0
    assert course.scores() == {
        "ann": 61.25,
        "smithbob_12345": 80,
        "eve": "needs grading",
        "zed": 0.0,
        "cy": "not handed in",
    }
    export = course.folder.parent / "export.csv"
    shutil.copy(EXPORTS / "canvas.txt", export)
    report = said("--lms", "canvas", "--course", course.folder, export)
    written = course.folder / "grades-canvas.csv"
    before = column(export, f"{ASSIGNMENT} (4711)")
    assert column(written, f"{ASSIGNMENT} (4711)") == before | {"ann": "61.25", "bob": "80"}
    assert before["eve"] == "77.00" and export.read_bytes() == (EXPORTS / "canvas.txt").read_bytes()
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert f"{ASSIGNMENT}: 2 grades, in the column {ASSIGNMENT} (4711)." in report
    assert "Without a grade yet, and left as they were: eve." in report
    assert "Not handed in, and left as they were: 1." in report
    assert "1 in nbgrader whom no line of export.csv fits: zed." in report
    assert "1 in export.csv whom nobody in nbgrader fits: Student, Test (0f3bf4d6)." in report
    with pytest.raises(Misuse, match="Name another file"):
        said("--lms", "canvas", "--course", course.folder, written)

    moodle = course.folder.parent / "moodle.txt"
    moodle.write_text("Username\tLast downloaded from this course\tp1\nann\t1\t-\n\x1b[31mmallory\t1\t-\n")
    another = course.folder.parent / "another.txt"
    arguments = ["--lms", "moodle", "--course", str(course.folder), "--to", str(another), str(moodle)]
    done = subprocess.run([sys.executable, "-m", "checker", "grades", *arguments], cwd=ROOT, capture_output=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert another.read_text() == moodle.read_text().replace("ann\t1\t-", "ann\t1\t61.25")
    assert b"mallory" in done.stdout and b"\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("lms", "data", "sentence"),
    [
        ("canvas", None, r"cannot be read: No such file"),
        ("canvas", b"", "is empty"),
        (
            "canvas",
            "moodle.txt",
            r'Canvas.*no column "Student" or "LastName", and no.*has: First name;.*2 more.*Moodle\'s\.',
        ),
        ("moodle", "canvas.txt", r'Moodle.*or "Username", and no "Last.*It has: Student; ID;.*Canvas\'s\.'),
        ("moodle", b"Vorname,Nachname,E-Mail-Adresse\n", "in English"),
        ("canvas", b'Student,ID,Section\n"x', "cannot be read as CSV"),
        ("canvas", b"\x1b[2J,ID,Section\nx", r"It has: �\[2J; ID"),
        ("canvas", "canvas.txt", "gradebook.db"),
    ],
)
def test_misuse_is_one_sentence(lms: str, data: bytes | str | None, sentence: str, tmp_path: Path) -> None:
    export, folder = tmp_path / "export.csv", tmp_path / "course"
    if data is not None:
        export.write_bytes((EXPORTS / data).read_bytes() if isinstance(data, str) else data)
    folder.mkdir()
    (folder / "course.toml").write_text("")
    with pytest.raises(Misuse, match=sentence):
        said("--lms", lms, "--course", folder, export)
    assert [path.name for path in folder.iterdir()] == ["course.toml"]


def test_a_course_that_is_not_there_is_misuse(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="nowhere"):
        said("--lms", "canvas", "--course", tmp_path / "nowhere", EXPORTS / "canvas.txt")


def test_what_cannot_be_written_is_misuse(course: Course) -> None:
    course.put("ann", filled(RIGHT))
    assert course.run("autograde", ASSIGNMENT, "--force").status == 0
    with pytest.raises(Misuse, match="could not be written"):
        said("--lms", "canvas", "--course", course.folder, "--to", course.folder, EXPORTS / "canvas.txt")
