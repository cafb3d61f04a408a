"""Text of a kernel with holes, and where a kernel has an expression of that form.

    tl.where(_, _, 0)      _ stands for anything
    A * tl.exp(B - _)      a capital letter for something that is asked about
    tl.load(_, _, A, ...)  dots for further arguments; keywords that are not written down may be there or not

A function is known by its last name: `tl.sum(...)` is `x.sum(0)` as well. And exp2 is an exp.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from checker.course.text import Assignment, called

EXPONENTIALS = frozenset({"exp", "exp2"})
Holes = dict[str, ast.expr]


@cache
def _form(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def fits(text: str, node: ast.AST) -> Holes | None:
    """Return what stands in the holes, if an expression has the form of this text."""
    holes: Holes = {}
    return holes if _fits(_form(text), node, holes) else None


def found(text: str, value: ast.AST) -> Iterator[Holes]:
    """Return the same of each expression in a value that has the form."""
    return (holes for node in ast.walk(value) if (holes := fits(text, node)) is not None)


def having(
    some: Iterable[Assignment], *texts: str, where: Callable[[Holes], bool] = lambda _: True
) -> list[Assignment]:
    """Return the assignments in whose value something has one of these forms, with such things in its holes."""
    return [one for one in some if any(where(holes) for text in texts for holes in found(text, one.value))]


def _fits(form: ast.AST, node: ast.AST, holes: Holes) -> bool:
    match form, node:
        case ast.Name(id="_"), _:
            return True
        case ast.Name(id=name), ast.expr() if len(name) == 1 and name.isupper():
            return ast.dump(holes.setdefault(name, node)) == ast.dump(node)
        case ast.Name(id=name), ast.Name(id=other):
            return name == other
        case ast.Constant(value=value), ast.Constant(value=other):
            return bool(value == other)
        case ast.Call(), ast.Call():
            return _name(form) == _name(node) and _arguments(form, node, holes)
        case ast.Attribute(attr=name), ast.Attribute(attr=other):
            return name == other
        case ast.BinOp(), ast.BinOp():
            return type(form.op) is type(node.op) and _all((form.left, form.right), (node.left, node.right), holes)
        case ast.Compare(ops=[wanted]), ast.Compare(ops=[op]) if type(wanted) is type(op):
            return _all((form.left, *form.comparators), (node.left, *node.comparators), holes)
        case ast.Subscript(), ast.Subscript():
            return _all((form.value, form.slice), (node.value, node.slice), holes)
        case ast.Tuple(elts=wanted), ast.Tuple(elts=given):
            return len(wanted) == len(given) and _all(wanted, given, holes)
        case ast.Slice(lower=None, upper=None), ast.Slice():
            return True
    return False


def _name(call: ast.Call) -> str:
    return "exp" if (name := called(call)) in EXPONENTIALS else name


def _arguments(form: ast.Call, node: ast.Call, holes: Holes) -> bool:
    wanted, given = form.args, node.args
    if wanted and isinstance(wanted[-1], ast.Constant) and wanted[-1].value is ...:
        wanted, given = wanted[:-1], given[: len(wanted) - 1]
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    return (
        len(wanted) == len(given)
        and _all(wanted, given, holes)
        and all(k.arg in named and _fits(k.value, named[k.arg], holes) for k in form.keywords)
    )


def _all(forms: Iterable[ast.AST], nodes: Iterable[ast.AST], holes: Holes) -> bool:
    return all(_fits(form, node, holes) for form, node in zip(forms, nodes, strict=True))
