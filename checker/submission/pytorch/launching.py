"""The lint of functions of PyTorch's autograd that launch kernels: what it takes besides what any function may use."""

from __future__ import annotations

import ast

from checker.submission.nodes import dotted
from checker.submission.problem import Problem
from checker.submission.pytorch.lint import PyTorchLint
from checker.submission.refusals import not_taken

CONTEXT = "ctx"
_CONTEXTS_OWN = frozenset({"save_for_backward", "saved_tensors"})
_AUTOGRADS = frozenset(  # of a context, and not to be used
    {"needs_input_grad", "to_save", "dirty_tensors", "non_differentiable", "materialize_grads", "metadata"}
)
_TRITON = frozenset({"cdiv", "next_power_of_2"})
_IMPORT = "from checker.train.kernels import {}"


class LaunchingLint(PyTorchLint):
    """Walks one function or helper."""

    def _visit_Call(self, node: ast.Call) -> None:
        function = node.func
        words = dotted(function)
        if isinstance(function, ast.Subscript) and self._kernel(function.value):
            self._launch(node, function)
        elif self._kernel(function):
            self._visit(function)
        elif len(words) == 2 and words[0] in ("triton", CONTEXT):
            self._refuse(node, self._function(*words))
            self._given(node)
        else:
            super()._visit_Call(node)

    def _function(self, owner: str, name: str) -> Problem | None:
        """Return the problem of calling `owner.name`, of Triton's host side or of the context."""
        if owner == "triton":
            return (
                None if name in _TRITON else not_taken(f"triton.{name}", "Use triton.cdiv, or // and %.", "not-allowed")
            )
        hint = "Save tensors with ctx.save_for_backward(q, k, …), and numbers as ctx.scale = scale."
        return None if name == "save_for_backward" else not_taken(f"ctx.{name}(…)", hint, "attribute")

    def _launch(self, node: ast.Call, function: ast.Subscript) -> None:
        assert isinstance(function.value, ast.Name)
        name = function.value.id
        if name not in self.program.imports:
            sentence, hint = f"{name} is not imported.", f"Put back the stub's line: {_IMPORT.format(name)}"
            self._refuse(node, Problem("unknown-name", sentence, hint))
        self._visit(function.slice)
        self._given(node)

    def _given(self, node: ast.Call) -> None:
        """Look at what a launch is given."""
        self._values((*node.args, *(keyword.value for keyword in node.keywords)))
        if any(keyword.arg is None for keyword in node.keywords):
            self._refuse(node, "call/splat")

    def _visit_Name(self, node: ast.Name) -> None:
        if self._kernel(node):
            hint = f"Launch it in one line: {node.id}[grid](…)."
            self._refuse(node, not_taken(f"the kernel `{node.id}` without a launch", hint, "function-as-value"))
        else:
            super()._visit_Name(node)

    def _visit_Attribute(self, node: ast.Attribute) -> None:
        if self._of_context(node):
            if node.attr.startswith("_"):
                self._refuse(node, "attribute/underscore")
            elif node.attr in _AUTOGRADS:
                hint = "All three gradients are wanted here. Tensors are kept by ctx.save_for_backward(q, k, …)."
                self._refuse(node, not_taken(f"ctx.{node.attr}", hint, "attribute"))
            elif node.attr not in _CONTEXTS_OWN | self._kept():
                sentence = f"Nothing has set ctx.{node.attr}."
                hint = "What attention_forward sets, ctx.scale = scale, attention_backward can use."
                self._refuse(node, Problem("unknown-name", sentence, hint))
        else:
            super()._visit_Attribute(node)

    def _target(self, node: ast.expr) -> None:
        if isinstance(node, ast.Attribute) and self._of_context(node) and node.attr not in _CONTEXTS_OWN:
            if node.attr.startswith("_"):
                self._refuse(node, "attribute/underscore")
            elif node.attr in _AUTOGRADS:
                self._refuse(node, not_taken(f"ctx.{node.attr} set", "Use a name of your own: ctx.scale.", "attribute"))
        else:
            super()._target(node)

    def _kernel(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.program.language.launches

    def _of_context(self, node: ast.Attribute) -> bool:
        return isinstance(node.value, ast.Name) and node.value.id == CONTEXT and CONTEXT in self.names.locals

    def _kept(self) -> set[str]:
        """Return the attributes that any of the functions sets on its context."""
        every = (node for function in self.program.functions.values() for node in ast.walk(function))
        return {
            node.attr
            for node in every
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and self._of_context(node)
        }
