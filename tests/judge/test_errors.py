"""A kernel's errors, by name or in Triton's own words."""

from __future__ import annotations

import ast

import pytest

from checker.catalog.lines import elementwise
from checker.course.misconception import Raises
from checker.course.text import Text
from checker.course.verdict import Status
from checker.judge.errors import Raised, error_finding, name_errors, plain
from tests.judge.made import case, code, error, idea, puzzle, where

LINES = ast.parse("""
def kernel(a_ptr, b_ptr):
    product = tl.load(a_ptr) * tl.load(b_ptr)
    total = product + 1
""")
CODE = Text(next(node for node in LINES.body if isinstance(node, ast.FunctionDef)))


def test_messages_are_shown_without_the_values_of_a_block() -> None:
    assert plain("axis [-2.08 1.6972e-05 inf\n 3.0] is what?") == "axis […]"
    assert plain("cannot cast [[1. 2.] [3. 4.]] to fp32") == "cannot cast […] to fp32"
    assert plain("shapes [16, 32] and [16] differ") == "shapes [16, 32] and [16] differ"
    assert plain("Expected dtype ['fp32', 'fp64'] but got int64") == "Expected dtype ['fp32', 'fp64'] but got int64"
    assert plain("axis 1 out of bounds for shape [16]") == "axis 1 out of bounds for shape [16]"


def test_a_message_that_is_known_has_a_name() -> None:
    raised = [Raised(case(), error("you did it again")), Raised(case(id=1), error("power of two"))]
    own, common = name_errors(puzzle(idea("again", Raises("again"))), raised, where, code())
    assert (own.id, own.where.case_id, own.examples) == ("again", 0, ("Triton says: you did it again",))
    assert (common.id, common.status) == ("arange-not-power-of-two", Status.CRASHED)


def test_a_message_may_be_known_in_a_line_that_plays_a_part_only() -> None:
    known = puzzle(idea("by hand", Raises("broadcast", elementwise)))
    raised = [Raised(case(), error("cannot broadcast", line=line)) for line in (3, 4)]
    assert [f.id for f in name_errors(known, raised, where, CODE)] == ["by hand", "kernel-error"]


def test_an_unknown_error_is_told_once_a_line() -> None:
    errors = (error(), error(), error(line=4), error(type="KeyError"))
    found = list(name_errors(puzzle(), [Raised(case(), one) for one in errors], where, code()))
    assert [finding.where.line for finding in found] == [3, 4, 3] and not any(finding.named for finding in found)


@pytest.mark.parametrize(
    ("type", "id", "named"),
    [
        ("MemoryError", "out-of-memory", True),
        ("FalsePromise", "false-promise", True),
        ("CompilationError", "compiler-error", True),
        ("ValueError", "kernel-error", False),
    ],
)
def test_some_errors_say_by_their_type_what_is_wrong(type: str, id: str, named: bool) -> None:
    finding = error_finding(error(type=type), where())
    assert (finding.id, finding.named) == (id, named)
