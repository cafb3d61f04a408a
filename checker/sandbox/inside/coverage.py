"""Parts of a submission that were entered: bodies of functions, `if`, `else`, loops, and code after a return.

Both sides number the bodies alike, because both read the same text: the sandbox marks them before it loads the kernels,
and the judge asks which of them no launch has entered.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Branching = ast.If | ast.For | ast.While
NAME = "__reached__"  # what a mark calls; the lint takes no name like it
COUNTED = "__counted__"  # what the items of a comprehension go through, as it is no body


@dataclass(frozen=True, eq=False)
class Body:
    """Statements that are entered together, and what they belong to."""

    number: int
    parent: Body | None  # None: of a function
    owner: ast.FunctionDef | Branching  # of what follows a conditional return: what holds that
    function: ast.FunctionDef
    within: list[ast.stmt]  # the list that the statements stand in
    start: int  # where they begin in it

    @property
    def statements(self) -> list[ast.stmt]:
        """From the first one to the end of the list, or to the next conditional return."""
        end = next((n + 1 for n, s in enumerate(self.within) if n >= self.start and may_return(s)), len(self.within))
        return self.within[self.start : end]


def bodies(functions: Sequence[ast.FunctionDef]) -> list[Body]:
    """Return all bodies of some functions, in the order of their numbers."""
    found: list[Body] = []
    for function in functions:
        found += _bodies(len(found), function, function, function.body, None)
    return found


def _bodies(
    number: int,
    function: ast.FunctionDef,
    owner: ast.FunctionDef | Branching,
    statements: list[ast.stmt],
    parent: Body | None,
) -> Iterator[Body]:
    """Yield the body that a list of statements begins with, then those inside it, numbered from `number`."""
    body = Body(number, parent, owner, function, statements, 0)
    yield body
    number += 1
    for position, statement in enumerate(statements):
        inner = [statement.body, statement.orelse] if isinstance(statement, Branching) else []
        for part in filter(None, inner):
            assert isinstance(statement, Branching)
            for one in _bodies(number, function, statement, part, body):
                yield one
                number += 1
        if isinstance(statement, Branching) and may_return(statement) and position + 1 < len(statements):
            body = Body(number, body, statement, function, statements, position + 1)
            yield body
            number += 1


def may_return(statement: ast.stmt) -> bool:
    """Return whether this is an `if` or a loop with a return in it: then what follows is not always entered."""
    return isinstance(statement, Branching) and any(
        isinstance(one, ast.Return) or may_return(one) for one in (*statement.body, *statement.orelse)
    )


def mark(functions: Sequence[ast.FunctionDef]) -> dict[int, int]:
    """Put a mark at the beginning of each body: a call of NAME with the body's number.

    The numbers of what is done again and again, and the lines where these loops begin.
    """
    every = bodies(functions)
    for body in reversed(every):  # from the back: positions before stay what they are
        call = ast.Call(ast.Name(NAME, ast.Load()), [ast.Constant(body.number)], [])
        first = body.within[body.start]
        body.within.insert(body.start, ast.fix_missing_locations(ast.copy_location(ast.Expr(call), first)))
    for function in functions:
        _Comprehensions().visit(function)
    loops = (body for body in every if isinstance(body.owner, ast.For | ast.While) and body.within is body.owner.body)
    return {body.number: body.owner.lineno for body in loops}


class _Comprehensions(ast.NodeTransformer):
    """Has each item of a comprehension counted."""

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        """`for x in items` becomes `for x in __counted__(items)`."""
        self.generic_visit(node)
        call = ast.Call(ast.Name(COUNTED, ast.Load()), [node.iter], [])
        node.iter = ast.fix_missing_locations(ast.copy_location(call, node.iter))
        return node
