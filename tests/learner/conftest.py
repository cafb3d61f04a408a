"""A learner's copy of the course, and what it takes to work in it: real files, real processes."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from checker import catalog
from checker.course import ladder, places
from checker.course.lesson import emptied, notebook_text
from tests.conftest import ROOT

STEMS = ladder.stems()
DROP_FROM_BOUNDING_SET, DAC_OVERRIDE = 24, 1  # prctl(2), capabilities(7)


def stub_text(puzzle_id: str) -> str:
    """The stub as it was shipped, even if a student has filled in the one in the folder."""
    text = (ROOT / "puzzles" / f"{STEMS[puzzle_id]}.py").read_text()
    if text.count("FILL IN") < len(catalog.load(puzzle_id).kernels):
        pytest.skip(f"{STEMS[puzzle_id]}.py has been filled in, and its FILL IN mark is gone")
    return emptied(text, catalog.load(puzzle_id))


def solution_text(puzzle_id: str) -> str:
    return (ROOT / "solutions" / f"{STEMS[puzzle_id]}.py").read_text()


def walk_through(puzzle_id: str) -> str:
    return (ROOT / "solutions" / f"{STEMS[puzzle_id]}.md").read_text()


def solved(puzzle_id: str) -> str:
    """The puzzle's file with the solution's kernels below the marks, as a learner leaves it."""
    kernels = solution_text(puzzle_id).split("\n\n\n", 1)[1]
    first = catalog.load(puzzle_id).kernels[0].name  # a lesson may show another kernel before it
    decorator = "" if catalog.load(puzzle_id).pytorch else "@triton.jit\n"
    before, _, after = stub_text(puzzle_id).partition(f"# %%\n{decorator}def {first}(")
    return before + "# %%\n" + kernels.rstrip() + "\n\n\n# %% [markdown]" + after.partition("# %% [markdown]")[2]


def obey_permissions() -> None:
    """As root, do without the right to write where the permissions forbid it."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(DROP_FROM_BOUNDING_SET, DAC_OVERRIDE, 0, 0, 0)


@dataclass(frozen=True)
class Course:
    """A copy of the course with every puzzle not started."""

    root: Path

    def script(self, puzzle_id: str) -> Path:
        return self.root / "puzzles" / f"{STEMS[puzzle_id]}.py"

    def notebook(self, puzzle_id: str) -> Path:
        return places.notebook(puzzle_id, self.root)

    @property
    def progress(self) -> str:
        """What progress.txt says, without its first line."""
        path = self.root / "progress.txt"
        return path.read_text().partition("\n")[2] if path.exists() else ""

    def environment(self, **more: str) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.root), "COLUMNS": "200", **more}

    def run(
        self, *arguments: str, cwd: Path | None = None, ends: int | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """`python -m checker …`. There is never a traceback. `ends`: the exit status that it must have."""
        done = subprocess.run(
            [sys.executable, "-m", "checker", *arguments],
            cwd=cwd or self.root,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            preexec_fn=obey_permissions,
        )
        assert "Traceback" not in done.stdout + done.stderr
        assert ends in (None, done.returncode), done.stdout + done.stderr
        return done


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pristine")
    for name in ("checker", "solutions"):
        shutil.copytree(ROOT / name, root / name)
    for folder in ("puzzles", "notebooks"):
        (root / folder).mkdir()
    for puzzle_id, stem in STEMS.items():
        (root / "puzzles" / f"{stem}.py").write_text(stub_text(puzzle_id))
        places.notebook(puzzle_id, root).write_text(notebook_text(stub_text(puzzle_id), catalog.load(puzzle_id)))
    return root


@pytest.fixture
def course(pristine: Path, tmp_path: Path) -> Iterator[Course]:
    root = tmp_path / "my course"
    shutil.copytree(pristine, root)
    yield Course(root)
    assert list(root.rglob(".*.tmp")) == []  # no temporary file is left behind
