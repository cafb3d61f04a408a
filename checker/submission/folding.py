"""Numbers that expressions of a submission are, whatever the launch, or would be if every size were the same."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

ARITHMETIC: Mapping[type[ast.operator], Callable[[int | float, int | float], int | float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}


def numbers_in(function: ast.FunctionDef, known: Mapping[str, int | float]) -> dict[str, int | float]:
    """Return what is `known`, and variables that are assigned once, and a number at that."""
    assigned: dict[str, list[ast.expr | None]] = {a.arg: [None] for a in function.args.args}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            plain = isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(targets[0], ast.Name)
            for name in (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)):
                assigned.setdefault(name, []).append(getattr(node, "value", None) if plain else None)
    found = dict(known)
    for name, values in assigned.items():  # in the order of the text, nearly
        found.pop(name, None)
        if len(values) == 1 and values[0] is not None and (value := folded(values[0], found)) is not None:
            found[name] = value
    return found


def folded(node: ast.expr, known: Mapping[str, int | float]) -> int | float | None:
    """Return the number that an expression is, if it is one whatever the launch."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _within(number)
        case ast.Name(id=name):
            return known.get(name)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            value = folded(operand, known)
            return -value if value is not None and isinstance(sign, ast.USub) else value
        case ast.Call(func=ast.Attribute(attr="constexpr") | ast.Name(id="int" | "float"), args=[inner]):
            return folded(inner, known)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = folded(left, known), folded(right, known)
            return None if a is None or b is None else _result(a, op, b)
    return None


def of_size(node: ast.expr, size: int, known: Mapping[str, int | float]) -> int | float:
    """Return what arithmetic gives if every size in it is this one: `7 * n` is seven times it."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            value = _result(of_size(left, size, known), op, of_size(right, size, known))
        case _:
            value = folded(node, known)
    return size if value is None else value


def _result(a: int | float, op: ast.operator, b: int | float) -> int | float | None:
    """Return what arithmetic on two numbers gives; None if it cannot be done, or gives something enormous."""
    calculate = ARITHMETIC.get(type(op))
    shifts = isinstance(op, ast.LShift | ast.RShift)
    if calculate is None or (shifts and not (isinstance(a, int) and isinstance(b, int) and 0 <= b < 64)):
        return None
    try:
        value = calculate(a, b)
    except (ArithmeticError, ValueError):
        return None
    return _within(value)


def _within(number: int | float) -> int | float | None:
    """Return the number, if no more than what a tensor's element may be."""
    return number if isinstance(number, float) or abs(number) < 2**63 else None
