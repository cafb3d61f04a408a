"""A walk through one function that refuses every form of syntax which nobody said is allowed."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from checker.submission.extract import Program
from checker.submission.problem import Problem

MOST_PROBLEMS = 200  # a report shows three; whoever writes for more wants to keep the checker busy


class Walk:
    """What the lints of both languages share. A subclass has a method `_visit_NODE` for what it looks at closely."""

    leaves: tuple[type[ast.AST], ...]  # allowed, and without parts of their own
    branches: tuple[type[ast.AST], ...]  # allowed if all their parts are
    syntax: Mapping[type[ast.AST], Problem]  # what is said of some of the others

    def __init__(self, function: ast.FunctionDef, program: Program, found: list[Problem]):
        self.function = function
        self.program = program
        self.found = found

    def look(self) -> None:
        """Add to `found` what is not taken in the function."""
        self._header()
        for position, statement in enumerate(self.function.body):
            if position > 0 or ast.get_docstring(self.function, clean=False) is None:
                self._visit(statement)

    def _header(self) -> None:
        """Look at the def line: what stands in it is evaluated as soon as the function is defined."""
        raise NotImplementedError

    def _misplaced(self, word: str) -> Problem:
        """What is said of a form that has no refusal of its own."""
        raise NotImplementedError

    def _visit(self, node: ast.AST, parent: ast.AST | None = None) -> None:
        """Look at a node and its parts; an operator has no line of its own, but its `parent` has."""
        if isinstance(node, self.leaves) or len(self.found) >= MOST_PROBLEMS:
            return
        method = getattr(self, f"_visit_{type(node).__name__}", None)
        if method is not None:
            method(node)
        elif isinstance(node, self.branches):
            self._children(node)
        else:
            problem = self.syntax.get(type(node)) or self._misplaced(type(node).__name__)
            self._refuse(node if hasattr(node, "lineno") else parent or node, problem)

    def _is_fine(self, node: ast.AST) -> bool:
        """Look at a node; whether there was nothing to refuse."""
        before = len(self.found)
        self._visit(node)
        return len(self.found) == before

    def _children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            self._visit(child, node)

    def _visit_Compare(self, node: ast.Compare) -> None:
        """`is` and `is not` are for None."""
        self._visit(node.left)
        for operator, value in zip(node.ops, node.comparators, strict=True):
            is_none = isinstance(value, ast.Constant) and value.value is None
            if not (is_none and isinstance(operator, ast.Is | ast.IsNot)):
                self._visit(operator, node)
            self._visit(value)

    def _reserved(self, node: ast.AST, name: str) -> None:
        self._refuse(node, Problem("reserved-name", f"The name `{name}` is taken.", "Choose another one."))

    def _refuse(self, node: ast.AST, problem: Problem | None) -> None:
        if problem is not None:
            self.found.append(replace(problem, line=getattr(node, "lineno", self.function.lineno)))
