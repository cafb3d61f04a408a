"""Outcomes of the comparisons and the integer arithmetic of a submission: true or false; below, at or above zero.

Of the smaller or larger of two integers: whether the first is less than the second.

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
_firsts: dict[int, Any] = {}  # of two integers of which one is chosen, by expression


def expressions(functions: Iterable[ast.FunctionDef]) -> Sequence[ast.expr]:
    """Return all that have outcomes, in the order of their numbers."""
    in_order = sorted(functions, key=lambda function: function.lineno)
    every = (node for function in in_order for statement in function.body for node in ast.walk(statement))
    return [node for node in every if isinstance(node, ast.expr) and _has_outcomes(node)]


def _has_outcomes(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="min" | "max") | ast.Attribute(attr="minimum" | "maximum"), args=[_, _]):
            return True
    of_integers = isinstance(node, ast.BinOp) and isinstance(node.op, _INTEGER)
    return of_integers or isinstance(node, ast.Compare | ast.BoolOp)


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
        if isinstance(node, ast.Call):
            node.args = [_noted(~number, node.args[0]), _noted(number, node.args[1])]
            return node
        return _noted(number, node)  # type: ignore[arg-type]


def _noted(number: int, node: ast.expr) -> ast.expr:
    call = ast.Call(ast.Name(NAME, ast.Load()), [ast.Constant(number), node], [])
    return ast.fix_missing_locations(ast.copy_location(call, node))


def noted(number: int, value: Any) -> Any:
    """Return the value, with its outcomes noted. Of two integers, the first comes with ~number.

    Floats, pointers and tensors of PyTorch count as complete.
    """
    if number < 0:
        _firsts[~number] = value
        return value
    first = _firsts.pop(number, None)
    if not complete(before := had.get(number, 0)):
        one, other = _block(value if first is None else first), _block(value)
        if one is None or other is None:
            had[number] = TRUTHS | SIGNS
        else:
            had[number] = before | bits(other if first is None else np.less(one, other))
    return value


def _block(value: Any) -> Any:
    """Return the integers of a value; None of any other."""
    handle = getattr(value, "handle", None)
    data = getattr(value, "value", value) if handle is None else handle.data
    if not isinstance(data, bool | int | np.ndarray) or (handle is not None and value.dtype.is_ptr()):
        return None
    block = np.asarray(data)
    return block if block.dtype.kind in "biu" else None


def bits(values: Any) -> int:
    """Return the outcomes that are among some values."""
    others = int(np.count_nonzero(values))
    if values.dtype == bool:
        return int(TRUE * (others > 0) | FALSE * (others < values.size))
    above = int(np.count_nonzero(values > 0))
    return int(BELOW * (others > above) | ZERO * (others < values.size) | ABOVE * (above > 0))
