"""Grading takes place in a cage, or not at all, unless the instructor says otherwise; PyTorch where it is needed."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from checker.sandbox.cage.cage import held
from tests.conftest import Started
from tests.nbgrader.conftest import ASSIGNMENT, RIGHT, Course, filled


@contextlib.contextmanager
def without_bubblewrap() -> Iterator[None]:
    """nbgrader finds what it needs, and no bwrap."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(Path(sys.executable).parent))
        assert shutil.which("bwrap") is None
        held.cache_clear()
        yield
    held.cache_clear()


def held_by(course: Course) -> list[str]:
    """What held each submission that there is a record of."""
    found = [json.loads(path.read_text())["verdict"]["sandbox"] for path in course.folder.rglob("records/*/*.json")]
    return sorted(text.partition(":")[0] for text in found)


def test_in_a_cage_or_not_at_all_unless_the_instructor_says_so(course: Course) -> None:
    course.put("gail", filled(RIGHT))
    with without_bubblewrap():
        done = course.run("autograde", ASSIGNMENT, ends=1)
        assert "bubblewrap is not installed" in done.said and "python -m checker doctor" in done.said
        assert held_by(course) == []

        course.settings('sandbox = "required"', 'sandbox = "none"')
        done = course.run("autograde", ASSIGNMENT)
        assert (done.status, course.scores()) == (0, {"gail": 100}), done.said
        assert held_by(course) == ["C, no sandbox"]

    course.settings('sandbox = "none"', 'sandbox = "required"')
    done = course.run("autograde", ASSIGNMENT, "--force")
    assert (done.status, course.scores()) == (0, {"gail": 100}), done.said
    assert held_by(course) in (["A", "C, no sandbox"], ["B", "C, no sandbox"])  # what was found without is not used


def test_without_pytorch_the_assignments_of_its_puzzles_stop_and_no_other(
    course: Course, without_pytorch: Started
) -> None:
    course.settings('sandbox = "required"', 'sandbox = "none"')  # a cage does not see packages through links
    in_pytorch = "a2_attention_in_pytorch"
    assert course.run("generate_assignment", in_pytorch).status == 0
    course.put("hugo", filled(RIGHT))
    solved = course.folder / "source" / in_pytorch / f"{in_pytorch}.ipynb"
    course.put("hugo", solved.read_bytes(), in_pytorch)
    for assignment, status in {ASSIGNMENT: 0, in_pytorch: 1}.items():
        done = without_pytorch("nbgrader", "autograde", assignment, "--student=hugo", cwd=course.folder, ends=status)
        assert ("needed for a2: `make torch` installs it" in done.stderr) == bool(status)
    assert course.scores()["hugo"] == 100
    assert f"{in_pytorch},,,hugo,,,,needs grading," in (course.folder / "grades.csv").read_text()
