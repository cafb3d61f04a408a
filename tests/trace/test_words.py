"""A trace in words."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from checker.commands.kernel import show_indented
from checker.trace import words
from tests.trace.traces import said, solution, wrong


def test_the_grid_is_drawn_in_characters() -> None:
    lines = said(solution("p6")).split("\n")
    at = next(n for n, line in enumerate(lines) if "keys →" in line)
    shown = [line.split("  ·")[0].split("   keys")[0].split("   queries")[0].split() for line in lines[at : at + 4]]
    assert shown == [["1"], ["1", "2"], ["1", "2", "3"], ["1", "2", "3", "4"]]
    assert "  4  8 12 16" in said(solution("p5"))


@pytest.mark.parametrize("puzzle_id", ["p3", "p5", "p7"])
def test_the_summary_fits_a_narrow_terminal(puzzle_id: str) -> None:
    out = io.StringIO()
    narrow = Console(file=out, width=40, color_system=None, markup=False, highlight=False, emoji=False)
    show_indented(narrow, words.summary(solution(puzzle_id)))
    lines = out.getvalue().split("\n")
    assert max(map(len, lines)) <= 40
    assert sum(line.strip() == "" for line in lines) > len(solution(puzzle_id).launches)  # kernels stand apart
    assert "\x1b" not in out.getvalue()


def test_wrong_elements_are_counted_whole_cells_or_not() -> None:
    trace = wrong("p4_padding_counted")
    assert trace.wrong is not None
    picture = replace(trace.wrong.picture, shape=(3, 5), cell=(2, 4), wrong=((1.0, 0.0), (0.5, 1.0)))
    # Eight, of 2 x 4; two of the four in the last row; and the one in the corner.
    assert "73% of its elements" in words.of_wrongness(replace(trace.wrong, picture=picture))
