"""Outcomes of the comparisons and the integer arithmetic of a submission: true or false; below, at or above zero.

Both sides number these expressions alike, as they number bodies (`coverage`): the sandbox notes the outcomes of each
launch, and the judge asks for those that no launch has had.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

NAME = "__outcome__"  # what an expression's value goes through; the lint takes no name like it
FALSE, TRUE, BELOW, ZERO, ABOVE = 1, 2, 4, 8, 16
TRUTHS, SIGNS = FALSE | TRUE, BELOW | ZERO | ABOVE
_INTEGER = ast.Mod | ast.FloorDiv | ast.Sub | ast.BitAnd | ast.BitOr | ast.BitXor | ast.RShift
had: dict[int, int] = {}  # by expression: the union of its outcomes in the launch in progress


def expressions(functions: Iterable[ast.FunctionDef]) -> Sequence[ast.expr]:
    """Return all that have outcomes, in the order of their numbers."""
    in_order = sorted(functions, key=lambda function: function.lineno)
    every = (node for function in in_order for statement in function.body for node in ast.walk(statement))
    return [
        node
        for node in every
        if isinstance(node, ast.Compare | ast.BoolOp) or (isinstance(node, ast.BinOp) and isinstance(node.op, _INTEGER))
    ]


def complete(bits: int) -> bool:
    """Return whether an expression has had all outcomes."""
    return bits & TRUTHS == TRUTHS or bits & SIGNS == SIGNS


def mark(functions: Sequence[ast.FunctionDef]) -> None:
    """Have each expression's value go through `noted`."""
    marks = _Marks({id(node): number for number, node in enumerate(expressions(functions))})
    for function in functions:
        function.body = [marks.visit(statement) for statement in function.body]


class _Marks(ast.NodeTransformer):
    def __init__(self, numbers: dict[int, int]):
        self.numbers = numbers

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if (number := self.numbers.get(id(node))) is None:
            return node
        call = ast.Call(ast.Name(NAME, ast.Load()), [ast.Constant(number), node], [])  # type: ignore[list-item]
        return ast.fix_missing_locations(ast.copy_location(call, node))


def noted(number: int, value: Any) -> Any:
    """Return the value, with its outcomes noted. Floats, pointers and tensors of PyTorch count as complete."""
    if not complete(before := had.get(number, 0)):
        handle = getattr(value, "handle", None)
        data = getattr(value, "value", value) if handle is None else handle.data
        block = np.asarray(data) if isinstance(data, bool | int | np.ndarray) else np.array(0.0)
        pointers = handle is not None and value.dtype.is_ptr()
        had[number] = before | bits(block) if block.dtype.kind in "biu" and not pointers else TRUTHS | SIGNS
    return value


def bits(values: Any) -> int:
    """Return the outcomes that are among some values."""
    others = int(np.count_nonzero(values))
    if values.dtype == bool:
        return int(TRUE * (others > 0) | FALSE * (others < values.size))
    above = int(np.count_nonzero(values > 0))
    return int(BELOW * (others > above) | ZERO * (others < values.size) | ABOVE * (above > 0))
