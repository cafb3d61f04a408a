"""Lines of a kernel are found by the part that they play."""

from __future__ import annotations

import ast

import pytest

from checker.course.misconception import Part, Product
from checker.judge.roles import Code
from tests.conftest import SOLUTIONS

# Roles of lines that no right kernel has.
FAULTS = (Part.INVERSE_FACTOR, Part.SWAPPED_BRANCHES, Part.MINIMUM, Part.START_ABOVE, Part.UNSHIFTED_EXPONENTIAL)
# (puzzle, kernel, role, what stands in its line)
ROLES = [
    (2, 0, Part.NORMALISER, "l += tl.sum("),
    (3, 0, Part.NORMALISER, "l = l * tl.exp("),
    (3, 0, Part.MAXIMUM, "m_new = tl.maximum("),
    (3, 0, Part.START_OF_MAXIMUM, 'm = -float("inf")'),
    (4, 0, Part.START_OF_MAXIMUM, "m = tl.full("),
    (5, 0, Part.NORMALISER, "li_new = old + new * lij"),
    (5, 0, Part.ACCUMULATOR, "Oi = (old[:, None] * Oi"),
    (5, 0, Product(frozenset({"q_ptr", "k_ptr"})), "Sij = scale * tl.dot("),
    (6, 0, Part.ACCUMULATOR, "Oi = alpha[:, None] * Oi + tl.dot("),
    (6, 0, Part.NORMALISER, "li = alpha * li + tl.sum("),
    (6, 0, Part.EXPONENTIAL_OF_SCORES, "Pij = tl.exp("),
    (6, 0, Part.CAUSAL_MASK, "visible = visible & (keys[None, :] <="),
    (6, 0, Part.LOOP_END, "end_k = tl.minimum("),
    (6, 0, Part.LOOP_END_WITHOUT_MASK, "end_k = n_k"),
    (7, 1, Part.LOOP_BEGIN, "first_q = tl.maximum("),
    (7, 1, Product(frozenset({"do_ptr", "v_ptr"})), "dPij = tl.dot("),
    (7, 1, Part.DS, "dSij = Pij * ("),
    *((number, 0, role, "") for number in (2, 3, 5, 6) for role in FAULTS),
    (1, 0, Part.NORMALISER, ""),
]


@pytest.mark.parametrize(("puzzle_id", "kernel", "role", "text"), ROLES)
def test_lines_are_found_by_their_role(number: int, kernel: int, role: Part | Product, text: str) -> None:
    source = SOLUTIONS[number - 1].read_text()
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    line = Code(functions[kernel]).line_of(role, None)
    assert source.split("\n")[line - 1].strip().startswith(text) if line else not text


def test_of_two_lines_with_a_role_none_is_marked() -> None:
    source = "def f(x_ptr):\n for i in range(3):\n  a = tl.sum(x)\n  b = tl.sum(y)\n"
    [function] = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert Code(function).line_of(Part.NORMALISER, None) is None
