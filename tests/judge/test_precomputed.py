"""Expected values that are computed ahead."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from checker import catalog
from checker.judge.precomputed import expected_ahead


def test_they_are_begun_at_once_and_computed_once() -> None:
    puzzle = catalog.load("p1")
    case, other = puzzle.cases(puzzle.draw())[:2]
    asked: list[Any] = []
    begun = threading.Event()

    def expected(one: Any) -> Any:
        asked.append(one)
        begun.set()
        return puzzle.expected(one)

    with expected_ahead(replace(puzzle, expected=expected), [case]) as ahead:
        assert begun.wait(10)
        first, again = ahead.expected(case), ahead.expected(case)
        assert first is again and first.keys() == puzzle.expected(case).keys()
        ahead.expected(other)
    assert asked == [case, other]


def test_what_goes_wrong_is_told_when_the_values_are_asked_for() -> None:
    puzzle = catalog.load("p1")
    case = puzzle.cases(puzzle.draw())[0]

    def expected(one: Any) -> Any:
        raise RuntimeError("no reference")

    with (
        expected_ahead(replace(puzzle, expected=expected), [case]) as ahead,
        pytest.raises(RuntimeError, match="no ref"),
    ):
        ahead.expected(case)
