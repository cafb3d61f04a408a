"""A name needs a prediction that fits, and a generic report says what is so."""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest

from checker.check import Terms
from checker.course.misconception import Part, Product
from checker.course.puzzle import Array, Case, Expected
from checker.judge.compare import agrees, explains
from checker.judge.errors import plain
from checker.judge.patterns import common_sizes, rounded_to
from checker.judge.roles import Code
from tests.conftest import SOLUTIONS, check_changed

RIGHT = Expected(np.array([[1.0, 2.0, 4.0]]), np.full((1, 3), 1e-6))


def of(*values: float) -> Array:
    return np.array([values], np.float32)


def test_predicted_infinity_explains_only_infinity() -> None:
    infinite = of(np.inf, np.inf, np.inf).astype(np.float64)
    assert not agrees(infinite, of(0.5, 7.0, -3.0), RIGHT).any()
    assert agrees(infinite, of(np.inf, -np.inf, np.nan), RIGHT).tolist() == [[True, False, False]]


def test_a_prediction_lies_nearer_than_the_right_value() -> None:
    """Outputs that are off by a little are not explained by an idea that is off by as little somewhere else."""
    seen = of(1.0001, 2.0002, 4.0004)
    assert explains(seen.astype(np.float64), seen, RIGHT)
    assert not explains(np.array([[0.9999, 2.0, 4.0004]]), seen, RIGHT)


def test_of_a_vector_per_head_a_tenth_may_differ() -> None:
    right = Expected(np.ones((1, 32)), np.full((1, 32), 1e-6))
    seen = np.full((1, 32), 2.0, np.float32)
    idea = np.full((1, 32), 2.0)
    idea[0, 5] = 3.0
    assert explains(idea, seen, right, rows=False)
    assert not explains(idea, seen, right, rows=True)


@pytest.mark.parametrize(("dtype", "name"), [(np.float16, "fp16"), (np.float32, None)])
def test_rounding_of_the_output_is_recognised(dtype: type, name: str | None) -> None:
    values = np.random.default_rng(0).normal(0.0, 1.0, (4, 32))
    right = Expected(values, np.abs(values) * 1e-6)
    assert rounded_to(values.astype(dtype).astype(np.float32), right) == name
    assert rounded_to((1.01 * values).astype(np.float16).astype(np.float32), right) is None


def launch(n: int, block: int = 16) -> Case:
    return Case(f"{n}", "kernel", (), (1,), {}, {"n_cols": n}, {"BLOCK_SIZE": block})


def test_sizes_that_came_out_wrong_are_compared_with_the_others() -> None:
    sentence = common_sizes([launch(17), launch(33)], [launch(16), launch(32), launch(31)])
    assert sentence.startswith("The 2 launches that came out wrong have n_cols % BLOCK_SIZE == 1;")
    assert common_sizes([launch(17), launch(20)], [launch(33), launch(36)]) == ""


def test_messages_are_shown_without_the_values_of_a_block() -> None:
    assert plain("axis [-2.08 1.6972e-05 inf\n 3.0] is what?") == "axis […]"
    assert plain("cannot cast [[1. 2.] [3. 4.]] to fp32") == "cannot cast […] to fp32"
    assert plain("shapes [16, 32] and [16] differ") == "shapes [16, 32] and [16] differ"
    assert plain("Expected dtype ['fp32', 'fp64'] but got int64") == "Expected dtype ['fp32', 'fp64'] but got int64"
    assert plain("axis 1 out of bounds for shape [16]") == "axis 1 out of bounds for shape [16]"


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


@pytest.mark.parametrize(("number", "kernel", "role", "text"), ROLES)
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


@pytest.mark.parametrize(
    ("number", "old", "new", "id"),
    [
        (6, "start_q + Br + offset", "start_q + Br - 1 + offset", "loop-ends-too-early"),
        (6, "end_k = n_k\n", "end_k = n_k - 1\n", "loop-ends-too-early"),
        (7, "start_q + Br + offset", "start_q + Br - 1 + offset", "last-tile-left-out"),
        (7, "start_k - offset) //", "start_k - offset + 1) //", "first-tile-left-out"),
    ],
)
def test_a_mistake_at_the_edge_of_a_tile_is_named_and_marked(
    number: int, old: str, new: str, id: str, quick: Terms
) -> None:
    (finding,) = check_changed(number, old, new, quick).findings
    assert finding.id == id
    assert new.strip() in dict(finding.where.source)[finding.where.line or 0]


def test_what_is_loaded_again_in_the_loop_is_no_hidden_tile(quick: Terms) -> None:
    old = "        Sij = scale"
    again = "        if CAUSAL:\n            Qi = tl.load(q_ptr + q_offsets, mask=q_mask, other=0.0)\n"
    (finding,) = check_changed(6, old, again + old, quick).findings
    assert finding.id == "read-too-often"


def test_without_a_name_the_sizes_are_told(quick: Terms) -> None:
    old = "    # Line 12: divide once."
    new = "    Oi = tl.where(((n_k - n_q) % Bc + Bc) % Bc == 1, 0.5 * Oi, Oi)\n" + old
    (finding,) = check_changed(6, old, new, quick).findings
    assert finding.id == "wrong-values"
    assert re.search(r"\(n_k - n_q\) % B. == 1; of those that came out right, none has", finding.explanation)
