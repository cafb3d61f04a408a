"""The operators find in a small kernel what they are for, and the types of its names."""

from __future__ import annotations

import ast

import pytest

from checker.grading.viva.kinds import Kind, scope_of
from checker.grading.viva.mutants import mutants
from checker.grading.viva.operators import OPERATORS

PARAMETERS = "x_ptr, y_ptr, x_head_stride, x_row_stride, n_x, n_y, scale, B: tl.constexpr, ON: tl.constexpr"
HEAD = f"@triton.jit\ndef kernel({PARAMETERS}):\n"
BODY = """
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, B)
    x_row = x_ptr + row * x_row_stride
    m = tl.zeros((B,), tl.float32)
"""


def changes(operator: str, line: str) -> list[str]:
    """What an operator makes of a line at the end of a small kernel."""
    found = mutants(f"{HEAD}{BODY}    {line}\n    tl.debug_barrier()\n")
    statement = ast.unparse(ast.parse(line if not line.endswith(":") else f"{line} pass")).split("\n")[0]
    return [m.change.partition(" -> ")[2] for m in found if m.operator == operator and m.statement == statement]


@pytest.mark.parametrize(
    ("operator", "line", "expected"),
    [
        (
            "shifted",
            "for start in range(0, n_x, B): pass",
            "range(0, n_x - 1, B)|range(0, n_x + B, B)|range(0 + 2, n_x, B)",
        ),
        ("shifted", "mask = cols < n_x", "cols < n_x + 1|cols < n_x - 2|cols < n_x - B"),
        ("shifted", "end = n_x - n_y", "end = n_x - n_y + 1|end = n_x - n_y - B"),
        ("shifted", "a, b = x_row, n_x * 2", "a, b = (x_row, n_x * 2 + 1)"),
        ("shifted", "end = tl.minimum(n_x, row)", "tl.minimum(n_x + 1, row)|tl.minimum(n_x, row - B)"),
        ("shifted", "x = tl.load(x_row + cols)", "tl.load(x_row + cols - 1)"),
        ("shifted", "y = y_ptr + row * n_x", "(row + 1) * n_x|row * (n_x - 1)"),
        ("compared", "mask = cols < n_x", "cols <= n_x|cols > n_x"),
        ("compared", "mask = cols <= n_x", "cols < n_x|cols > n_x"),
        ("compared", "mask = cols >= n_x", "cols > n_x|cols < n_x"),
        ("compared", "mask = row == n_x", "row != n_x"),
        ("renamed", "end = n_x * 2", "n_y|row|x_row_stride|x_head_stride|B"),
        ("renamed", "y = y_ptr + 2", "x_ptr|x_row"),
        ("renamed", "y = cols + 2", ""),
        ("dropped_term", "mask = (cols < n_x) & (cols > n_y)", "cols < n_x|cols > n_y"),
        ("dropped_term", "end = n_x - n_y", "n_x"),
        ("dropped_term", "s = scale * 2.0", "scale|2.0"),
        ("fixed", "end = n_x * 2", "1"),
        ("fixed", "s = scale * 2.0", "1.0"),
        ("fixed", "y = y_ptr + row * x_head_stride", "1|n_x * x_row_stride|n_x * x_row_stride + 24"),
        ("fixed", "y = y_ptr + row * x_row_stride", "1|n_cols + 8|n_cols + 24"),
        ("fixed", "y = ON", "True|False"),
        ("capped", "for start in range(0, n_x, B): pass", "tl.minimum(n_x, 1000)"),
        ("arithmetic", "end = n_x // 2", "n_x * 2|3|1"),
        ("arithmetic", "s = -scale", "scale|0.0|-10000.0"),
        ("called", "s = tl.sum(m, axis=0)", "tl.sum(m)|tl.max(m, axis=0)"),
        ("called", "s = tl.where(m > 0, m, 0.0)", "tl.where(m > 0, 0.0, m)|m|0.0"),
        ("called", "s = tl.dot(m, cols)", "tl.dot(cols, m)"),
        ("looped", "for start in range(0, n_x, B): pass", "range(B, n_x, B)|range(0, n_x, B * 2)|range(0, n_x * 2, B)"),
        ("looped", "for start in range(n_x, n_y): pass", "range(1, n_y, 1)|range(n_x, n_y * 2, 1)"),
        ("indexed", "y = cols[:, None] + 1", "cols[None, :]|cols"),
        ("stated", "m += 1.0", "nothing|m = 1.0"),
        (
            "addresses_in_32_bits",
            "y = y_ptr + row * x_head_stride",
            "(row.to(tl.uint32) * x_head_stride).to(tl.int64)|(row.to(tl.float32) * x_head_stride).to(tl.int64)",
        ),
        ("addresses_in_32_bits", "y = y_ptr + n_y * x_row_stride", ""),
        ("renamed", "x = m.to(y_ptr.dtype)", ""),
        ("converted", "x = m.to(tl.float32)", "m|tl.float16"),
        ("converted", "x = m.to(y_ptr.dtype)", "m|tl.float16|tl.float32"),
        ("half_inside", "m += m * 2.0", "m = (m + m * 2.0).to(tl.float16).to(tl.float32)"),
        ("half_inside", "m = m * 2.0", "m = (m * 2.0).to(tl.float16).to(tl.float32)"),
        ("half_inside", "s = tl.dot(m, m)", "tl.dot(m, m, out_dtype=tl.float16)"),
        ("half_inside", "s = tl.sum(m, axis=0)", "tl.sum(m.to(tl.float16), axis=0)"),
        ("untiled", "s = tl.dot(m, m)", "tl.sum(m[:, :, None] * m[None, :, :], axis=1)"),
        ("untiled", "s = tl.trans(m)", "tl.reshape(m, (m.shape[1], m.shape[0]))"),
        ("promised", "mask = cols < n_x", "cols < tl.multiple_of(n_x, 16)"),
        ("promised", "y = cols + 1", "y = tl.max_constancy(cols + 1, 16)|y = tl.multiple_of(cols + 1, 16)"),
    ],
)
def test_an_operator_finds_what_it_is_for(operator: str, line: str, expected: str) -> None:
    made = [text.replace("(a, b) = ", "a, b = ") for text in changes(operator, line)]  # so written by Python 3.10
    assert set(expected.split("|")) - {""} <= set(made)
    if not expected:
        assert made == []


def test_each_operator_is_tried_above() -> None:
    [mark] = test_an_operator_finds_what_it_is_for.pytestmark  # type: ignore[attr-defined]
    assert {operator for operator, *_ in mark.args[1]} == {operator.__name__ for operator in OPERATORS}


def test_arguments_by_name_are_no_trouble() -> None:
    assert changes("called", "s = tl.where(m > 0, x=m, y=0.0)")  # without one of them, which Triton refuses
    assert changes("shifted", "more = tl.arange(end=B, start=0) + 1")


def test_another_name_is_one_that_exists_by_then() -> None:
    found = mutants(f"{HEAD}    end = n_x * 2\n    later = end * 2\n")
    names = {m.change for m in found if m.operator == "renamed"}
    assert {"n_x -> n_y", "end -> n_x"} <= names
    assert not {"n_x -> later", "n_x -> end", "end -> later"} & names


def test_the_types_of_names_follow_from_what_they_are_given() -> None:
    [kernel] = ast.parse(
        f"{HEAD}{BODY}    for start in range(0, n_x, B):\n"
        "        mask = (start + cols)[:, None] < n_x\n"
        "        a, b = x_row + cols, tl.max(tl.load(x_row + cols[None, :]), axis=1)\n"
    ).body
    assert isinstance(kernel, ast.FunctionDef)
    scope = scope_of(kernel)
    assert scope.kinds == {
        "x_ptr": Kind("pointer"),
        "y_ptr": Kind("pointer"),
        **dict.fromkeys(("x_head_stride", "x_row_stride", "n_x", "n_y", "start", "row"), Kind("int")),
        "scale": Kind("float"),
        "B": Kind("block"),
        "ON": Kind("flag"),
        "cols": Kind("int", 1),
        "x_row": Kind("pointer"),
        "m": Kind("float", 1),
        "mask": Kind("bool", 2),
        "a": Kind("pointer", 1),
        "b": Kind("float", 1),
    }
    assert scope.wide == {"row"}


def test_no_text_comes_twice_and_none_is_the_solution() -> None:
    text = f"{HEAD}{BODY}    y = cols + 1 + 1\n    n = tl.minimum(n_x, n_x) + (n_x + 0)\n"
    found = mutants(text)
    assert len({m.text for m in found}) == len(found)
    assert ast.unparse(ast.parse(text)) not in {ast.unparse(ast.parse(m.text)) for m in found}
