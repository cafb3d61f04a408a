"""A learner's course in which p6, p7 and the capstone are solved."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from checker.course.ladder import stems
from checker.learner.progress import NAME
from tests.conftest import ROOT
from tests.learner.conftest import solved as as_left

CAPSTONE = stems()["c1"]


def solved() -> str:
    """What the capstone's file defines when it is solved: without the cells that check and train."""
    return as_left("c1").partition("# %% [markdown]\n# ## How to check")[0]


def course_in(folder: Path) -> Path:
    """Make such a course; the checker is ours. That p6 and p7 are accepted is known there."""
    (folder / "checker").symlink_to(ROOT / "checker")
    shutil.copytree(ROOT / "puzzles", folder / "puzzles")
    for puzzle_id in ("p6", "p7", "c1"):
        (folder / "puzzles" / f"{stems()[puzzle_id]}.py").write_text(
            solved() if puzzle_id == "c1" else as_left(puzzle_id)
        )
    (folder / NAME).write_text("puzzle p6: solved\npuzzle p7: solved\n")
    return folder


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return course_in(tmp_path_factory.mktemp("course"))


@pytest.fixture
def own_course(tmp_path: Path) -> Path:
    """One that this test may change."""
    return course_in(tmp_path)
