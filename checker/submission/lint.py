"""The allow-list lint: a kernel says nothing but what a kernel needs to say.

Every form of syntax that is not handled here is refused; names are looked up in `names.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from checker.submission import refusals
from checker.submission.extract import Program
from checker.submission.module import is_literal
from checker.submission.names import Names, attribute
from checker.submission.nodes import argument, as_shape, called, dotted, is_index, is_text
from checker.submission.refusals import Refusal
from checker.submission.vocabulary import (
    ALONG_AN_AXIS,
    ANNOTATIONS,
    BRANCHES,
    BUILTINS,
    FIELDS,
    LEAVES,
    PRINTING,
    PRINTING_ONLY_VALUES,
    SHAPED,
    TL_FUNCTIONS,
)

MOST_COMPLAINTS = 200  # a report shows three; whoever writes for more wants to keep the checker busy
RESERVED = BUILTINS | {"tl", "triton"}


@dataclass(frozen=True)
class Complaint(Refusal):
    """One thing that is not taken, at one line of the submission's text."""

    line: int = 0


def lint(program: Program) -> list[Complaint]:
    """Complaints about all kernels and helpers, in the order of their lines: one a line, each once."""
    found: dict[int, Complaint] = {}
    said: set[str] = set()
    every = (c for function in program.functions.values() for c in _FunctionLint(function, program).complaints())
    for complaint in islice(every, MOST_COMPLAINTS):
        if complaint.line not in found and complaint.sentence + complaint.hint not in said:
            found[complaint.line] = complaint
            said.add(complaint.sentence + complaint.hint)
    return [found[line] for line in sorted(found)]


class _FunctionLint:
    """Walks one function; every node type that is not handled here is refused."""

    def __init__(self, function: ast.FunctionDef, program: Program):
        self.function = function
        self.names = Names(function, program)
        self.helpers = program.helpers
        self.returns_nothing = function.name in program.kernels
        self.refused: set[str] = set()  # variables that hold what was refused: what is done with them is no news

    def complaints(self) -> Iterator[Complaint]:
        yield from self._header()
        for position, statement in enumerate(self.function.body):
            if position == 0 and ast.get_docstring(self.function, clean=False) is not None:
                continue
            yield from self._visit(statement)

    def _header(self) -> Iterator[Complaint]:
        arguments = self.function.args
        if arguments.vararg or arguments.kwarg or arguments.posonlyargs or arguments.kwonlyargs:
            yield self._refuse(self.function, refusals.PARAMETERS)
        if getattr(self.function, "type_params", None):  # since Python 3.12; a bound is any expression
            yield self._refuse(self.function, refusals.TYPE_PARAMETERS)
        if self.function.name in RESERVED:
            yield self._reserved(self.function, self.function.name)
        for parameter in arguments.args:
            if parameter.arg in {"tl", "triton"} or parameter.arg.startswith("__"):
                yield self._reserved(parameter, parameter.arg)
        # What stands in the def line is evaluated as soon as the function is defined.
        for annotation in (*(parameter.annotation for parameter in arguments.args), self.function.returns):
            if annotation is not None and ast.unparse(annotation) not in ANNOTATIONS:
                yield self._refuse(annotation, refusals.PARAMETER_ANNOTATION)
        for default in arguments.defaults:
            if isinstance(default, ast.Constant):
                yield from self._visit(default)
            elif not is_literal(default) and ast.unparse(default) not in ANNOTATIONS:
                yield self._refuse(default, refusals.DEFAULT)

    def _visit(self, node: ast.AST, parent: ast.AST | None = None) -> Iterator[Complaint]:
        """Complaints about a node; an operator has no line of its own, but its `parent` has."""
        if isinstance(node, LEAVES):
            return
        method = getattr(self, f"_visit_{type(node).__name__}", None)
        if method is not None:
            yield from method(node)
        elif isinstance(node, BRANCHES):
            yield from self._children(node)
        else:
            refusal = refusals.SYNTAX.get(type(node)) or refusals.misplaced(type(node).__name__)
            yield self._refuse(node if hasattr(node, "lineno") else parent or node, refusal)

    def _children(self, node: ast.AST) -> Iterator[Complaint]:
        for child in ast.iter_child_nodes(node):
            yield from self._visit(child, node)

    def _visit_Assign(self, node: ast.Assign) -> Iterator[Complaint]:
        if len(node.targets) > 1:
            yield self._refuse(node, refusals.CHAINED_ASSIGNMENT)
        yield from self._target(node.targets[0])
        found = list(self._visit(node.value))
        yield from found
        if found:
            self.refused |= {n.id for n in ast.walk(node.targets[0]) if isinstance(n, ast.Name)}

    def _visit_AugAssign(self, node: ast.AugAssign) -> Iterator[Complaint]:
        yield from self._target(node.target)
        yield from self._visit(node.op, node)
        yield from self._visit(node.value)

    def _visit_AnnAssign(self, node: ast.AnnAssign) -> Iterator[Complaint]:
        yield from self._target(node.target)
        if ast.unparse(node.annotation) != "tl.constexpr":
            yield self._refuse(node, refusals.ANNOTATION)
        if node.value is not None:
            yield from self._visit(node.value)

    def _target(self, node: ast.expr) -> Iterator[Complaint]:
        if isinstance(node, ast.Tuple):
            for element in node.elts:
                yield from self._target(element)
        elif not isinstance(node, ast.Name):
            yield self._refuse(node, refusals.TARGET)
        elif node.id in RESERVED or node.id.startswith("__"):
            yield self._reserved(node, node.id)

    def _visit_For(self, node: ast.For) -> Iterator[Complaint]:
        yield from self._target(node.target)
        call = node.iter
        if not (isinstance(call, ast.Call) and called(call.func) in {"range", "tl.range", "tl.static_range"}):
            yield self._refuse(node, refusals.LOOP)
        else:
            yield from self._visit(call)
        if node.orelse:
            yield self._refuse(node, refusals.FOR_ELSE)
        for statement in node.body:
            yield from self._visit(statement)

    def _visit_Compare(self, node: ast.Compare) -> Iterator[Complaint]:
        if len(node.ops) > 1:
            yield self._refuse(node, refusals.CHAINED_COMPARISON)
        yield from self._visit(node.left)
        for operator, value in zip(node.ops, node.comparators, strict=True):
            is_none = isinstance(value, ast.Constant) and value.value is None
            if not (is_none and isinstance(operator, ast.Is | ast.IsNot)):
                yield from self._visit(operator, node)
            yield from self._visit(value)

    def _visit_Assert(self, node: ast.Assert) -> Iterator[Complaint]:
        yield from self._visit(node.test)
        if node.msg is not None and not is_text(node.msg):
            yield self._refuse(node, refusals.ASSERT_MESSAGE)
        elif node.msg is not None:
            yield from self._visit(node.msg)

    def _visit_Constant(self, node: ast.Constant) -> Iterator[Complaint]:
        if isinstance(node.value, str) and node.end_lineno != node.lineno:
            yield self._refuse(node, refusals.LONG_TEXT)
        elif isinstance(node.value, int) and abs(node.value) >= 2**63:
            yield self._refuse(node, refusals.LARGE_NUMBER)
        elif not isinstance(node.value, bool | int | float | str | None):
            yield self._refuse(node, refusals.CONSTANT)

    def _visit_Tuple(self, node: ast.Tuple) -> Iterator[Complaint]:
        for element in node.elts:
            yield from self._visit(element)

    def _visit_Return(self, node: ast.Return) -> Iterator[Complaint]:
        if node.value is not None and self.returns_nothing:
            yield self._refuse(node, refusals.RETURNS)
        if node.value is not None:
            yield from self._visit(node.value)

    def _visit_Subscript(self, node: ast.Subscript) -> Iterator[Complaint]:
        yield from self._visit(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        of_shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        for part in parts:
            whole = isinstance(part, ast.Slice) and not (part.lower or part.upper or part.step)
            new_axis = isinstance(part, ast.Constant) and part.value is None
            if not (whole or new_axis or (of_shape and is_index(part))):
                of_a_tuple = len(parts) == 1 and is_index(part) and not self._is_parameter(node.value)
                yield self._refuse(node, refusals.INDEXED_BY_A_NUMBER if of_a_tuple else refusals.INDEXED)
                return

    def _is_parameter(self, node: ast.expr) -> bool:
        """Whether it is a parameter of a kernel: a pointer or a number, never a tuple."""
        parameters = {parameter.arg for parameter in self.function.args.args}
        return self.returns_nothing and isinstance(node, ast.Name) and node.id in parameters

    def _visit_Name(self, node: ast.Name) -> Iterator[Complaint]:
        yield from self._refused(node, self.names.value(node.id))

    def _visit_Attribute(self, node: ast.Attribute) -> Iterator[Complaint]:
        words = dotted(node)
        if words and self.names.of_a_module(words[0]):
            yield from self._refused(node, self.names.dotted(words))
        elif not self._is_refused(node.value):
            inner = list(self._visit(node.value))
            yield from inner
            if not inner:
                owner = node.value.id if isinstance(node.value, ast.Name) else None
                yield from self._refused(node, attribute(node.attr, owner))

    def _is_refused(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.refused

    def _visit_Call(self, node: ast.Call) -> Iterator[Complaint]:
        if isinstance(node.func, ast.Name):
            found = list(self._refused(node, self.names.function(node.func.id)))
        elif isinstance(node.func, ast.Attribute):
            found = list(self._visit(node.func))
            if not found and self._is_refused(node.func.value):
                return
            if not found and not self._is_function(node.func):
                found = [self._refuse(node, refusals.NOT_A_FUNCTION)]
        else:
            found = [self._refuse(node, refusals.CALLED)]
        yield from found
        if not found:
            yield from self._arguments(node, called(node.func))

    def _is_function(self, node: ast.Attribute) -> bool:
        words = dotted(node)
        if words and self.names.of_a_module(words[0]):
            return node.attr in TL_FUNCTIONS
        return node.attr not in FIELDS

    def _arguments(self, node: ast.Call, function: str) -> Iterator[Complaint]:
        """Complaints about what a function is called with."""
        last = function.rpartition(".")[2] if "." in function else ""
        combine = argument(node, 2, "combine_fn") if function == "tl.reduce" else None
        if isinstance(combine, ast.Name) and combine.id in self.helpers:
            yield from self._refused(node, self.names.function(combine.id))
        elif function == "tl.reduce":
            yield self._refuse(node, refusals.COMBINE)
        first = node.args[0] if node.args else None
        if function in PRINTING and not (is_text(first) or isinstance(first, ast.JoinedStr)):
            yield self._refuse(node, refusals.PRINT_WITHOUT_TEXT)
        if last == "to" and any(isinstance(a, ast.Name) and a.id in {*BUILTINS, "bool"} for a in node.args):
            yield self._refuse(node, refusals.PYTHON_TYPE)
        if last == "ravel" and len(node.args) > (function == "tl.ravel"):
            yield self._refuse(node, refusals.CAN_REORDER)
        for value in node.args:
            if isinstance(value, ast.Starred):
                yield self._refuse(node, refusals.STARRED)
            elif value is not combine:
                yield from self._visit(as_shape(value) if last in SHAPED else value)
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg.startswith("_") or function in PRINTING_ONLY_VALUES:
                yield self._refuse(node, refusals.KEYWORD)
            elif keyword.arg == "can_reorder" and last:
                yield self._refuse(node, refusals.CAN_REORDER)
            elif keyword.arg in refusals.PYTORCH_KEYWORDS and last in ALONG_AN_AXIS:
                yield self._refuse(node, refusals.PYTORCH_KEYWORDS[keyword.arg])
            elif keyword.value is not combine:
                yield from self._visit(as_shape(keyword.value) if last in SHAPED else keyword.value)

    def _reserved(self, node: ast.AST, name: str) -> Complaint:
        return self._refuse(node, Refusal("reserved-name", f"The name `{name}` is taken.", "Choose another one."))

    def _refused(self, node: ast.AST, refusal: Refusal | None) -> Iterator[Complaint]:
        if refusal is not None:
            yield self._refuse(node, refusal)

    def _refuse(self, node: ast.AST, refusal: Refusal) -> Complaint:
        line = getattr(node, "lineno", self.function.lineno)
        return Complaint(refusal.id, refusal.sentence, refusal.hint, refusal.compiles, line)
