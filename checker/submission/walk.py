"""A walk through one function that refuses every form of syntax which nobody said is allowed: half of both lints."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from checker.submission.extract import Program
from checker.submission.names import Names
from checker.submission.nodes import is_text
from checker.submission.problem import Problem, Problems

HOLE = Problem("hole", "This line is a hole.", "Write an expression in place of the dots.")
MOST_PROBLEMS = 200  # a report shows three; whoever writes for more wants to keep the checker busy


class Walk(ABC):
    """The lint's part for both languages. A subclass has a method `_visit_NODE` for each node to look at."""

    problem: ClassVar[Problems]  # what is said of that which is refused
    leaves: ClassVar[tuple[type[ast.AST], ...]]  # allowed, and without parts of their own
    branches: ClassVar[tuple[type[ast.AST], ...]]  # allowed if all their parts are
    names: Names

    def __init__(self, function: ast.FunctionDef, program: Program, found: list[Problem]):
        self.function = function
        self.program = program
        self.found = found

    def look(self) -> None:
        """Add the function's problems to `found`."""
        self._header()
        for position, statement in enumerate(self.function.body):
            if position > 0 or ast.get_docstring(self.function, clean=False) is None:
                self._visit(statement)

    def _header(self) -> None:
        """Look at the def line: what stands in it is evaluated as soon as the function is defined."""
        arguments = self.function.args
        if arguments.vararg or arguments.kwarg or arguments.posonlyargs or arguments.kwonlyargs:
            self._refuse(self.function, "parameters/parameters")
        if getattr(self.function, "type_params", None):  # since Python 3.12; a bound is any expression
            self._refuse(self.function, "parameters/type-parameters")
        self._new_name(self.function, self.function.name)
        for parameter in arguments.args:
            self._parameter(parameter)
        for annotation in (*(parameter.annotation for parameter in arguments.args), self.function.returns):
            if annotation is not None:
                self._type(annotation)
        for default in arguments.defaults:
            self._default(default)

    def _new_name(self, node: ast.AST, name: str) -> None:
        """Look at a name that something is given."""
        if name in self.names.builtins | self.names.language or name.startswith("__"):
            self._refuse(node, Problem("reserved-name", f"The name `{name}` is taken.", "Choose another one."))

    def _parameter(self, node: ast.arg) -> None:
        self._new_name(node, node.arg)

    @abstractmethod
    def _type(self, node: ast.expr) -> None:
        """Look at an annotation in the def line."""

    @abstractmethod
    def _may_annotate(self, node: ast.expr) -> bool:
        """Return whether a variable may have this annotation."""

    @abstractmethod
    def _default(self, node: ast.expr) -> None:
        """Look at a parameter's default value."""

    @abstractmethod
    def _target(self, node: ast.expr) -> None:
        """Look at what something is assigned to."""

    @abstractmethod
    def _iterable(self, loop: ast.For) -> None:
        """Look at what a `for` takes its values from."""

    def _visit(self, node: ast.AST, parent: ast.AST | None = None) -> None:
        """Look at a node and its parts; an operator has no line of its own, but its `parent` has."""
        if isinstance(node, self.leaves) or len(self.found) >= MOST_PROBLEMS:
            return
        method = getattr(self, f"_visit_{type(node).__name__}", None)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is ...:
            self._refuse(node, replace(HOLE, compiles=self.program.pytorch))
        elif method is not None:
            method(node)
        elif isinstance(node, self.branches):
            self._children(node)
        else:
            problem = self.problem.of_form(type(node).__name__)
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

    def _visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._target(node.target)
        if not self._may_annotate(node.annotation):
            self._refuse(node, "annotation/annotation")
        if node.value is not None:
            self._visit(node.value)

    def _visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._target(node.target)
        self._visit(node.op, node)
        self._visit(node.value)

    def _visit_For(self, node: ast.For) -> None:
        self._target(node.target)
        self._iterable(node)
        self._else(node)
        self._statements(node.body)

    def _else(self, loop: ast.For | ast.While) -> None:
        if loop.orelse:
            self._refuse(loop, self.problem.of_form("ForElse"))

    def _statements(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._visit(statement)

    def _visit_Assert(self, node: ast.Assert) -> None:
        self._visit(node.test)
        if node.msg is not None and not is_text(node.msg):
            self._refuse(node, "syntax/assert-message")
        elif node.msg is not None:
            self._text(node.msg)

    def _text(self, node: ast.expr) -> None:
        """Look at a text where one is allowed."""
        if node.end_lineno != node.lineno:
            self._refuse(node, "syntax/long-text")

    def _visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, int) and abs(node.value) >= 2**63:
            self._refuse(node, "syntax/large-number")
        elif not isinstance(node.value, int | float | None):
            self._refuse(node, "syntax/constant")

    def _visit_Name(self, node: ast.Name) -> None:
        self._refuse(node, self.names.value(node.id))

    def _visit_Call(self, node: ast.Call) -> None:
        before = len(self.found)
        if isinstance(node.func, ast.Name):
            self._refuse(node, self.names.function(node.func.id))
        elif isinstance(node.func, ast.Attribute):
            self._called_attribute(node, node.func)
        else:
            self._refuse(node, "call/called")
        if len(self.found) == before:
            self._arguments(node)

    @abstractmethod
    def _called_attribute(self, node: ast.Call, function: ast.Attribute) -> None:
        """Look at a function that is called under a dotted name."""

    @abstractmethod
    def _arguments(self, node: ast.Call) -> None:
        """Look at what a function is called with."""

    def _refuse(self, node: ast.AST, problem: Problem | str | None) -> None:
        """Add a problem, or the one of this key, if there is any."""
        if problem is not None:
            found = self.problem(problem) if isinstance(problem, str) else problem
            self.found.append(replace(found, line=getattr(node, "lineno", self.function.lineno)))
