"""A puzzle that an instructor adds is an assignment like ours."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from checker.course import ladder
from tests.conftest import ROOT, importable, typed

NUMBER = 1 + max(ladder.stems())
OWN = f"p{NUMBER}_my_softmax"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The repository with one more puzzle: the first one, under another name."""
    importable("jupytext")
    root = tmp_path / "clone"
    for name in ("checker", "puzzles", "solutions"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("puzzles", "solutions", "checker/catalog"):
        text = (root / folder / "p1_naive_softmax.py").read_text()
        for old, new in (("number=1,", f"number={NUMBER},"), ('"naive_softmax"', '"my_softmax"')):
            text = text.replace(old, new)
        (root / folder / f"{OWN}.py").write_text(text.replace("check(1)", f"check({NUMBER})"))
    return root


def made(clone: Path) -> subprocess.CompletedProcess[str]:
    return typed("course", "../course", cwd=clone, root=clone, XDG_CONFIG_HOME=str(clone / "config"))


def test_it_becomes_an_assignment(clone: Path) -> None:
    done = made(clone)
    assert done.returncode == 0, done.stderr
    course = clone.parent / "course"
    cells = json.loads((course / "source" / OWN / f"{OWN}.ipynb").read_text())["cells"]
    assert sum("### BEGIN SOLUTION" in cell["source"] for cell in cells) == 1
    (graded,) = (cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade"))
    assert graded["metadata"]["nbgrader"]["grade_id"] == f"check-{OWN}"
    assert f"[points.{OWN}]" in (course / "course.toml").read_text()


def test_without_a_cell_that_checks_there_is_nothing_to_grade(clone: Path) -> None:
    lesson = clone / "puzzles" / f"{OWN}.py"
    lesson.write_text(lesson.read_text().replace(f"\ncheck({NUMBER})", "\nprint()"))
    done = made(clone)
    assert done.returncode == 2
    assert f"no cell that ends with check({NUMBER})" in done.stderr
