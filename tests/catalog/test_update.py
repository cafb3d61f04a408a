"""Models made by machine, part by part: the right step is among them, and is right wherever the judge looks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from checker import catalog
from checker.course.case import Case
from checker.course.misconception import Writes
from checker.course.puzzle import Expected, Puzzle
from checker.judge.compare import gets_it_right

OF_PARTS = ("p5", "p6", "a2", "b1", "b2", "b3")


Right = list[tuple[Case, Mapping[str, Expected]]]


def telling(puzzle: Puzzle, key: str) -> Right:
    """The launches that are worth a diagnosis, and what is right there."""
    cases = (case for case in puzzle.cases(puzzle.draw(key)) if case.telling and not case.once)
    return [(case, puzzle.expected(case)) for case in cases]


def gets_all_right(sign: Writes, launches: Right) -> bool:
    """In all launches of the forward kernel, each output that there is."""
    with np.errstate(all="ignore"):
        return all(
            gets_it_right(x, case.tensors[name].values.dtype, expected[name])
            for case, expected in launches
            for name, x in sign.outputs(case).items()
        )


@pytest.mark.parametrize("puzzle_id", OF_PARTS)
def test_of_all_steps_few_are_right_under_any_key(puzzle_id: str) -> None:
    """And these are so for all keys: they write the right step in another way."""
    puzzle = catalog.load(puzzle_id)
    signs = [sign for one in puzzle.by_part for sign in one.signs if isinstance(sign, Writes)]
    autumn, winter = (telling(puzzle, key) for key in ("autumn", "winter"))
    right = [sign for sign in signs if gets_all_right(sign, autumn)]
    assert 0 < len(right) < len(signs) / 8
    assert all(gets_all_right(sign, winter) for sign in right)
