"""Shapes of the blocks that meet in a line, read from the text: in the names of the kernel's constants."""

from __future__ import annotations

import ast
import textwrap

from checker.course.text import Assignment, Text, called, names_in
from checker.judge.evidence import listed

LONGEST = 60  # characters of code in a sentence
Shape = tuple[str, ...]
_REDUCTIONS = frozenset({"sum", "max", "min"})
_ELEMENTWISE = frozenset({"exp", "exp2", "log", "abs", "maximum", "minimum", "where", "sqrt"})


class _ClashError(Exception):
    """Shapes that do not fit together, each with what has it."""

    def __init__(self, parts: list[tuple[str, Shape]]):
        super().__init__()
        self.parts = parts


class _UnknownError(Exception):
    """A value whose shape the text does not tell."""


def clash(code: Text, line: int) -> str:
    """Return a sentence on the blocks that do not fit together in a line; nothing if the text does not tell."""
    for one in code.assignments:
        if one.line == line:
            try:
                _shape(code, _computed(one), line)
            except _ClashError as found:
                met = [f"{_said(shape)} of {what}" for what, shape in found.parts]
                return f"Shapes that meet in this line: {listed(met)}.{_square(code, one)}"
            except _UnknownError:
                return ""
    return ""


def _square(code: Text, of: Assignment) -> str:
    """Return a sentence on the first of the names in a line that has become square: a vector met a column."""
    names = code.closure(names_in(of.value))
    for one in code.assignments:
        if one.target not in names or one.line >= of.line:
            continue
        for node in ast.walk(one.value):
            match node:
                case ast.BinOp(left=left, right=right):
                    sides = [left, right]
                case ast.Call(args=arguments) if called(node) in _ELEMENTWISE:
                    sides = arguments
                case _:
                    continue
            if met := _vector_and_column(code, sides, one.line):
                (vector, flat), (column, upright) = met
                square = _said((upright[0], flat[0]))
                how = f"{_said(flat)} of {vector} met {_said(upright)} of {column}"
                return f" In `{one.target}`, {how}, which makes a square, {square}."
    return ""


def _vector_and_column(code: Text, sides: list[ast.expr], line: int) -> list[tuple[str, Shape]]:
    """Return a vector and a column of the same length that are combined, each with what has it; nothing if there are
    none.
    """
    try:
        shapes = [(f"`{_short(side)}`", _shape(code, side, line)) for side in sides]
    except (_ClashError, _UnknownError):
        return []
    for column in shapes:
        for vector in shapes:
            if len(vector[1]) == 1 and vector[1] != ("1",) and column[1] == (*vector[1], "1"):
                return [vector, column]
    return []


def _short(value: ast.expr) -> str:
    return textwrap.shorten(ast.unparse(value), LONGEST)


def _computed(one: Assignment) -> ast.expr:
    """Return what a name becomes: the sum, in `name += value`."""
    return ast.BinOp(ast.Name(one.target), ast.Add(), one.value) if one.adds else one.value


def _said(shape: Shape) -> str:
    return f"({', '.join(shape)}{',' if len(shape) == 1 else ''})"


def _shape(code: Text, value: ast.expr, line: int) -> Shape:
    """Return the shape of a value that is computed in a line. Raises _ClashError and _UnknownError."""
    match value:
        case ast.Constant():
            return ()
        case ast.Name(id=name):
            own = [one for one in code.assignments if one.target == name and one.line < line]
            return _shape(code, _computed(own[-1]), own[-1].line) if own else ()
        case ast.UnaryOp(operand=operand):
            return _shape(code, operand, line)
        case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
            return _together(code, [left, right], line)
        case ast.Subscript(value=inner, slice=ast.Tuple(elts=places)):
            sides = iter(_shape(code, inner, line))
            return (*(next(sides, "?") if isinstance(place, ast.Slice) else "1" for place in places), *sides)
        case ast.Call():
            return _of_call(code, value, line)
    raise _UnknownError


def _together(code: Text, values: list[ast.expr], line: int) -> Shape:
    """Return the shape of blocks that are combined element by element."""
    return _fitted([(f"`{_short(one)}`", _shape(code, one, line)) for one in values])


def _fitted(parts: list[tuple[str, Shape]]) -> Shape:
    rank = max(len(shape) for _, shape in parts)
    sides = []
    for along in zip(*(("1",) * (rank - len(shape)) + shape for _, shape in parts), strict=True):
        different = {side for side in along if side != "1"}
        if len(different) > 1:
            raise _ClashError([(what, shape) for what, shape in parts if shape])
        sides.append(different.pop() if different else "1")
    return tuple(sides)


def _of_call(code: Text, call: ast.Call, line: int) -> Shape:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    method = isinstance(call.func, ast.Attribute) and not (
        isinstance(call.func.value, ast.Name) and call.func.value.id == "tl"
    )
    arguments = [call.func.value, *call.args] if method and isinstance(call.func, ast.Attribute) else call.args
    if name in ("program_id", "float", "cdiv"):
        return ()
    if name == "arange":
        return (ast.unparse(arguments[1]),)
    if name == "to":
        return _shape(code, arguments[0], line)
    if name in _ELEMENTWISE:
        return _together(code, arguments, line)
    if name == "trans" and len(arguments) == 1:
        return _shape(code, arguments[0], line)[::-1]
    if name in ("zeros", "full") and isinstance(arguments[0], ast.Tuple | ast.List):
        return tuple(ast.unparse(side) for side in arguments[0].elts)
    if name in ("load", "store"):
        return _of_access(code, name, arguments, given, line)
    axis = given.get("axis", arguments[1] if len(arguments) > 1 else None)
    shape = _shape(code, arguments[0], line) if name in (*_REDUCTIONS, "expand_dims") else ()
    match axis:
        case ast.Constant(value=int(number)) if name in _REDUCTIONS and number < len(shape):
            return shape[:number] + (("1",) if "keep_dims" in given else ()) + shape[number + 1 :]
        case ast.Constant(value=int(number)) if name == "expand_dims":
            return (*shape[:number], "1", *shape[number:])
    raise _UnknownError


def _of_access(code: Text, name: str, arguments: list[ast.expr], given: dict[str | None, ast.expr], line: int) -> Shape:
    """A load has the shape of its addresses, and a store's values and mask fit them."""
    parts = [("the addresses", arguments[0])]
    if name == "store" and len(arguments) > 1:
        parts.append(("the values", arguments[1]))
    rest = arguments[len(parts) :]
    if mask := given.get("mask", rest[0] if rest else None):
        parts.append(("the mask", mask))
    shapes = [(what, _shape(code, value, line)) for what, value in parts]
    _fitted(shapes)
    return shapes[0][1]
