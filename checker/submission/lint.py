"""The allow-list lint: a kernel says nothing but what a kernel needs to say.

Every form of syntax that is not handled here is refused; names are looked up in `names.py`. PyTorch's list and its
lint stand in `pytorch/`.
"""

from __future__ import annotations

import ast

from checker.submission import refusals, vocabulary
from checker.submission.extract import Program
from checker.submission.module import is_literal
from checker.submission.names import Names, attribute
from checker.submission.nodes import argument, as_shape, called, dotted, is_index, is_text
from checker.submission.problem import Problem
from checker.submission.pytorch.launching import LaunchingLint
from checker.submission.pytorch.lint import PyTorchLint
from checker.submission.walk import MOST_PROBLEMS, Walk

RESERVED = vocabulary.BUILTINS | {"tl", "triton"}


def lint(program: Program) -> list[Problem]:
    """What is not taken in all kernels and helpers, in the order of their lines: one a line, each once."""
    every: list[Problem] = []
    kind: type[Walk] = PyTorchLint if program.pytorch else KernelLint
    if program.language.launches:
        kind = LaunchingLint
    for function in program.functions.values():
        if len(every) < MOST_PROBLEMS:
            kind(function, program, every).look()
    found: dict[int, Problem] = {}
    said: set[str] = set()
    for problem in every[:MOST_PROBLEMS]:
        if problem.line not in found and problem.sentence + problem.hint not in said:
            found[problem.line] = problem
            said.add(problem.sentence + problem.hint)
    return [found[line] for line in sorted(found)]


class KernelLint(Walk):
    """Walks one kernel or helper."""

    leaves = vocabulary.LEAVES
    branches = vocabulary.BRANCHES
    syntax = refusals.SYNTAX

    def __init__(self, function: ast.FunctionDef, program: Program, found: list[Problem]):
        super().__init__(function, program, found)
        self.names = Names(function, program)
        self.helpers = program.helpers
        self.returns_nothing = function.name in program.kernels
        self.refused: set[str] = set()  # variables that hold what was refused: what is done with them is no news

    def _misplaced(self, word: str) -> Problem:
        return refusals.problem("syntax/misplaced", word=word)

    def _header(self) -> None:
        arguments = self.function.args
        if arguments.vararg or arguments.kwarg or arguments.posonlyargs or arguments.kwonlyargs:
            self._refuse(self.function, refusals.PARAMETERS)
        if getattr(self.function, "type_params", None):  # since Python 3.12; a bound is any expression
            self._refuse(self.function, refusals.TYPE_PARAMETERS)
        if self.function.name in RESERVED:
            self._reserved(self.function, self.function.name)
        for parameter in arguments.args:
            if parameter.arg in {"tl", "triton"} or parameter.arg.startswith("__"):
                self._reserved(parameter, parameter.arg)
        # What stands in the def line is evaluated as soon as the function is defined.
        for annotation in (*(parameter.annotation for parameter in arguments.args), self.function.returns):
            if annotation is not None and ast.unparse(annotation) not in vocabulary.ANNOTATIONS:
                self._refuse(annotation, refusals.PARAMETER_ANNOTATION)
        for default in arguments.defaults:
            if isinstance(default, ast.Constant):
                self._visit(default)
            elif not is_literal(default) and ast.unparse(default) not in vocabulary.ANNOTATIONS:
                self._refuse(default, refusals.DEFAULT)

    def _visit_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) > 1:
            self._refuse(node, refusals.CHAINED_ASSIGNMENT)
        self._target(node.targets[0])
        if not self._is_fine(node.value):
            self.refused |= {n.id for n in ast.walk(node.targets[0]) if isinstance(n, ast.Name)}

    def _visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._target(node.target)
        self._visit(node.op, node)
        self._visit(node.value)

    def _visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._target(node.target)
        if ast.unparse(node.annotation) != "tl.constexpr":
            self._refuse(node, refusals.ANNOTATION)
        if node.value is not None:
            self._visit(node.value)

    def _target(self, node: ast.expr) -> None:
        if isinstance(node, ast.Tuple):
            for element in node.elts:
                self._target(element)
        elif not isinstance(node, ast.Name):
            self._refuse(node, refusals.TARGET)
        elif node.id in RESERVED or node.id.startswith("__"):
            self._reserved(node, node.id)

    def _visit_For(self, node: ast.For) -> None:
        self._target(node.target)
        call = node.iter
        if not (isinstance(call, ast.Call) and called(call.func) in {"range", "tl.range", "tl.static_range"}):
            self._refuse(node, refusals.LOOP)
        else:
            self._visit(call)
        if node.orelse:
            self._refuse(node, refusals.FOR_ELSE)
        for statement in node.body:
            self._visit(statement)

    def _visit_While(self, node: ast.While) -> None:
        if not self.program.atomics:
            self._refuse(node, refusals.SYNTAX[ast.While])
            return
        if node.orelse:
            self._refuse(node, refusals.FOR_ELSE)
        self._visit(node.test)
        for statement in node.body:
            self._visit(statement)

    def _visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) > 1:
            self._refuse(node, refusals.CHAINED_COMPARISON)
        super()._visit_Compare(node)

    def _visit_Assert(self, node: ast.Assert) -> None:
        self._visit(node.test)
        if node.msg is not None and not is_text(node.msg):
            self._refuse(node, refusals.ASSERT_MESSAGE)
        elif node.msg is not None:
            self._visit(node.msg)

    def _visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and node.end_lineno != node.lineno:
            self._refuse(node, refusals.LONG_TEXT)
        elif isinstance(node.value, int) and abs(node.value) >= 2**63:
            self._refuse(node, refusals.LARGE_NUMBER)
        elif not isinstance(node.value, bool | int | float | str | None):
            self._refuse(node, refusals.CONSTANT)

    def _visit_Tuple(self, node: ast.Tuple) -> None:
        for element in node.elts:
            self._visit(element)

    def _visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and self.returns_nothing:
            self._refuse(node, refusals.RETURNS)
        if node.value is not None:
            self._visit(node.value)

    def _visit_Subscript(self, node: ast.Subscript) -> None:
        self._visit(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        of_shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        for part in parts:
            whole = isinstance(part, ast.Slice) and not (part.lower or part.upper or part.step)
            new_axis = isinstance(part, ast.Constant) and part.value is None
            if not (whole or new_axis or (of_shape and is_index(part))):
                of_a_tuple = len(parts) == 1 and is_index(part) and not self._is_parameter(node.value)
                self._refuse(node, refusals.INDEXED_BY_A_NUMBER if of_a_tuple else refusals.INDEXED)
                return

    def _is_parameter(self, node: ast.expr) -> bool:
        """Whether it is a parameter of a kernel: a pointer or a number, never a tuple."""
        parameters = {parameter.arg for parameter in self.function.args.args}
        return self.returns_nothing and isinstance(node, ast.Name) and node.id in parameters

    def _visit_Name(self, node: ast.Name) -> None:
        self._refuse(node, self.names.value(node.id))

    def _visit_Attribute(self, node: ast.Attribute) -> None:
        words = dotted(node)
        if words and self.names.of_a_module(words[0]):
            self._refuse(node, self.names.dotted(words))
        elif not self._is_refused(node.value) and self._is_fine(node.value):
            owner = node.value.id if isinstance(node.value, ast.Name) else None
            self._refuse(node, attribute(node.attr, owner))

    def _is_refused(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.refused

    def _visit_Call(self, node: ast.Call) -> None:
        before = len(self.found)
        if isinstance(node.func, ast.Name):
            self._refuse(node, self.names.function(node.func.id))
        elif not isinstance(node.func, ast.Attribute):
            self._refuse(node, refusals.CALLED)
        elif self._is_fine(node.func):
            if self._is_refused(node.func.value):
                return
            if not self._is_function(node.func):
                self._refuse(node, refusals.NOT_A_FUNCTION)
        if len(self.found) == before:
            self._arguments(node, called(node.func))

    def _is_function(self, node: ast.Attribute) -> bool:
        words = dotted(node)
        if words and self.names.of_a_module(words[0]):
            return node.attr in vocabulary.TL_FUNCTIONS | vocabulary.ATOMICS
        return node.attr not in vocabulary.FIELDS

    def _arguments(self, node: ast.Call, function: str) -> None:
        """Look at what a function is called with."""
        last = function.rpartition(".")[2] if "." in function else ""
        combine = argument(node, 2, "combine_fn") if function == "tl.reduce" else None
        if isinstance(combine, ast.Name) and combine.id in self.helpers:
            self._refuse(node, self.names.function(combine.id))
        elif function == "tl.reduce":
            self._refuse(node, refusals.COMBINE)
        first = node.args[0] if node.args else None
        if function in vocabulary.PRINTING and not (is_text(first) or isinstance(first, ast.JoinedStr)):
            self._refuse(node, refusals.PRINT_WITHOUT_TEXT)
        elif function in vocabulary.PRINTING and any(is_text(value) for value in node.args[1:]):
            self._refuse(node, refusals.PRINT_OF_TEXTS)
        if last == "to" and any(isinstance(a, ast.Name) and a.id in {*vocabulary.BUILTINS, "bool"} for a in node.args):
            self._refuse(node, refusals.PYTHON_TYPE)
        if last == "ravel" and len(node.args) > (function == "tl.ravel"):
            self._refuse(node, refusals.CAN_REORDER)
        for value in node.args:
            if isinstance(value, ast.Starred):
                self._refuse(node, refusals.STARRED)
            elif value is not combine:
                self._visit(as_shape(value) if last in vocabulary.SHAPED else value)
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg.startswith("_") or function in vocabulary.PRINTING_ONLY_VALUES:
                self._refuse(node, refusals.KEYWORD)
            elif keyword.arg == "can_reorder" and last:
                self._refuse(node, refusals.CAN_REORDER)
            elif keyword.arg in refusals.PYTORCH_KEYWORDS and last in vocabulary.ALONG_AN_AXIS:
                self._refuse(node, refusals.PYTORCH_KEYWORDS[keyword.arg])
            elif keyword.value is not combine:
                self._visit(as_shape(keyword.value) if last in vocabulary.SHAPED else keyword.value)
