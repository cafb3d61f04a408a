"""Where the files of a puzzle are."""

from __future__ import annotations

import os
from pathlib import Path

from checker.course import ladder

ROOT = Path(__file__).parents[2]


def script(number: int, root: Path = ROOT) -> Path:
    """A puzzle's lesson and stub, which the learner fills in."""
    return root / "puzzles" / f"{ladder.stems()[number]}.py"


def notebook(number: int, root: Path = ROOT) -> Path:
    """The same as a notebook."""
    return root / "notebooks" / f"{ladder.stems()[number]}.ipynb"


def stubs(number: int, root: Path = ROOT) -> Path:
    """The stub of each of its kernels as it was shipped; built."""
    return root / "checker" / "learner" / "stubs" / f"{ladder.stems()[number]}.py"


def solution(number: int, root: Path = ROOT) -> Path:
    """The same kernels, solved. A student's copy of the course need not have it."""
    return root / "solutions" / f"{ladder.stems()[number]}.py"


def is_own(path: Path, number: int, root: Path = ROOT) -> bool:
    """Whether a path leads to the puzzle's own file or notebook, by whatever way."""
    real = os.path.realpath(path)
    return real in {os.path.realpath(script(number, root)), os.path.realpath(notebook(number, root))}


def shown(path: Path) -> str:
    """A path as it can be typed here: short if it is below the current folder."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
