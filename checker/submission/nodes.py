"""Small questions about syntax."""

from __future__ import annotations

import ast


def parsed(text: str) -> ast.Module | None:
    """Return a program's syntax tree; None if Python cannot read it, also because it was made to be hard to read."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def argument(node: ast.Call, position: int, name: str) -> ast.expr | None:
    """Return what a call gives for a parameter, by position or by name."""
    named = (keyword.value for keyword in node.keywords if keyword.arg == name)
    return node.args[position] if len(node.args) > position else next(named, None)


def as_shape(node: ast.expr) -> ast.expr:
    """A list is how Triton's own code writes a shape; elsewhere lists have no place in a kernel."""
    return ast.copy_location(ast.Tuple(node.elts, ast.Load()), node) if isinstance(node, ast.List) else node


def is_text(node: ast.expr | None) -> bool:
    """Return whether it is a text as it stands."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def is_index(node: ast.expr) -> bool:
    """Return a whole number, with a minus or without: nothing that would have to be looked into."""
    number = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return isinstance(number, ast.Constant) and type(number.value) is int


def called(function: ast.expr) -> str:
    """Return the called name, as the rules have it: `name`, `owner.name`, or `.name` of something longer.

    Not `ast.unparse`, whose work would grow with what stands before each of many dots.
    """
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute):
        return f"{function.value.id if isinstance(function.value, ast.Name) else ''}.{function.attr}"
    return ""


def dotted(node: ast.expr) -> list[str]:
    """Return the words of a dotted name; nothing if it is not one."""
    words = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    return [node.id, *reversed(words)] if isinstance(node, ast.Name) else []
