"""The allow-list lint: a kernel says nothing but what a kernel needs to say.

Every form of syntax that is not handled here is refused; names are looked up in `names.py`. PyTorch's list and its
lint stand in `pytorch/`.
"""

from __future__ import annotations

import ast

from checker.submission import refusals, vocabulary
from checker.submission.extract import Program
from checker.submission.module import is_literal
from checker.submission.names import KernelNames, attribute
from checker.submission.nodes import argument, as_shape, called, dotted, is_index, is_text
from checker.submission.problem import Problem
from checker.submission.pytorch.launching import LaunchingLint
from checker.submission.pytorch.lint import PyTorchLint
from checker.submission.walk import MOST_PROBLEMS, Walk


def lint(program: Program) -> list[Problem]:
    """Return the problems of all kernels and helpers, in the order of their lines: one a line, each once."""
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

    problem = refusals.problem
    leaves = vocabulary.LEAVES
    branches = vocabulary.BRANCHES
    names: KernelNames

    def __init__(self, function: ast.FunctionDef, program: Program, found: list[Problem]):
        super().__init__(function, program, found)
        self.names = KernelNames(function, program)
        self.helpers = program.helpers
        self.returns_nothing = function.name in program.kernels
        self.refused: set[str] = set()  # variables that hold what was refused: what is done with them is no news

    def _parameter(self, node: ast.arg) -> None:
        if node.arg not in vocabulary.BUILTINS:
            super()._parameter(node)

    def _type(self, node: ast.expr) -> None:
        if ast.unparse(node) not in vocabulary.ANNOTATIONS:
            self._refuse(node, "annotation/parameter-annotation")

    def _may_annotate(self, node: ast.expr) -> bool:
        return ast.unparse(node) == "tl.constexpr"

    def _default(self, node: ast.expr) -> None:
        if isinstance(node, ast.Constant):
            self._visit(node)
        elif not is_literal(node) and ast.unparse(node) not in vocabulary.ANNOTATIONS:
            self._refuse(node, "parameters/default")

    def _visit_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) > 1:
            self._refuse(node, "not-a-kernel/chained-assignment")
        self._target(node.targets[0])
        if not self._is_fine(node.value):
            self.refused |= {n.id for n in ast.walk(node.targets[0]) if isinstance(n, ast.Name)}

    def _target(self, node: ast.expr) -> None:
        if isinstance(node, ast.Tuple):
            for element in node.elts:
                self._target(element)
        elif isinstance(node, ast.Name):
            self._new_name(node, node.id)
        else:
            self._refuse(node, "not-a-kernel/target")

    def _iterable(self, loop: ast.For) -> None:
        call = loop.iter
        if isinstance(call, ast.Call) and called(call.func) in {"range", "tl.range", "tl.static_range"}:
            self._visit(call)
        else:
            self._refuse(loop, "not-a-kernel/loop")

    def _visit_While(self, node: ast.While) -> None:
        if not self.program.atomics:
            self._refuse(node, self.problem.of_form("While"))
            return
        self._else(node)
        self._visit(node.test)
        self._statements(node.body)

    def _visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) > 1:
            self._refuse(node, "syntax/chained-comparison")
        super()._visit_Compare(node)

    def _visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._text(node)
        else:
            super()._visit_Constant(node)

    def _visit_Tuple(self, node: ast.Tuple) -> None:
        for element in node.elts:
            self._visit(element)

    def _visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and self.returns_nothing:
            self._refuse(node, "returns-a-value/returns")
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
                self._refuse(node, "indexed/indexed-by-a-number" if of_a_tuple else "indexed/indexed")
                return

    def _is_parameter(self, node: ast.expr) -> bool:
        """Return whether it is a parameter of a kernel: a pointer or a number, never a tuple."""
        parameters = {parameter.arg for parameter in self.function.args.args}
        return self.returns_nothing and isinstance(node, ast.Name) and node.id in parameters

    def _visit_Attribute(self, node: ast.Attribute) -> None:
        words = dotted(node)
        if words and self.names.of_a_module(words[0]):
            self._refuse(node, self.names.dotted(words))
        elif not self._is_refused(node.value) and self._is_fine(node.value):
            owner = node.value.id if isinstance(node.value, ast.Name) else None
            self._refuse(node, attribute(node.attr, owner))

    def _is_refused(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.refused

    def _called_attribute(self, node: ast.Call, function: ast.Attribute) -> None:
        if self._is_fine(function) and not self._is_refused(function.value) and not self._is_function(function):
            self._refuse(node, "not-a-kernel/not-a-function")

    def _is_function(self, node: ast.Attribute) -> bool:
        words = dotted(node)
        if words and self.names.of_a_module(words[0]):
            return node.attr in vocabulary.TL_FUNCTIONS | vocabulary.ATOMICS
        return node.attr not in vocabulary.FIELDS

    @staticmethod
    def _hinted_twice(node: ast.Call, hints: tuple[tuple[int, str], ...]) -> bool:
        """Return whether a load or store has hints that no instruction has together. One that is
        computed may be any.
        """
        given = (argument(node, position, name) for position, name in hints)
        said = [hint.value if isinstance(hint, ast.Constant) else hint for hint in given if hint is not None]
        some = [hint for hint in said if hint]
        return len(some) > 1 + (some[:1] == [".cv"])  # which goes with any other one

    def _arguments(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and self._is_refused(node.func.value):
            return
        function = called(node.func)
        last = function.rpartition(".")[2] if "." in function else ""
        combine = argument(node, 2, "combine_fn") if function == "tl.reduce" else None
        if isinstance(combine, ast.Name) and combine.id in self.helpers:
            self._refuse(node, self.names.function(combine.id))
        elif function == "tl.reduce":
            self._refuse(node, "not-allowed/combine")
        first = node.args[0] if node.args else None
        if function in vocabulary.PRINTING and not (is_text(first) or isinstance(first, ast.JoinedStr)):
            self._refuse(node, "print-without-text/print-without-text")
        elif function in vocabulary.PRINTING and any(is_text(value) for value in node.args[1:]):
            self._refuse(node, "print-of-texts/print-of-texts")
        if last == "to" and any(isinstance(a, ast.Name) and a.id in {*vocabulary.BUILTINS, "bool"} for a in node.args):
            self._refuse(node, "python-type/python-type")
        if function in ("max", "min") and len(node.args) == 1:
            self._refuse(node, self.problem("python-type/of-one", name=function))
        if function in vocabulary.HINTED and self._hinted_twice(node, vocabulary.HINTED[function]):
            self._refuse(node, "two-hints/two-hints")
        if last == "ravel" and len(node.args) > (function == "tl.ravel"):
            self._refuse(node, "not-allowed/can-reorder")
        for value in node.args:
            if isinstance(value, ast.Starred):
                self._refuse(node, "call/starred")
            elif value is not combine:
                self._visit(as_shape(value) if last in vocabulary.SHAPED else value)
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg.startswith("_") or function in vocabulary.PRINTING_ONLY_VALUES:
                self._refuse(node, "call/keyword")
            elif keyword.arg == "can_reorder" and last:
                self._refuse(node, "not-allowed/can-reorder")
            elif keyword.arg in refusals.PYTORCH_KEYWORDS and last in vocabulary.ALONG_AN_AXIS:
                self._refuse(node, refusals.PYTORCH_KEYWORDS[keyword.arg])
            elif keyword.value is not combine:
                self._visit(as_shape(keyword.value) if last in vocabulary.SHAPED else keyword.value)
