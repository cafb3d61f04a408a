"""A puzzle that an instructor adds is an assignment like ours."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from checker.course.ladder import LADDER
from tests.conftest import ROOT, importable, typed

OWN = "m1_softmax"
LAST = LADDER[-1]
END = ")\nRUNGS = "  # of the ladder


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The repository with one more puzzle, at the end of the ladder: the first one, under another name."""
    importable("jupytext")
    root = tmp_path / "clone"
    for name in ("checker", "puzzles", "solutions"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("puzzles", "solutions", "checker/catalog"):
        text = (root / folder / "p1_naive_softmax.py").read_text()
        (root / folder / f"{OWN}.py").write_text(text.replace('"p1"', '"m1"'))
    registry = root / "checker" / "course" / "ladder.py"
    text = registry.read_text()
    assert text.count(END) == 1
    registry.write_text(text.replace(END, f'    Rung("m1", "softmax", "My softmax"),\n{END}'))
    return root


def made(clone: Path, ends: int = 0) -> subprocess.CompletedProcess[str]:
    return typed("course", "../course", cwd=clone, root=clone, ends=ends, XDG_CONFIG_HOME=str(clone / "config"))


def test_it_becomes_an_assignment(clone: Path) -> None:
    made(clone)
    course = clone.parent / "course"
    cells = json.loads((course / "source" / OWN / f"{OWN}.ipynb").read_text())["cells"]
    assert sum("### BEGIN SOLUTION" in cell["source"] for cell in cells) == 1
    (graded,) = (cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade"))
    assert graded["metadata"]["nbgrader"]["grade_id"] == f"check-{OWN}"
    toml = course / "course.toml"
    assert f"[points.{OWN}]" in toml.read_text() and f'"{LAST.id}", "m1"]' in toml.read_text()


def test_a_course_that_is_older_has_it_once_it_is_named(clone: Path) -> None:
    course = clone.parent / "course"
    course.mkdir()
    (course / "course.toml").write_text('id = "old"\n')
    assert made(clone).returncode == 0 and (course / "source" / "p7_causal_backward").exists()
    assert not (course / "source" / OWN).exists()
    (course / "course.toml").write_text('id = "old"\npuzzles = ["M1"]\n')
    done = made(clone)
    assert (course / "source" / OWN).exists() and "ASSIGNMENT=m1_softmax" in done.stdout
    assert "source/p1_naive_softmax, source/p2_safe_softmax" in done.stdout  # they stay, and that is said


def test_without_a_cell_that_checks_there_is_nothing_to_grade(clone: Path) -> None:
    lesson = clone / "puzzles" / f"{OWN}.py"
    lesson.write_text(lesson.read_text().replace('\ncheck("m1")', "\nprint()"))
    done = made(clone, ends=2)
    assert 'no cell that ends with check("m1")' in done.stderr
