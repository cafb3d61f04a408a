"""Meanings of the names in a PyTorch function, and which of them are taken."""

from __future__ import annotations

import ast
import builtins

from checker.submission import names
from checker.submission.extract import Program
from checker.submission.names import closest
from checker.submission.problem import Problem
from checker.submission.pytorch import refusals
from checker.submission.pytorch.vocabulary import BUILTINS, FIELDS, METHODS, TORCH_FUNCTIONS, TORCH_VALUES
from checker.submission.refusals import not_taken

_TORCH = TORCH_FUNCTIONS | TORCH_VALUES


def stored(*nodes: ast.AST) -> set[str]:
    """Return the names that get a value somewhere in there, but for those that live in a comprehension only."""
    names, waiting = set(), list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if not isinstance(node, ast.ListComp | ast.GeneratorExp):
            waiting += ast.iter_child_nodes(node)
    return names


class FunctionNames(names.Names):
    """The names that one function of a program may use."""

    problem = refusals.problem
    python_only, not_seen = refusals.PYTHON_ONLY, refusals.NOT_SEEN
    builtins = BUILTINS
    language = frozenset({"torch"})
    words = _TORCH
    others = frozenset({"np", "numpy", "math", "F", "nn", "einops"})

    def __init__(self, function: ast.FunctionDef, program: Program):
        super().__init__(function, program, stored(*function.body))
        self.refused: set[str] = set()  # functions that stand inside this one, which was said where they stand

    def value(self, name: str) -> Problem | None:
        """Return the problem of a name that is used as a value."""
        if name == "torch":
            return Problem("bare-module", "`torch` can only be used as torch.something here.")
        if name in BUILTINS or name in self.program.functions.keys() - self.locals:
            hint = "Write torch.float32 or torch.int64 for a type." if name in {"float", "int"} else "Call it."
            return not_taken(f"the function `{name}` as a value", hint, "function-as-value")
        if name in self.locals or name in self.program.constants or name in self.refused:
            return None
        if name in self.program.definitions:
            return self.problem("not-kept/not-kept", name=name)
        if self.imported(name):
            return self._from_outside(name, name)
        if hasattr(builtins, name):
            return not_taken(f"Python's `{name}`", self.what_was_meant(name), "unknown-name")
        return Problem("unknown-name", f"The name `{name}` is not defined here.", self.what_was_meant(name))

    def function(self, name: str) -> Problem | None:
        """Return the problem of calling a name."""
        if name in self.program.constants and name in BUILTINS:
            return Problem("reserved-name", f"The name `{name}` is taken.", "Give the constant another name.")
        if name in self.refused:
            return None
        return super().function(name)

    def dotted(self, words: list[str], *, called: bool) -> Problem | None:
        """Return the problem of `words[0].words[1]…`, if that is a name of a module and not an attribute of a value."""
        owner, last = words[0], words[-1]
        if owner != "torch":
            return self._from_outside(owner, last)
        if "torch" in self.program.constants:
            return Problem("reserved-name", "The name `torch` is taken.", "Give the constant another name.")
        if len(words) == 2 and last in _TORCH:
            if called and last in TORCH_VALUES:
                return not_taken(f"calls of torch.{last}", "It is a value, not a function.", "call")
            return refusals.problem("function-as-value/function") if not called and last in TORCH_FUNCTIONS else None
        if words[1].startswith("_"):
            return refusals.problem("attribute/underscore")
        for word in (last, words[1]):
            if word in refusals.EXPLAINED:
                return refusals.EXPLAINED[word]
        name = ".".join(words[:3])
        sentence = f"{name} is not on the list of what a function needs."
        return Problem("not-allowed", sentence, _in_torch(last) or refusals.LESSON)

    def of_a_module(self, name: str) -> bool:
        """Return whether `name.something` is a name of a module; torch is one whatever else is called so."""
        return name == "torch" or super().of_a_module(name)

    def _from_outside(self, name: str, last: str) -> Problem:
        if last in refusals.EXPLAINED:
            return refusals.EXPLAINED[last]
        hint = _in_torch(last) or "Use functions of torch: torch.exp, torch.sum, torch.matmul, …"
        if last == "sqrt":  # most often of a size, which is no tensor
            hint = "Write torch.sqrt for a tensor, and 2 ** 0.5 for a number."
        return not_taken(f"imported names but torch, such as `{name}`", hint, "not-torch")

    def what_was_meant(self, name: str) -> str:
        """Return a hint on a name that is not defined."""
        return f"Write torch.{name}." if name in _TORCH else super().what_was_meant(name)


def attribute(name: str, *, called: bool) -> Problem | None:
    """Return the problem of an attribute of a value that is, or is not, called."""
    if name in METHODS and called:
        return None
    if name in FIELDS and not called:
        return None
    if name in METHODS:
        return Problem("function-as-value", f"`.{name}` is a method.", f"Call it: x.{name}(…).")
    if name in FIELDS:
        return not_taken(f"calls of `.{name}`", f"Write x.{name}, without parentheses.", "call")
    if name.startswith("_"):
        return refusals.problem("attribute/underscore")
    if name in refusals.EXPLAINED:
        return refusals.EXPLAINED[name]
    if name in TORCH_FUNCTIONS:
        return not_taken(f"`x.{name}(…)`", f"Write torch.{name}(x).", "attribute")
    close = closest(name, sorted(METHODS | FIELDS))
    hint = f"Did you mean `.{close}`?" if close else refusals.LEAVE_OUT
    return Problem("attribute", f"The attribute `.{name}` is not on the list of what a function needs.", hint)


def _in_torch(name: str) -> str | None:
    """Return how to say a word in PyTorch, if that is known."""
    if name in _TORCH:
        return f"Write torch.{name}."
    close = closest(name, sorted(_TORCH))
    return f"Did you mean torch.{close}?" if close else None
