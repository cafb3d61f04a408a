"""Lines of a kernel are found by the part that they play."""

from __future__ import annotations

import ast

import pytest

from checker.course import places
from checker.course.misconception import Part, Product
from checker.judge.text.roles import Code
from tests.judge.made import code

# Roles of lines that no right kernel has.
FAULTS = (
    *(Part.INVERSE_FACTOR, Part.SWAPPED_BRANCHES, Part.MINIMUM, Part.START_ABOVE, Part.UNSHIFTED_EXPONENTIAL),
    *(Part.ZEROED_PADDING, Part.MAX_OF_EXPONENTIALS, Part.RATIO_OF_EXPONENTIALS, Part.SUM_STARTED_IN_LOOP),
    *(Part.START_TIMES_STEP, Part.BEGINNING_ADDED, Part.RANGE_TO_BLOCK, Part.RESHAPE, Part.INVERTED_MASK),
    Part.CARRIED_ON,
)
# (puzzle, kernel, role, what stands in its line)
ROLES = [
    ("p2", 0, Part.NORMALISER, "l += tl.sum("),
    ("p3", 0, Part.NORMALISER, "l = l * tl.exp("),
    ("p5", 0, Part.NORMALISER, "li_new = old + new * lij"),
    ("p5", 0, Part.ACCUMULATOR, "Oi = (old[:, None] * Oi"),
    ("p5", 0, Product(frozenset({"q_ptr", "k_ptr"})), "Sij = scale * tl.dot("),
    ("p6", 0, Part.ACCUMULATOR, "Oi = alpha[:, None] * Oi + tl.dot("),
    ("p6", 0, Part.NORMALISER, "li = alpha * li + tl.sum("),
    ("p6", 0, Part.EXPONENTIAL_OF_SCORES, "Pij = tl.exp("),
    ("p6", 0, Part.CAUSAL_MASK, "visible = visible & (keys[None, :] <="),
    ("p7", 2, Product(frozenset({"do_ptr", "v_ptr"})), "dPij = tl.dot("),
    ("a2", 0, Product(frozenset({"q_ptr", "k_ptr"})), "Sij = scale * (Qi @"),
    ("a2", 0, Part.NORMALISER, "li = alpha * li + Pij.sum("),
    ("a2", 0, Part.ACCUMULATOR, "Oi = alpha * Oi + Pij @ Vj"),
    ("a4", 0, Product(frozenset({"do_ptr", "v_ptr"})), "dPij = dOi @"),
    *((puzzle_id, 0, role, "") for puzzle_id in ("p2", "p3", "p5", "p6") for role in FAULTS),
    ("p1", 0, Part.NORMALISER, ""),
    ("p1", 0, Part.LOAD_OF_MINUS_INFINITY, "x = tl.load("),
    ("a1", 0, Part.LOAD_OF_MINUS_INFINITY, ""),
]


@pytest.mark.parametrize(("puzzle_id", "kernel", "role", "text"), ROLES)
def test_lines_are_found_by_their_role(puzzle_id: str, kernel: int, role: Part | Product, text: str) -> None:
    source = places.solution(puzzle_id).read_text()
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    line = Code(functions[kernel]).line_of(role, None)
    assert source.split("\n")[line - 1].strip().startswith(text) if line else not text


def test_of_two_lines_with_a_role_none_is_marked() -> None:
    source = "def f(x_ptr):\n for i in range(3):\n  a = tl.sum(x)\n  b = tl.sum(y)\n"
    [function] = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert Code(function).line_of(Part.NORMALISER, None) is None


def test_a_name_may_hold_any_part_of_what_is_unpacked() -> None:
    [function] = ast.parse("def f(q, k):\n a, b, c = *q[0], k\n x, y = q[0], k[0]\n").body
    assert isinstance(function, ast.FunctionDef)
    found = Code(function)
    assert found.closure({"c"}) == {"c", "q", "k"} and found.closure({"y"}) == {"y", "k"}


LOOP = "    for start in range(0, n, B):\n        x = tl.load(x_ptr + cols, mask=cols < n)\n"


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (f"{LOOP}        cols += B\n{LOOP}", 5),
        (f"{LOOP}        cols = cols + B\n{LOOP}        cols = cols + B\n", 5),
        (f"{LOOP}        cols = start + cols\n{LOOP}", 5),
        (f"{LOOP}        cols += B\n", None),
        (f"{LOOP}        cols += B\n    cols = tl.arange(0, B)\n{LOOP}", None),
        (f"{LOOP}        total += tl.sum(x)\n{LOOP}        tl.store(x_ptr + cols, x / total)\n", None),
        (f"{LOOP}        total += tl.sum(x)\n        cols += B\n{LOOP}        y = total\n", 6),
    ],
)
def test_positions_that_a_loop_moves_on_are_told_from_sums_and_from_those_that_are_set_back(
    body: str, line: int | None
) -> None:
    text = f"def f(x_ptr, n, B: tl.constexpr):\n    cols, total = tl.arange(0, B), 0.0\n{body}"
    assert code(text).last_line(Part.CARRIED_ON) == line
