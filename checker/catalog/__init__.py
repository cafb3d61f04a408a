"""One module a puzzle: everything the judge knows about it, and nothing that solves it.

A module named `pN_slug.py` is found by its name and must hold a `PUZZLE`. Adding a puzzle means
adding one file here, one in `puzzles/` and one in `solutions/`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from checker.course import ladder

if TYPE_CHECKING:  # a puzzle's own module imports numpy; finding puzzles does not need it
    from checker.course.puzzle import Puzzle


def load(number: int) -> Puzzle:
    """The puzzle with this number. KeyError if there is none."""
    puzzle: Puzzle = importlib.import_module(f"{__name__}.{ladder.stems()[number]}").PUZZLE
    return puzzle
