"""Fields that all puzzles about a row-wise softmax share, whatever the kernel."""

from __future__ import annotations

from functools import partial

from checker.catalog.softmax.reference import ROWS_SUM_TO_ONE, expected
from checker.course.puzzle import Puzzle

puzzle = partial(Puzzle, expected=expected, invariants=(ROWS_SUM_TO_ONE,))
