"""The archive for Classroom 50, published and run as Classroom 50 does: its documented steps, in folders like its own.

What the runner does is described in https://github.com/foundation50/classroom50/wiki/Advanced-Autograding (August
2026), and in the runner itself: `tar -czf ASSIGNMENT.tar.gz`, at most 10 MiB, unpacked afresh for each submission, and
`python ASSIGNMENT/autograder.py`, without arguments, in the student's checkout.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from checker import catalog
from checker.course import ladder
from checker.course.lesson import emptied
from checker.course.places import solution
from checker.course.verdict import Finding, Status, Verdict
from checker.grading import key, settings
from checker.publish.autograder.parts import Part
from checker.publish.classroom50 import archive
from checker.publish.classroom50.results import page
from tests.conftest import ROOT, SOLUTION, need, typed
from tests.nbgrader.test_guide import said

STUB = emptied((ROOT / "puzzles" / "p1_naive_softmax.py").read_text(), catalog.load("p1"))
PARTLY = (ROOT / "tests" / "wrong" / "p1_padding_loaded_as_zero.py").read_text()
OTHER = (ROOT / "tests" / "right" / "p1_two_dimensional.py").read_text()
NAME = "p1_naive_softmax.py"
POINTS = [55, 25, 15, 10, 10, 5, 10]
MOST_BYTES = 10 * 1024 * 1024  # that the runner fetches
SAID = {
    "CLASSROOM": "cs-principles",
    "ASSIGNMENT": "softmax",
    "ASSIGNMENT_TYPE": "individual",
    "OWNER": "anna",
    "USERNAME": "anna",
    "SUBMISSION_TAG": "submit/2026-08-20T14-32-05Z-a1b2c3d",
    "COMMIT_URL": "https://github.com/school/cs-principles-softmax-anna/commit/a1b2c3d",
    "RELEASE_URL": "https://github.com/school/cs-principles-softmax-anna/releases/tag/submit%2F2026",
    "REVIEW_URL": "https://github.com/school/cs-principles-softmax-anna/compare/0...a1b2c3d",
    "PAGES_BASE_URL": "https://school.github.io/classroom50",
    "GITHUB_REPOSITORY": "school/cs-principles-softmax-anna",
}


@pytest.fixture(scope="module")
def packed(course: settings.Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive for puzzle 1."""
    path = tmp_path_factory.mktemp("packed") / "classroom50.zip"
    archive.write(path, course, ["p1"])
    return path


class Runner:
    """A student's checkout, and the runner's temporary folder beside it with what the configuration has published."""

    def __init__(self, folder: Path, packed: Path):
        self.home = folder
        self.checkout = folder / "a check out"
        self.checkout.mkdir()
        configured = folder / "config" / SAID["CLASSROOM"] / "autograders" / SAID["ASSIGNMENT"]
        with zipfile.ZipFile(packed) as file:
            file.extractall(configured)
        published = io.BytesIO()
        with tarfile.open(fileobj=published, mode="w:gz") as tar:
            tar.add(configured, SAID["ASSIGNMENT"])
        assert len(published.getvalue()) < MOST_BYTES
        published.seek(0)
        with tarfile.open(fileobj=published) as tar:
            tar.extractall(folder / "temporary", filter="data")
        self.bundle = folder / "temporary" / SAID["ASSIGNMENT"]
        (self.bundle / ".venv").symlink_to(sys.prefix)  # what it would install

    def hand_in(self, **files: str | bytes) -> None:
        for name, text in files.items():
            path = self.checkout / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)

    def start(self, **variables: str) -> int:
        """Run the autograder with nothing of these tests in its environment; its exit status."""
        for name in ("result.json", "release-body.md"):
            (self.checkout / name).unlink(missing_ok=True)
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), **SAID}
        self.done = subprocess.run(
            [sys.executable, self.bundle / "autograder.py"],
            cwd=self.checkout,
            env={**environment, "CLASSROOM50_BUNDLE_DIR": str(self.bundle), **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        return self.done.returncode

    def run(self) -> dict[str, Any]:
        """The result, which fits Classroom 50's form."""
        assert self.start() == 0, self.done.stdout + self.done.stderr
        result: dict[str, Any] = json.loads((self.checkout / "result.json").read_text(encoding="utf-8"))
        insist_on_form(result)
        return result

    @property
    def page(self) -> str:
        return (self.checkout / "release-body.md").read_text(encoding="utf-8")


def insist_on_form(result: dict[str, Any]) -> None:
    """What the runner and the collector of scores insist on; a result that does not fit is an error there."""
    assert result["schema"] == "classroom50/result/v1"
    same = {"classroom": "CLASSROOM", "assignment": "ASSIGNMENT", "assignment_type": "ASSIGNMENT_TYPE"}
    same |= {"owner": "OWNER", "submission": "SUBMISSION_TAG"}
    same |= {"commit": "COMMIT_URL", "release": "RELEASE_URL", "review": "REVIEW_URL"}
    assert {name: result[name] for name in same} == {name: SAID[variable] for name, variable in same.items()}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", result["datetime"])
    assert set(result) == {*same, "schema", "datetime", "score", "max-score", "tests"}  # others are refused
    for one in (result, *result["tests"]):
        assert type(one["score"]) is type(one["max-score"]) is int  # True and 1.0 are refused
        assert 0 <= one["score"] <= one["max-score"]
    for test in result["tests"]:
        assert isinstance(test["test-name"], str) and test["test-name"] and type(test["passed"]) is bool
        assert test["score"] == (test["max-score"] if test["passed"] else 0)
    for name in ("score", "max-score"):
        assert result[name] == sum(test[name] for test in result["tests"])
    assert "\\u00" not in json.dumps(result, ensure_ascii=False)  # ours: nothing orders a terminal about


@pytest.fixture
def runner(tmp_path: Path, packed: Path) -> Runner:
    return Runner(tmp_path, packed)


@pytest.mark.parametrize(
    ("name", "text", "scores", "words"),
    [
        (f"puzzles/{NAME}", SOLUTION, POINTS, "✓ accepted  130/130 points"),
        ("p1_naive_softmax (1).py", PARTLY, [55, 0, 0, 0, 0, 0, 0], "The padding is counted in the sum"),
        (f"puzzles/{NAME}", STUB, [0] * 7, "not started"),
        (NAME, SOLUTION.replace("def ", "def def "), [0] * 7, "the one before it"),
        ("notebooks/p1_naive_softmax.ipynb", '{"cells": [', [0] * 7, "not a whole notebook"),
    ],
    ids=["right", "wrong", "stub", "broken", "half a notebook"],
)
def test_a_submission_gets_what_it_has_proven(
    name: str, text: str, scores: list[int], words: str, runner: Runner
) -> None:
    runner.hand_in(**{name: text})
    result = runner.run()
    assert [test["score"] for test in result["tests"]] == scores
    assert [test["max-score"] for test in result["tests"]] == POINTS
    assert result["tests"][1]["test-name"] == "p1: rows of any length"
    assert text != PARTLY or result["tests"][1]["output"] == "not with seven short of a block"
    assert runner.page.startswith(f"### {sum(scores)} of 130 points\n\n```text\nPuzzle p1: Naive softmax")
    assert words in runner.page and runner.page.endswith("```\n\nThis is practice: `make check` finds the same.\n")
    assert sorted(path.name for path in runner.checkout.iterdir() if path.name != name.split("/")[0]) == [
        "release-body.md",
        "result.json",
    ]


def test_what_is_missing_or_for_another_puzzle_is_said(runner: Runner) -> None:
    result = runner.run()
    assert [(test["score"], test["max-score"], test["passed"]) for test in result["tests"]] == [(0, 130, False)]
    assert "no file is called p1_naive_softmax.ipynb" in runner.page and "other puzzles" not in runner.page
    runner.hand_in(**{"deep/p2_safe_\x1b[2J.py": SOLUTION})
    assert runner.run()["score"] == 0
    assert "There are files for other puzzles: deep/p2_safe_" in runner.page and "\x1b" not in runner.page
    runner.hand_in(**{NAME: SOLUTION})  # as in a copy of the course, which has all puzzles
    assert runner.run()["score"] == 130 and "other puzzles" not in runner.page


def test_of_two_files_the_one_that_is_meant_or_none(runner: Runner) -> None:
    runner.hand_in(**{"puzzles/p1_naive_softmax.py": STUB, "notebooks/p1_copy.py": SOLUTION})
    assert runner.run()["score"] == 130
    runner.hand_in(**{"p1_other.py": OTHER})
    assert runner.run()["score"] == 0 and "more than one file" in runner.page


def test_the_students_copy_of_the_course_judges_nothing(runner: Runner) -> None:
    """Nor are its solutions anybody's work, nor Python files that are called like modules."""
    loud = "raise SystemExit(0)"
    files = dict.fromkeys(("checker/__init__.py", "checker/__main__.py", "numpy.py", "subprocess.py"), loud)
    runner.hand_in(**files, **{f"solutions/{NAME}": SOLUTION, f"puzzles/{NAME}": PARTLY})
    assert runner.run()["score"] == 55


def test_two_puzzles_in_one_assignment(course: settings.Settings, tmp_path: Path) -> None:
    archive.write(tmp_path / "two.zip", course, ["p1", "p2"])
    runner = Runner(tmp_path, tmp_path / "two.zip")
    runner.hand_in(**{NAME: SOLUTION, "p2_safe_softmax.py": solution("p2").read_text()})
    result = runner.run()
    assert result["score"] == result["max-score"] == 130 + course.possible("p2")
    assert {test["test-name"].partition(":")[0] for test in result["tests"]} == {"p1", "p2"}
    (runner.checkout / NAME).unlink()
    assert runner.run()["score"] == course.possible("p2")


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("checker/judge/judge.py", "raise RuntimeError('our own\x1b[2J')", "Not graded: RuntimeError: our own�[2J"),
        ("checker/publish/classroom50/run.py", "def", "ended with status 1"),
        ("checker/publish/classroom50/results.py", "import os\nos.kill(os.getpid(), 9)", "ended with status -9"),
        ("autograder.json", "{", "Not graded: JSONDecodeError"),
    ],
)
def test_a_fault_of_ours_is_no_score(file: str, text: str, reason: str, runner: Runner) -> None:
    runner.hand_in(**{NAME: SOLUTION})
    (runner.bundle / file).write_text(text)
    no_score(runner, reason)


def no_score(runner: Runner, reason: str, **variables: str) -> None:
    """There is no result, and the exit status is one that Classroom 50 takes for an error."""
    assert runner.start(**variables) > 0
    assert reason in runner.done.stdout
    assert not (runner.checkout / "result.json").exists()


def test_without_the_runner_or_its_folder_there_is_no_score(runner: Runner) -> None:
    runner.hand_in(**{NAME: SOLUTION})
    no_score(runner, "sets OWNER, which is not set", OWNER="")
    (runner.bundle / ".venv").unlink()
    (runner.bundle / ".venv").mkdir()  # as if it had been half made
    no_score(runner, "bin/python cannot be started")
    assert "Traceback" not in runner.done.stderr


def test_what_cannot_be_installed_is_no_score(runner: Runner) -> None:
    runner.hand_in(**{NAME: SOLUTION})
    (runner.bundle / ".venv").unlink()
    no_score(runner, "locks/check.txt` ended with status 1", PIP_NO_INDEX="1")
    shutil.rmtree(runner.bundle / ".venv")
    (runner.bundle / "checker" / "supported.sh").write_text("echo Python 3.10 to 3.14 is needed. >&2\nexit 2\n")
    no_score(runner, "ended with status 2")
    assert "3.10 to 3.14" in runner.done.stderr and not (runner.bundle / ".venv").exists()


def test_it_installs_what_it_needs(runner: Runner) -> None:
    runner.hand_in(**{NAME: SOLUTION})
    (runner.bundle / ".venv").unlink()
    status = runner.start(**{name: text for name, text in os.environ.items() if name.startswith("PIP_")})
    if status and not os.environ.get("REQUIRE_ALL_TOOLS"):
        pytest.skip(f"pip cannot install here: {runner.done.stderr[-300:]}")
    assert status == 0, runner.done.stdout + runner.done.stderr
    assert json.loads((runner.checkout / "result.json").read_text())["score"] == 130


def test_nothing_of_a_students_is_taken_for_markdown() -> None:
    finding = Finding("wrong", Status.WRONG, "Wrong", "```` <img src=x>\n```", "")
    part = Part("p1", 100, Verdict("p1", "Naive softmax", Status.WRONG, (finding,)))
    shown = page([part])
    assert shown.count("\n`````text\n") == 1 and shown.count("`````\n") == 1
    long = Part("p1", 100, problem="x" * 200_000)
    assert len(page([long])) < 125_000  # what GitHub takes


def test_everybody_may_read_it(course: settings.Settings, packed: Path) -> None:
    """It has no key, nothing of the course's settings but points, no solution, and no part that grades with a key."""
    with zipfile.ZipFile(packed) as file:
        names = set(file.namelist())
        entries = file.infolist()
        every = b"\0".join(file.read(name) for name in names)
        assert json.loads(file.read("autograder.json")) == {"points": {"p1": course.points_of("p1")}}
    secret = key.read(course.key_path)
    assert secret.encode() not in every and str(course.key_path).encode() not in every
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"autograder.py", "autograder.json", "checker", "locks"}
    assert "locks/check.txt" in names and len([name for name in names if name.startswith("locks/")]) == 1
    grading = {name for name in names if name.startswith("checker/grading/")}
    assert grading == {f"checker/grading/{name}.py" for name in ("__init__", "cells", "chosen", "found")}
    assert not [name for name in names if re.match(r"checker/(commands|nbgrader|learner|browser|notebook)/", name)]
    for stem in ladder.stems().values():
        text = (ROOT / "solutions" / f"{stem}.py").read_text()
        assert text[text.index("\ndef ") :].strip().encode() not in every, stem
    assert all(stat.S_ISREG(entry.external_attr >> 16) for entry in entries)
    assert {stat.S_IMODE(entry.external_attr >> 16) for entry in entries} == {0o644}


def test_the_same_files_give_the_same_bytes(
    course: settings.Settings, packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In another place, at another time, with files of another age."""
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "checker", copy / "checker", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "locks", copy / "locks")
    for path in copy.rglob("*"):
        os.utime(path, (1, 1))
    (copy / "checker" / "judge" / "link.py").symlink_to("/etc/passwd")
    monkeypatch.setattr(time, "time", lambda: 1e9)
    archive.write(tmp_path / "again.zip", course, ["p1"], copy)
    assert (tmp_path / "again.zip").read_bytes() == packed.read_bytes()


def test_the_guides_commands(course: settings.Settings, packed: Path, tmp_path: Path) -> None:
    need("make")
    need("bash")
    clone, configured = tmp_path / "clone", tmp_path / "classroom50" / "CLASSROOM" / "autograders" / "ASSIGNMENT"
    clone.mkdir()
    for name in ("Makefile", "instructor.mk", "checker", "locks"):
        (clone / name).symlink_to(ROOT / name)
    (clone / "course").symlink_to(course.folder)
    variables = {**os.environ, "VENV": sys.prefix, "PATH": f"{sys.prefix}/bin{os.pathsep}{os.environ['PATH']}"}
    for _ in range(2):  # what an older archive has left goes
        typed_in = ["bash", "-ec", said("classroom 50")]
        done = subprocess.run(typed_in, cwd=clone, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        left = configured / "checker" / "old.py"
        found = {path.relative_to(configured).as_posix() for path in configured.rglob("*") if path.is_file()}
        with zipfile.ZipFile(packed) as file:
            assert found == set(file.namelist()) and left.name not in found
        left.write_text("")


def test_the_command(course: settings.Settings, packed: Path, tmp_path: Path) -> None:
    course_option = ("--course", str(course.folder))
    done = typed("classroom", *course_option, "1", cwd=tmp_path)
    assert done.returncode == 0 and "130 points" in done.stdout, done.stderr
    assert (tmp_path / "classroom50.zip").read_bytes() == packed.read_bytes()
    done = typed("classroom", *course_option, cwd=tmp_path)
    assert done.returncode == 0 and "Left out: a2, a4. PyTorch" in done.stdout, done.stderr
    with zipfile.ZipFile(tmp_path / "classroom50.zip") as file:
        points = json.loads(file.read("autograder.json"))["points"]
    assert list(points) == [one for one in course.puzzles if not ladder.RUNGS[one].pytorch]
    for arguments, reason in [
        (("p99",), "There is no puzzle"),
        (("a2",), "PyTorch is not installed there"),
        (("c1",), "it is for practice"),
        (("--file", "no such/folder.zip"), "could not be written"),
        (("--course", "nowhere"), "cannot be read"),
    ]:
        done = typed("classroom", *course_option, *arguments, cwd=tmp_path)
        assert done.returncode == 2 and reason in done.stderr and "Traceback" not in done.stderr
