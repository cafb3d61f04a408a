"""One module a puzzle: everything the judge knows about it, and nothing that solves it.

A module named `ID_slug.py` holds a `PUZZLE`. Adding a puzzle means adding one file here, one in `puzzles/`, one in
`solutions/`, and a line to `checker/course/ladder.py`. Long rows (`s3`) have only the first, and tuned versions
in `solutions/tuned/`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from checker.course import ladder

if TYPE_CHECKING:  # a puzzle's own module imports numpy; finding puzzles does not need it
    from checker.course.puzzle import Puzzle


def load(puzzle_id: str) -> Puzzle:
    """Return the puzzle with this ID. KeyError if there is none."""
    puzzle: Puzzle = importlib.import_module(f"{__name__}.{ladder.entry(puzzle_id).stem}").PUZZLE
    return puzzle
