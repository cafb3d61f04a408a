"""Fields that all puzzles about attention share, whatever the kernel."""

from __future__ import annotations

from functools import partial

from checker.catalog.attention.bounds import WHY_BLOCKS, by_hand, largest_tile
from checker.course.puzzle import Puzzle

puzzle = partial(Puzzle, by_hand=by_hand, largest_block=largest_tile, why_blocks=WHY_BLOCKS)
