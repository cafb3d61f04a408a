"""The lint of PyTorch functions: every form of syntax that is not handled here is refused.

A function can name `torch` and what it is given, and nothing of either that leads on to Python's own world: no
attribute is taken that is not on the list, no function is a value, and no text is a value that could be formatted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from checker.submission.extract import Program
from checker.submission.module import is_number
from checker.submission.nodes import dotted, is_text
from checker.submission.problem import Problem
from checker.submission.pytorch import refusals, vocabulary
from checker.submission.pytorch.names import FunctionNames, attribute, stored
from checker.submission.walk import Walk

_INFINITE = frozenset({"inf", "infinity", "nan"})


class PyTorchLint(Walk):
    """Walks one function or helper."""

    problem = refusals.problem
    leaves = vocabulary.LEAVES
    branches = vocabulary.BRANCHES
    names: FunctionNames

    def __init__(self, function: ast.FunctionDef, program: Program, found: list[Problem]):
        super().__init__(function, program, found)
        self.names = FunctionNames(function, program)

    def _may_annotate(self, node: ast.expr) -> bool:
        return _is_annotation(node)

    def _type(self, node: ast.expr) -> None:
        if not _is_annotation(node):
            self._refuse(node, "annotation/annotation")

    def _default(self, node: ast.expr) -> None:
        if not (is_number(node) or (isinstance(node, ast.Constant) and node.value is None)):
            self._refuse(node, "parameters/default")

    def _visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._target(target)
        if isinstance(node.value, ast.Lambda):
            self.names.refused |= stored(*node.targets)
        if all(isinstance(target, ast.Tuple | ast.List) for target in node.targets):
            self._unpacked(node.value)
        else:
            self._visit(node.value)

    def _visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._target(node.target)
        self._visit(node.op, node)
        if isinstance(node.op, ast.Pow):
            self._exponent(node.value)
        self._visit(node.value)

    def _target(self, node: ast.expr) -> None:
        if isinstance(node, ast.Tuple | ast.List):
            for element in node.elts:
                self._target(element)
        elif isinstance(node, ast.Name):
            self._new_name(node, node.id)
        elif isinstance(node, ast.Starred):
            self._refuse(node, "syntax/starred-target")
        elif isinstance(node, ast.Subscript) and self._is_of_a_local(node):
            self._visit(node)
        else:
            self._refuse(node, "syntax/target")

    def _is_of_a_local(self, node: ast.expr) -> bool:
        """Return whether it is a part of what a name of the function stands for, or a part of a part."""
        while isinstance(node, ast.Subscript):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.names.locals

    def _iterable(self, loop: ast.For) -> None:
        self._visit(loop.iter)

    def _visit_Tuple(self, node: ast.Tuple | ast.List) -> None:
        self._values(node.elts)

    _visit_List = _visit_Tuple

    def _values(self, values: Iterable[ast.expr]) -> None:
        """Look at values, and at what is unpacked among them."""
        for value in values:
            if isinstance(value, ast.Starred):
                self._unpacked(value.value)
            else:
                self._visit(value)

    def _unpacked(self, node: ast.expr) -> None:
        """Look at what is used up where it is written: there, a generator is a list."""
        if isinstance(node, ast.GeneratorExp):
            self._visit_ListComp(node)
        else:
            self._visit(node)

    def _visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> None:
        generator = node.generators[0]
        if len(node.generators) > 1 or generator.is_async:
            self._refuse(node, "syntax/comprehension")
            return
        self._visit(generator.iter)
        own = stored(generator.target) - self.names.locals
        self.names.locals |= own
        self._target(generator.target)
        for part in (*generator.ifs, node.elt):
            self._visit(part)
        self.names.locals -= own  # outside, such a name would be a global one, or Python's

    def _visit_With(self, node: ast.With) -> None:
        gradients = self.problem("not-allowed/gradients")
        managers = [item.context_expr for item in node.items]
        functions = [dotted(manager.func) for manager in managers if isinstance(manager, ast.Call)]
        plain = functions in ([["torch", "no_grad"]], [["torch", "inference_mode"]])
        of_gradients = any(refusals.EXPLAINED.get(words[-1]) == gradients for words in functions if words)
        general = gradients if of_gradients else self.problem.of_form("With")
        self._refuse(node, "syntax/no-grad" if plain else general)

    def _visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.names.refused.add(node.name)
        self._refuse(node, self.problem.of_form("FunctionDef"))

    def _visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.Pow):
            self._exponent(node.right)
        self._children(node)

    def _exponent(self, node: ast.expr) -> None:
        if any(isinstance(inside, ast.Pow) for inside in ast.walk(node)):
            self._refuse(node, "syntax/tower")

    def _visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._refuse(node, "syntax/text")
        elif node.value is not ...:
            super()._visit_Constant(node)

    def _visit_Attribute(self, node: ast.Attribute) -> None:
        self._attribute(node, called=False)

    def _attribute(self, node: ast.Attribute, *, called: bool) -> None:
        words = dotted(node)
        if words and self.names.of_a_module(words[0]):
            self._refuse(node, self.names.dotted(words, called=called))
        elif self._is_fine(node.value):
            self._refuse(node, attribute(node.attr, called=called))

    def _called_attribute(self, node: ast.Call, function: ast.Attribute) -> None:
        self._attribute(function, called=True)

    def _arguments(self, node: ast.Call) -> None:
        """Look at what a function is called with; a method of anything but a variable has no name here."""
        function = ".".join(dotted(node.func))
        given = [(value, "") for value in node.args]
        given += [(keyword.value, keyword.arg or "**") for keyword in node.keywords]
        first = next((value for value, name in given if name in {"", "equation"}), None)
        if function == "print" and not is_text(first):
            self._refuse(node, "call/print-without-text")
        if function == "torch.einsum" and not is_text(first):
            self._refuse(node, "call/equation")
        for value, name in given:
            if name:
                self._keyword(node, function, name)
            if isinstance(value, ast.Starred):
                self._refuse(node, "call/starred")
            elif isinstance(value, ast.Constant) and isinstance(value.value, str):
                self._text_argument(node, function, value, name, is_first=value is first)
            elif function in {"list", "tuple"}:
                self._unpacked(value)
            else:
                self._visit(value)

    def _keyword(self, node: ast.Call, function: str, name: str) -> None:
        if name == "**":
            self._refuse(node, "call/splat")
        elif isinstance(node.func, ast.Attribute):
            refused = None if name in vocabulary.KEYWORDS else "call/keyword"
            self._refuse(node, refusals.KEYWORDS.get(name, refused))
        elif function in self.program.functions:
            known = {parameter.arg for parameter in self.program.functions[function].args.args}
            self._refuse(node, None if name in known else "call/keyword")
        elif name not in vocabulary.BUILTINS_KEYWORDS.get(function, ()):
            self._refuse(node, "call/keyword")

    def _text_argument(self, node: ast.Call, function: str, text: ast.Constant, name: str, *, is_first: bool) -> None:
        """Look at a text that is an argument: of a few functions it may be one."""
        to_a_device = name == "device" or (not name and isinstance(node.func, ast.Attribute) and node.func.attr == "to")
        if to_a_device and isinstance(node.func, ast.Attribute):
            self._refuse(node, None if text.value == vocabulary.CPU else "call/other-device")
        elif function == "print" or (function == "torch.einsum" and is_first):
            self._text(text)
        elif not (function == "float" and not name and str(text.value).strip("+-").lower() in _INFINITE):
            self._visit(text)


def _is_annotation(node: ast.expr) -> bool:
    """Return whether it is a type, or a tuple or a list of such."""
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
