"""Lines of a kernel that show a mistake are found, whatever things are called, and by the form that they have."""

from __future__ import annotations

import ast

import pytest

from checker.catalog import lines
from checker.course import places
from checker.course.text import Line, Text, products_of
from checker.course.written import fits
from tests.judge.made import code

# Roles of lines that no right kernel has.
FAULTS = (
    *(lines.inverse_factor, lines.minimum, lines.start_above, lines.unshifted, lines.zeroed_padding),
    *(lines.max_of_exponentials, lines.ratio_of_exponentials, lines.started_in_loop, lines.start_times_step),
    *(lines.range_to_block, lines.reshape, lines.inverted_mask, lines.carried_on),
)
# (puzzle, kernel, role, what stands in its line)
ROLES = [
    ("p2", 0, lines.normaliser, "l += tl.sum("),
    ("p3", 0, lines.normaliser, "l = l * tl.exp("),
    ("p5", 0, lines.normaliser, "li_new = old + new * lij"),
    ("p5", 0, lines.accumulator, "Oi = (old[:, None] * Oi"),
    ("p5", 0, products_of("q_ptr", "k_ptr"), "Sij = scale * tl.dot("),
    ("p6", 0, lines.accumulator, "Oi = alpha[:, None] * Oi + tl.dot("),
    ("p6", 0, lines.normaliser, "li = alpha * li + tl.sum("),
    ("p6", 0, lines.exponential_of_scores, "Pij = tl.exp("),
    ("p6", 0, lines.causal_mask, "visible = visible & (keys[None, :] <="),
    ("p7", 2, products_of("do_ptr", "v_ptr"), "dPij = tl.dot("),
    ("a2", 0, products_of("q_ptr", "k_ptr"), "Sij = scale * (Qi @"),
    ("a2", 0, lines.normaliser, "li = alpha * li + Pij.sum("),
    ("a2", 0, lines.accumulator, "Oi = alpha * Oi + Pij @ Vj"),
    ("a4", 0, products_of("do_ptr", "v_ptr"), "dPij = dOi @"),
    *((puzzle_id, 0, role, "") for puzzle_id in ("p2", "p3", "p5", "p6") for role in FAULTS),
    ("p1", 0, lines.normaliser, ""),
    ("p1", 0, lines.loads_of_minus_infinity, "x = tl.load("),
    ("a1", 0, lines.loads_of_minus_infinity, ""),
]


@pytest.mark.parametrize(("puzzle_id", "kernel", "role", "text"), ROLES)
def test_lines_are_found_by_their_role(puzzle_id: str, kernel: int, role: Line, text: str) -> None:
    source = places.solution(puzzle_id).read_text()
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    line = Text(functions[kernel]).line_of(role, None)
    assert source.split("\n")[line - 1].strip().startswith(text) if line else not text


def test_of_two_lines_with_a_role_none_is_marked() -> None:
    source = "def f(x_ptr):\n for i in range(3):\n  a = tl.sum(x)\n  b = tl.sum(y)\n"
    [function] = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert Text(function).line_of(lines.normaliser, None) is None


def test_a_name_may_hold_any_part_of_what_is_unpacked() -> None:
    [function] = ast.parse("def f(q, k):\n a, b, c = *q[0], k\n x, y = q[0], k[0]\n").body
    assert isinstance(function, ast.FunctionDef)
    found = Text(function)
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
    assert [one.line for one in lines.carried_on(code(text))] == ([line] if line else [])


@pytest.mark.parametrize(
    ("form", "text", "holes"),
    [
        ("_", "x + 1", {}),
        ("A + A", "x + x", {"A": "x"}),
        ("A + A", "x + y", None),
        ("A + B", "x - y", None),
        ("tl.exp(A - B, ...)", "tl.exp2(x[:, None] - m)", {"A": "x[:, None]", "B": "m"}),
        ("tl.exp(A)", "x.exp()", None),
        ("tl.sum(...)", "x.sum(0)", {}),
        ("tl.where(_, _, 0)", "tl.where(mask, x, 0.0)", {}),
        ("tl.where(_, _, 0)", "tl.where(mask, x, 1)", None),
        ("tl.where(M, ...)", "tl.where(keys < n, x, 0)", {"M": "keys < n"}),
        ("tl.load(..., other=O)", "tl.load(p, mask=m, other=-1.0)", {"O": "-1.0"}),
        ("tl.load(..., other=O)", "tl.load(p, mask=m)", None),
        ("tl.max(_, 0, ...)", "tl.max(s, 0, keep_dims=True)", {}),
        ("tl.max(_, 0)", "tl.max(s)", None),
        ("A < B", "i < n", {"A": "i", "B": "n"}),
        ("A < B", "i <= n", None),
        ("_[:, None]", "keys[:, None]", {}),
        ("_[:, None]", "keys[None, :]", None),
        ("tl.float16", "tl.float16", {}),
        ("tl.float16", "x.dtype", None),
    ],
)
def test_what_has_a_form(form: str, text: str, holes: dict[str, str] | None) -> None:
    found = fits(form, ast.parse(text, mode="eval").body)
    assert (found and {name: ast.unparse(value) for name, value in found.items()}) == holes
