"""Shapes that do not fit are told from the text, and nothing is told where the text does not say."""

from __future__ import annotations

import ast

import pytest

from checker.course import places
from checker.course.text import Text
from checker.judge.text.shapes import clash
from tests.conftest import STEMS_OF_KERNELS
from tests.judge.made import code

TILE = """def f(x_ptr, n, B: tl.constexpr, C: tl.constexpr):
    rows, cols = tl.arange(0, B), tl.arange(0, C)
    mask = (rows < n)[:, None] & (cols < n)[None, :]
    x = tl.load(x_ptr + rows[:, None] * n + cols[None, :], mask=mask).to(tl.float32)
    m = tl.full((B,), 0.0, tl.float32)
    l = tl.zeros((B,), tl.float32)
    """


@pytest.mark.parametrize(
    ("line", "said"),
    {
        "y = x - m": "(B, C) of `x` and (B,) of `m`",
        "y = x - m[:, None]": "",
        "y = tl.exp(x - m[None, :])": "(B, C) of `x` and (1, B) of `m[None, :]`",
        "l += tl.sum(x, axis=0)": "(B,) of `l` and (C,) of `tl.sum(x, axis=0)`",
        "l += tl.sum(x, axis=1)": "",
        "y = x / tl.max(x, axis=1, keep_dims=True)": "",
        "y = x + tl.expand_dims(cols, 1)": "(B, C) of `x` and (C, 1) of `tl.expand_dims(cols, 1)`",
        "tl.store(x_ptr + cols[:, None] + rows[None, :], tl.trans(x), mask=mask)": (
            "(C, B) of the addresses, (C, B) of the values and (B, C) of the mask"
        ),
        "y = m - tl.dot(x, tl.trans(x))": "",
        "y = m - helper(x)": "",
    }.items(),
)
def test_what_meets_in_a_line(line: str, said: str) -> None:
    found = clash(code(TILE + line), 7)
    assert found == (f"Shapes that meet in this line: {said}." if said else "")


@pytest.mark.parametrize("puzzle_id", STEMS_OF_KERNELS)
def test_no_line_of_a_solution_clashes(puzzle_id: str) -> None:
    for node in ast.parse(places.solution(puzzle_id).read_text()).body:
        if isinstance(node, ast.FunctionDef):
            made = Text(node)
            assert not [one.line for one in made.assignments if clash(made, one.line)]


def test_a_square_is_traced_to_the_vector_that_met_a_column() -> None:
    """Where it does not fit is a later line, which is right by itself."""
    grown = f"{TILE}new = tl.maximum(m, tl.max(x, axis=1, keep_dims=True))\n    "
    text = f"{grown}y = x - new[:, None]\n"
    met = "(B, C) of `x` and (B, 1, B) of `new[:, None]`"
    how = "In `new`, (B,) of `m` met (B, 1) of `tl.max(x, axis=1, keep_dims=True)`, which makes a square, (B, B)."
    assert clash(code(text), 8) == f"Shapes that meet in this line: {met}. {how}"
    assert "square" not in clash(code(f"{grown}y = x - m\n"), 8)
