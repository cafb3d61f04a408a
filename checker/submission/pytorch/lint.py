"""The lint of PyTorch functions: every form of syntax that is not handled here is refused.

A function can name `torch` and what it is given, and nothing of either that leads on to Python's own world: no
attribute is taken that is not on the list, no function is a value, and no text is a value that could be formatted.
"""

from __future__ import annotations

import ast

from checker.submission.extract import Program
from checker.submission.module import is_number
from checker.submission.nodes import dotted, is_text
from checker.submission.problem import Problem
from checker.submission.pytorch import refusals, vocabulary
from checker.submission.pytorch.names import RESERVED, Names, attribute, stored
from checker.submission.walk import Walk

_INFINITE = frozenset({"inf", "infinity", "nan"})


class PyTorchLint(Walk):
    """Walks one function or helper."""

    leaves = vocabulary.LEAVES
    branches = vocabulary.BRANCHES
    syntax = refusals.SYNTAX

    def __init__(self, function: ast.FunctionDef, program: Program, found: list[Problem]):
        super().__init__(function, program, found)
        self.names = Names(function, program)

    def _misplaced(self, word: str) -> Problem:
        return refusals.problem("syntax/misplaced", word=word)

    def _header(self) -> None:
        arguments = self.function.args
        if arguments.vararg or arguments.kwarg or arguments.posonlyargs or arguments.kwonlyargs:
            self._refuse(self.function, refusals.PARAMETERS)
        if getattr(self.function, "type_params", None):  # since Python 3.12; a bound is any expression
            self._refuse(self.function, refusals.TYPE_PARAMETERS)
        for node, name in ((self.function, self.function.name), *((a, a.arg) for a in arguments.args)):
            self._new_name(node, name)
        for annotation in (*(parameter.annotation for parameter in arguments.args), self.function.returns):
            if annotation is not None and not _is_annotation(annotation):
                self._refuse(annotation, refusals.ANNOTATION)
        for default in arguments.defaults:
            if not (is_number(default) or (isinstance(default, ast.Constant) and default.value is None)):
                self._refuse(default, refusals.DEFAULT)

    def _new_name(self, node: ast.AST, name: str) -> None:
        if name in RESERVED or name.startswith("__"):
            self._reserved(node, name)

    def _visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._target(target)
        self._visit(node.value)

    def _visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._target(node.target)
        self._visit(node.op, node)
        if isinstance(node.op, ast.Pow):
            self._exponent(node.value)
        self._visit(node.value)

    def _visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._target(node.target)
        if not _is_annotation(node.annotation):
            self._refuse(node, refusals.ANNOTATION)
        if node.value is not None:
            self._visit(node.value)

    def _target(self, node: ast.expr) -> None:
        if isinstance(node, ast.Tuple | ast.List):
            for element in node.elts:
                self._target(element)
        elif isinstance(node, ast.Name):
            self._new_name(node, node.id)
        elif isinstance(node, ast.Starred):
            self._refuse(node, refusals.STARRED_TARGET)
        elif isinstance(node, ast.Subscript) and self._is_of_a_local(node):
            self._visit(node)
        else:
            self._refuse(node, refusals.TARGET)

    def _is_of_a_local(self, node: ast.expr) -> bool:
        """Whether it is a part of what a name of the function stands for, or a part of a part."""
        while isinstance(node, ast.Subscript):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.names.locals

    def _visit_For(self, node: ast.For) -> None:
        self._target(node.target)
        self._visit(node.iter)
        if node.orelse:
            self._refuse(node, refusals.FOR_ELSE)
        for statement in node.body:
            self._visit(statement)

    def _visit_ListComp(self, node: ast.ListComp) -> None:
        generator = node.generators[0]
        if len(node.generators) > 1 or generator.is_async:
            self._refuse(node, refusals.COMPREHENSION)
            return
        self._visit(generator.iter)
        own = stored(generator.target) - self.names.locals
        self.names.locals |= own
        self._target(generator.target)
        for part in (*generator.ifs, node.elt):
            self._visit(part)
        self.names.locals -= own  # outside, such a name would be a global one, or Python's

    def _visit_With(self, node: ast.With) -> None:
        managers = [item.context_expr for item in node.items]
        functions = [dotted(manager.func) for manager in managers if isinstance(manager, ast.Call)]
        plain = functions in ([["torch", "no_grad"]], [["torch", "inference_mode"]])
        of_gradients = any(refusals.EXPLAINED.get(words[-1]) is refusals.GRADIENTS for words in functions if words)
        general = refusals.GRADIENTS if of_gradients else refusals.SYNTAX[ast.With]
        self._refuse(node, refusals.NO_GRAD if plain else general)

    def _visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.names.refused.add(node.name)
        self._refuse(node, refusals.SYNTAX[ast.FunctionDef])

    def _visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.Pow):
            self._exponent(node.right)
        self._children(node)

    def _exponent(self, node: ast.expr) -> None:
        if any(isinstance(inside, ast.Pow) for inside in ast.walk(node)):
            self._refuse(node, refusals.TOWER)

    def _visit_Assert(self, node: ast.Assert) -> None:
        self._visit(node.test)
        if node.msg is not None and not is_text(node.msg):
            self._refuse(node, refusals.ASSERT_MESSAGE)
        elif node.msg is not None:
            self._text(node.msg)

    def _visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._refuse(node, refusals.TEXT)
        elif isinstance(node.value, int) and abs(node.value) >= 2**63:
            self._refuse(node, refusals.LARGE_NUMBER)
        elif not (node.value is None or node.value is ... or isinstance(node.value, bool | int | float)):
            self._refuse(node, refusals.CONSTANT)

    def _text(self, node: ast.expr) -> None:
        """Look at a text where one is wanted."""
        if node.end_lineno != node.lineno:
            self._refuse(node, refusals.LONG_TEXT)

    def _visit_Name(self, node: ast.Name) -> None:
        self._refuse(node, self.names.value(node.id))

    def _visit_Attribute(self, node: ast.Attribute) -> None:
        self._attribute(node, called=False)

    def _attribute(self, node: ast.Attribute, *, called: bool) -> None:
        words = dotted(node)
        if words and self.names.of_a_module(words[0]):
            self._refuse(node, self.names.dotted(words, called=called))
        elif self._is_fine(node.value):
            self._refuse(node, attribute(node.attr, called=called))

    def _visit_Call(self, node: ast.Call) -> None:
        before = len(self.found)
        if isinstance(node.func, ast.Name):
            self._refuse(node, self.names.function(node.func.id))
        elif isinstance(node.func, ast.Attribute):
            self._attribute(node.func, called=True)
        else:
            self._refuse(node, refusals.CALLED)
        if len(self.found) == before:
            self._arguments(node, ".".join(dotted(node.func)))

    def _arguments(self, node: ast.Call, function: str) -> None:
        """Look at what a function is called with; a method of anything but a variable has no name here."""
        given = [(value, "") for value in node.args]
        given += [(keyword.value, keyword.arg or "**") for keyword in node.keywords]
        first = next((value for value, name in given if name in {"", "equation"}), None)
        if function == "print" and not is_text(first):
            self._refuse(node, refusals.PRINT_WITHOUT_TEXT)
        if function == "torch.einsum" and not is_text(first):
            self._refuse(node, refusals.EQUATION)
        for value, name in given:
            if name:
                self._keyword(node, function, name)
            if isinstance(value, ast.Starred):
                self._refuse(node, refusals.STARRED)
            elif isinstance(value, ast.Constant) and isinstance(value.value, str):
                self._text_argument(node, function, value, name, is_first=value is first)
            else:
                self._visit(value)

    def _keyword(self, node: ast.Call, function: str, name: str) -> None:
        if name == "**":
            self._refuse(node, refusals.SPLAT)
        elif isinstance(node.func, ast.Attribute):
            refused = None if name in vocabulary.KEYWORDS else refusals.KEYWORD
            self._refuse(node, refusals.KEYWORDS.get(name, refused))
        elif function in self.program.functions:
            known = {parameter.arg for parameter in self.program.functions[function].args.args}
            self._refuse(node, None if name in known else refusals.KEYWORD)
        elif name not in vocabulary.BUILTINS_KEYWORDS.get(function, ()):
            self._refuse(node, refusals.KEYWORD)

    def _text_argument(self, node: ast.Call, function: str, text: ast.Constant, name: str, *, is_first: bool) -> None:
        """Look at a text that is an argument: of a few functions it may be one."""
        to_a_device = name == "device" or (not name and isinstance(node.func, ast.Attribute) and node.func.attr == "to")
        if to_a_device and isinstance(node.func, ast.Attribute):
            self._refuse(node, None if text.value == vocabulary.CPU else refusals.OTHER_DEVICE)
        elif function == "print" or (function == "torch.einsum" and is_first):
            self._text(text)
        elif not (function == "float" and not name and str(text.value).strip("+-").lower() in _INFINITE):
            self._visit(text)


def _is_annotation(node: ast.expr) -> bool:
    """Whether it is a type, or a tuple or a list of such."""
    match node:
        case ast.Subscript(value=ast.Name(id="list" | "tuple"), slice=inner):
            return all(_is_annotation(part) for part in (inner.elts if isinstance(inner, ast.Tuple) else [inner]))
        case ast.Name(id=name):
            return name in vocabulary.ANNOTATIONS
        case ast.Attribute(value=ast.Name(id="torch"), attr="Tensor"):
            return True
        case ast.Constant(value=None):
            return True
    return False
