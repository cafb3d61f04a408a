"""Meanings of the names in a kernel, and which of them are taken; the part that PyTorch's names share."""

from __future__ import annotations

import ast
import builtins
import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from checker.submission import refusals, vocabulary
from checker.submission.extract import Program
from checker.submission.problem import Problem, Problems
from checker.submission.refusals import not_taken
from checker.submission.vocabulary import ATOMICS, ATTRIBUTES, MATH, TL_FUNCTIONS, TL_TYPES

# Names are compared with each other to say which one was meant: not more and not longer ones than people write.
MOST_NAMES, LONGEST_NAME = 200, 32
_TL = TL_FUNCTIONS | TL_TYPES


class Names(ABC):
    """The names that one function of a program may use: what both languages have in common."""

    problem: ClassVar[Problems]
    python_only: ClassVar[str]  # said of Python's other functions
    not_seen: ClassVar[str]  # said of what nobody knows
    builtins: ClassVar[frozenset[str]]  # functions of Python
    language: ClassVar[frozenset[str]]  # names of the language's module, and of what is around it
    words: ClassVar[frozenset[str]]  # what that module has
    others: ClassVar[frozenset[str]]  # modules that have no place here

    def __init__(self, function: ast.FunctionDef, program: Program, stored: Iterable[str]):
        """`stored`: names that get a value in the function."""
        self.program = program
        self.locals = {a.arg for a in function.args.args} | {*stored}
        # Functions from which this one can be reached again: calling one of them is recursion.
        self.callers = {name for name, called in program.calls.items() if function.name in called}

    @abstractmethod
    def value(self, name: str) -> Problem | None:
        """Return the problem of a name that is used as a value."""

    def function(self, name: str) -> Problem | None:
        """Return the problem of calling a name, or of combining with it."""
        if name in self.locals:
            return not_taken(f"calls of a variable, such as `{name}`", "Call a function by its own name.", "call")
        if name in self.callers:
            return self.problem("recursion/recursion")
        return None if name in self.builtins or name in self.program.functions else self.value(name)

    def of_a_module(self, name: str) -> bool:
        """Return whether `name.something` is a name of a module, as far as anybody can tell."""
        known = self.locals | self.program.functions.keys() | self.program.definitions
        return name not in known and (name in self.language | self.others or self.imported(name))

    def imported(self, name: str) -> bool:
        """Return whether an import may have given a name its meaning."""
        return name in self.program.imports or ("*" in self.program.imports and name in self.words)

    def what_was_meant(self, name: str) -> str:
        """Return a hint on a name that is not defined."""
        known = sorted(self.locals | set(self.program.functions) | set(self.program.constants) | self.builtins)
        if close := meant(name, known):
            return f"Did you mean `{close}`?"
        return self.python_only if hasattr(builtins, name) else self.not_seen


class KernelNames(Names):
    """The names that a kernel or a helper may use."""

    problem = refusals.problem
    python_only, not_seen = refusals.PYTHON_ONLY, refusals.NOT_SEEN
    builtins = vocabulary.BUILTINS
    language = frozenset({"tl", "triton"})
    words = _TL
    others = refusals.HOST_MODULES

    def __init__(self, function: ast.FunctionDef, program: Program):
        names = (node for node in ast.walk(function) if isinstance(node, ast.Name))
        super().__init__(function, program, (node.id for node in names if isinstance(node.ctx, ast.Store)))

    def value(self, name: str) -> Problem | None:
        """Return the problem of a name that is used as a value."""
        if name in self.locals or name in self.builtins:
            return None
        if name in self.language:
            return Problem("bare-module", f"`{name}` can only be used as {name}.something here.")
        if name in self.program.functions:
            return self.problem("function-as-value/function", name=name)
        if name in self.program.constants:
            return self._constant(name, self.program.constants[name])
        if name in self.program.definitions:
            return Problem(
                "not-a-kernel",
                f"The kernel uses `{name}`, which is defined outside of it.",
                "Load the numbers of a tensor: tl.load(pointer + offsets). A helper function needs @triton.jit above "
                "it; a constant is written tl.constexpr(number).",
            )
        if self.imported(name):
            return self._from_outside(name, name)
        if name in refusals.PYTHON_IN_TRITON:
            return not_taken(f"Python's `{name}`", id="not-allowed")
        sentence = f"The name `{name}` is not defined in this kernel."
        return Problem("unknown-name", sentence, self.what_was_meant(name), compiles=False)

    def dotted(self, words: list[str]) -> Problem | None:
        """Return the problem of `words[0].words[1]…`, if that is a name of a module and not an attribute of a value."""
        owner, last = words[0], words[-1]
        if owner == "tl":
            known = _TL | ATOMICS if self.program.atomics else _TL
            if self.program.atomics and last.startswith("atomic_") and last not in known:
                return self.problem("atomics/others", name=f"tl.{last}")
            is_known = (len(words) == 2 and last in known) or (words[1:-1] == ["math"] and last in MATH)
            return None if is_known else _unknown_tl(words)
        if owner == "triton":
            host = f"triton.{words[1]} is for the host, not for a kernel."
            sentence = "Triton's language is tl here." if words[1] == "language" else host
            return Problem("not-tl", sentence, _in_tl(last) or "Use functions of tl.")
        if self.imported(owner):
            return self._from_outside(owner, last)
        sentence = f"The name `{owner}` is not defined in this kernel."
        return Problem("unknown-name", sentence, _in_tl(last) or self.what_was_meant(owner), compiles=False)

    def _from_outside(self, name: str, last: str) -> Problem:
        hint = _in_tl(last) or "Inside a kernel, use functions of tl: tl.exp, tl.sum, tl.max, …"
        return not_taken(f"imported names inside a kernel, such as `{name}`", hint, "not-tl")

    def what_was_meant(self, name: str) -> str:
        """Return a hint on a name that is not defined."""
        if name in refusals.HOST_MODULES:
            return f"{name} runs on the host. Inside a kernel, tl has what you need: tl.exp, tl.sum, tl.max, …"
        return _in_tl(name) or super().what_was_meant(name)

    def _constant(self, name: str, value: ast.expr) -> Problem | None:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):  # the literal is a tl.constexpr(…)
            return None
        return self.problem("global-not-constexpr/global", name=name, value=ast.unparse(value))


def attribute(name: str, owner: str | None) -> Problem | None:
    """Return the problem of an attribute of a value; `owner`: the value's name, if it has one."""
    if name in ATTRIBUTES:
        return None
    if name in refusals.PYTORCH:
        return Problem("pytorch-word", f"`.{name}` is PyTorch's word.", refusals.PYTORCH[name])
    if name in TL_FUNCTIONS:
        value = owner or "x"
        return not_taken(f"`{value}.{name}(…)`", f"Write tl.{name}({value}).", "attribute")
    if name in refusals.EXPLAINED:
        return refusals.EXPLAINED[name]
    sentence = f"The attribute `.{name}` is not on the list of what a kernel needs."
    return Problem("attribute", sentence, refusals.ATTRIBUTE)


def _unknown_tl(words: list[str]) -> Problem:
    name, last = ".".join(words[:3]), words[-1]
    if last.startswith("atomic_"):
        return refusals.problem("atomics/atomics", name=name)
    if len(words) == 2 and last in refusals.EXPLAINED:
        return refusals.EXPLAINED[last]
    if words[1] in {"math", "extra", "standard"} and len(words) > 2:
        return not_taken(f"tl.{words[1]}", _in_tl(last) or "Use what tl itself has.", "not-allowed")
    close = closest(last, sorted(TL_FUNCTIONS))
    hint = _in_tl(last) or (f"Did you mean tl.{close}?" if close else refusals.LESSON)
    return Problem("not-allowed", f"{name} is not on the list of what a kernel needs.", hint)


def _in_tl(name: str) -> str | None:
    """Return how to say a word in Triton's language, if that is known."""
    return f"Write tl.{name}." if name in _TL else refusals.PYTORCH.get(name)


def meant(name: str, known: Sequence[str]) -> str | None:
    """Return the one of `known` that is `name` in other letters, or most like it."""
    return next((word for word in known if word.lower() == name.lower()), None) or closest(name, known)


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the one of `known` that `name` is most like."""
    words = [word for word in known if len(word) <= LONGEST_NAME]
    if len(name) > LONGEST_NAME or len(words) > MOST_NAMES:
        return None
    return next(iter(difflib.get_close_matches(name, words, n=1, cutoff=0.75)), None)
