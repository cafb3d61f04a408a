"""Every kernel that differs from another one in one place, by all operators.

Those of the solutions must all be refused: see `tests/mutation`. A viva asks about those of a student's own kernel.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from checker.grading.viva.kinds import scope_of
from checker.grading.viva.operators import OPERATORS, Operator


@dataclass(frozen=True)
class Replacement:
    """A node of a function, and another one that may stand in its place."""

    function: ast.FunctionDef
    place: Place
    operator: Operator
    old: ast.AST
    new: ast.AST

    @property
    def text(self) -> str:
        """The function with the other node in it, as source."""
        self.place.put(self.new)
        text = ast.unparse(self.function)
        self.place.put(self.old)
        return text


@dataclass(frozen=True)
class Place:
    """The position of a node: a field of its parent, or an index in that."""

    parent: ast.AST
    field: str
    index: int | None
    statement: ast.AST  # the innermost one that it is, or is in

    def put(self, new: ast.AST) -> None:
        """Put a node there."""
        if self.index is None:
            setattr(self.parent, self.field, new)
        else:
            getattr(self.parent, self.field)[self.index] = new


@dataclass(frozen=True)
class Mutant:
    """A changed solution: its whole text, and what was changed where."""

    text: str
    kernel: str
    operator: str
    change: str  # "before -> after", as source
    statement: str  # the first line of the statement that it stands in
    occurrence: int  # 1 for the first of all mutants of the kernel that read the same, and so on

    @property
    def name(self) -> str:
        """What survivors are listed by; does not depend on line numbers."""
        return f"{self.kernel} | {self.operator} | {self.statement} | {self.change} | #{self.occurrence}"


def mutants(solution: str) -> list[Mutant]:
    """Return all mutants of all kernels of a solution, each text once."""
    tree = ast.parse(solution)
    found: dict[str, Mutant] = {}
    read_the_same: Counter[tuple[str, ...]] = Counter()
    for number, function in enumerate(tree.body):
        if not isinstance(function, ast.FunctionDef):
            continue
        parts = [ast.unparse(part) for part in tree.body]
        itself = parts[number]
        for one in replacements(function):
            parts[number] = one.text
            text = "\n\n".join(parts)
            if text in found or parts[number] == itself:
                continue
            statement = ast.unparse(one.place.statement).split("\n")[0]
            facts = function.name, one.operator.__name__, _change(one.old, one.new), statement
            read_the_same[facts] += 1
            found[text] = Mutant(text, *facts, read_the_same[facts])
    return list(found.values())


def replacements(function: ast.FunctionDef) -> Iterator[Replacement]:
    """Yield all that the operators make of a function's nodes."""
    scope = scope_of(function)
    for place, node in list(_nodes(function, function)):
        for operator in OPERATORS:
            for new in list(operator(node, scope)):
                yield Replacement(function, place, operator, node, ast.fix_missing_locations(new))


def _change(node: ast.AST, new: ast.AST) -> str:
    before = ast.unparse(node).split("\n")[0]
    return f"{before} -> {'nothing' if isinstance(new, ast.Pass) else ast.unparse(new).split(chr(10))[0]}"


def _nodes(root: ast.AST, statement: ast.AST) -> Iterator[tuple[Place, ast.AST]]:
    """Yield every node that stands for something at run time: no parameters, and nothing that only lends its type."""
    if isinstance(root, ast.Attribute) and root.attr == "dtype":
        return
    for field, value in ast.iter_fields(root):
        if field in ("decorator_list", "args") and isinstance(root, ast.FunctionDef):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if isinstance(child, ast.AST):
                innermost = child if isinstance(child, ast.stmt) else statement
                yield Place(root, field, index, innermost), child
                yield from _nodes(child, innermost)
