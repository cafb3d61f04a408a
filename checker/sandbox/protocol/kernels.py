"""Kernels among the functions of a whole file, as both sides of the wall count them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator


def kernels_of(module: ast.Module) -> list[ast.FunctionDef]:
    """Return the functions that are decorated with Triton's jit, under whatever name, in the order of the text."""
    return [node for node in statements(module.body) if isinstance(node, ast.FunctionDef) and is_kernel(node)]


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, for an `if` or a `try` those inside."""
    for node in body:
        if isinstance(node, ast.If | ast.Try):
            handled = [one for handler in getattr(node, "handlers", []) for one in handler.body]
            yield from statements([*node.body, *handled, *node.orelse, *getattr(node, "finalbody", [])])
        else:
            yield node


def is_kernel(function: ast.FunctionDef) -> bool:
    """Return whether it is decorated so."""
    found = (node for decorator in function.decorator_list for node in ast.walk(decorator))
    return any(getattr(node, "attr", getattr(node, "id", "")) == "jit" for node in found)
