"""Reduce a submission to what a puzzle needs: its kernels (or PyTorch functions), their helpers, literal constants.

Everything else in the file (imports, launches, experiments, tests) is left out, and is never
executed anywhere. What is kept stays at its line number, so that a finding can point at it.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from checker.course.kernel import GAP, Kernel
from checker.submission.language import TRITON, Language, language_of
from checker.submission.module import Module, is_number, module_of
from checker.submission.problem import NotASubmission
from checker.submission.read import Submission

__all__ = ["NotASubmission", "Program", "extract"]

MOST_HELPERS = 30


@dataclass(frozen=True)
class Program:
    """The kept part of a submission. `source` has the line numbers of `Submission.text`."""

    source: str
    kernels: dict[str, ast.FunctionDef]  # those that the puzzle asks for
    helpers: dict[str, ast.FunctionDef]  # functions that they call, directly or not, decorated as they are
    calls: dict[str, set[str]]  # for each function, the names of those that it reaches: its own if it calls itself
    constants: dict[str, ast.expr]  # literals at module level, by name
    definitions: frozenset[str]  # every name that the whole text defines at module level, but by import
    imports: Mapping[str, str]  # what each imported name stands for
    unfilled: dict[str, int]  # line of the FILL IN mark of each kernel that still has one
    outside: Mapping[str, tuple[int, int]]  # by kernel: first and last line of what looks like its end, not indented
    language: Language = TRITON
    atomics: bool = False  # its programs may wait for each other

    @property
    def functions(self) -> dict[str, ast.FunctionDef]:
        """Kernels and helpers."""
        return self.kernels | self.helpers

    @property
    def pytorch(self) -> bool:
        """Whether the kernels are functions of PyTorch."""
        return self.language is not TRITON

    def empty(self, kernel: str) -> bool:
        """Return whether a kernel is as its stub was: the mark is there, nothing follows it, and there is no result."""
        nodes = list(ast.walk(self.kernels[kernel]))
        results = any(self._has_result(node) for node in nodes)
        gap = self.unfilled.get(kernel)
        if gap is None:
            return all(_does_nothing(statement) for statement in self.kernels[kernel].body)
        follows = any(isinstance(n, ast.stmt) and n.lineno > gap and not _does_nothing(n) for n in nodes)
        return not results and not follows

    def _has_result(self, node: ast.AST) -> bool:
        """Return whether memory is touched, or something is returned."""
        if self.pytorch:
            return isinstance(node, ast.Return) and node.value is not None
        return isinstance(node, ast.Attribute) and node.attr in {"load", "store"}


@lru_cache(maxsize=8)  # whoever reads a submission asks several times
def extract(submission: Submission, asked: tuple[Kernel, ...]) -> Program:
    """Return the program of a submission, which nobody changes. Raises NotASubmission."""
    module = module_of(submission, asked)
    language = language_of(asked)
    _insist_on_name(module, language)
    functions = module.written_in(language)
    kernels = {kernel.name: _find(kernel, module, language, submission.live) for kernel in asked}
    if language.module not in module.imports.values():
        raise NotASubmission(
            "import-missing",
            f"The {language.word}s use {language.name}, but nothing imports it.",
            f"Run the cell with {language.line}, then this one."
            if submission.live
            else f"Put back the stub's line: {language.line}",
        )
    mentioned = _mentioned(functions)
    calls = {name: _reached(name, mentioned) for name in kernels}
    needed = set().union(*calls.values()) - kernels.keys()
    helpers = {name: function for name, function in functions.items() if name in needed}
    if len(helpers) > MOST_HELPERS:
        raise NotASubmission(
            "too-many-helpers",
            f"The {language.word}s call {len(helpers)} helper functions; at most {MOST_HELPERS} are read.",
            "A puzzle needs none, or a few.",
        )
    for name in helpers:
        calls[name] = _reached(name, mentioned)
        if len(module.functions[name]) > 1:
            raise _twice(name, module.functions[name])
    kept = kernels | helpers
    used = {n.id for f in kept.values() for n in ast.walk(f) if isinstance(n, ast.Name)}
    constants = {
        name: value
        for name, (value, statement) in module.constants.items()
        if name in used and (language is TRITON or (isinstance(statement, ast.Assign) and is_number(value)))
    }
    lines = submission.text.split("\n")
    for function in kept.values():
        _decorate_plainly(function)
    source = _source(lines, kept, [module.constants[name][1] for name in constants])
    _insist_on_same_code(source, kept, language)
    gaps = {name: line for name, f in kernels.items() if (line := _gap(f, lines)) is not None}
    outside = {name: stray for name, f in kernels.items() if (stray := module.stray_lines(f))}
    atomics = any(kernel.atomics for kernel in asked)
    return Program(
        source, kernels, helpers, calls, constants, module.defined, module.imports, gaps, outside, language, atomics
    )


def _mentioned(functions: Mapping[str, ast.FunctionDef]) -> dict[str, set[str]]:
    """For each function, the names of those that it speaks of."""
    return {
        name: {n.id for n in ast.walk(function) if isinstance(n, ast.Name)} & functions.keys()
        for name, function in functions.items()
    }


def _reached(start: str, mentioned: Mapping[str, set[str]]) -> set[str]:
    """Names of the functions that `start` mentions, directly or not: its own only if it comes back to itself."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = mentioned[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def _source(lines: Sequence[str], functions: Mapping[str, ast.FunctionDef], constants: Sequence[ast.stmt]) -> str:
    """Return the kept text: everything at its line, and nothing else."""
    kept = [""] * len(lines)
    for statement in constants:
        kept[statement.lineno - 1] += ("; " if kept[statement.lineno - 1] else "") + ast.unparse(statement)
    for function in functions.values():
        last = function.end_lineno or function.lineno
        for decorator in function.decorator_list:
            kept[decorator.lineno - 1] = TRITON.decorator
        kept[function.lineno - 1 : last] = lines[function.lineno - 1 : last]
    return "\n".join(kept) + "\n"


def _decorate_plainly(function: ast.FunctionDef) -> None:
    """Write triton.jit as the sandbox knows it, under whatever name it was imported."""
    for position, decorator in enumerate(function.decorator_list):
        plain = ast.parse(f"({TRITON.decorator[1:]})", mode="eval").body  # as far to the right as after an @
        function.decorator_list[position] = ast.increment_lineno(plain, decorator.lineno - 1)


def _gap(function: ast.FunctionDef, lines: list[str]) -> int | None:
    """Line of the mark in a function, or in the indented comments that end it."""
    for number, line in enumerate(lines[function.lineno - 1 :], function.lineno):
        if number > (function.end_lineno or function.lineno) and line.strip() and not line[0].isspace():
            return None
        if GAP in line:
            return number
    return None


def _does_nothing(statement: ast.stmt) -> bool:
    """Return a docstring, `pass`, or the barrier that a stub ends with."""
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and ast.unparse(statement.value).startswith(("'", '"', "tl.debug_barrier("))
    )


def _insist_on_name(module: Module, language: Language) -> None:
    """The language may have other names as well, but one of them must be the course's."""
    names = [name for name, imported in module.imports.items() if imported == language.module]
    if names and language.name not in names:
        raise NotASubmission(
            "import-renamed",
            f"{language.title} is imported as {names[0]}; this course takes it as {language.name} only.",
            f"Write {language.line}, and {language.name}. instead of {names[0]}. in the {language.word}s.",
        )


def _find(kernel: Kernel, module: Module, language: Language, live: bool) -> ast.FunctionDef:
    """Return the one definition of a kernel, with the right decorator and signature."""
    found = module.functions.get(kernel.name, [])
    if not found:
        raise _missing(kernel, module, language, live)
    if len(found) > 1:
        raise _twice(kernel.name, found)
    function = found[0]
    if not module.fits(function, language):
        raise _wrongly_decorated(function, language)
    if ast.unparse(function.args) != kernel.signature:
        calls = "calls" if kernel.pytorch else "launches"
        raise NotASubmission(
            "signature-changed",
            f"The def line of {kernel.name} was changed, and the judge {calls} it as the stub has it.",
            f"The def line must read: def {kernel.name}({kernel.signature}):",
            function.lineno,
        )
    return function


def _wrongly_decorated(function: ast.FunctionDef, language: Language) -> NotASubmission:
    if language is TRITON:
        return NotASubmission(
            "not-decorated",
            f"{function.name} must be decorated with @triton.jit, and with nothing else.",
            "Write @triton.jit on the line above its def.",
            function.lineno,
        )
    return NotASubmission(
        "decorated",
        f"{function.name} must be a plain function, without a decorator.",
        "Take out the line above its def. The judge computes no gradients, so torch.no_grad is not needed.",
        function.decorator_list[0].lineno,
    )


def _missing(kernel: Kernel, module: Module, language: Language, live: bool) -> NotASubmission:
    # Any function may be plain; so one is taken for this one under another name only if it has its parameters.
    named = {
        name: function
        for name, function in module.written_in(language).items()
        if name not in kernel.shown and (language is TRITON or ast.unparse(function.args) == kernel.signature)
    }
    close = difflib.get_close_matches(kernel.name, named, n=1, cutoff=0.4) or list(named)[:1]
    if close:
        return NotASubmission(
            "kernel-renamed",
            f"There is no {language.word} {kernel.name}, but there is one called {close[0]}.",
            f"Give it back its name: def {kernel.name}({kernel.signature}):",
            named[close[0]].lineno,
        )
    if live:
        return NotASubmission(
            "kernel-not-run",
            f"No cell that was run defines {kernel.name}.",
            "Run the cells above this one, then this one again.",
        )
    every = (n for statement in module.statements for n in ast.walk(statement))
    nested = [n for n in every if isinstance(n, ast.FunctionDef) and n.name == kernel.name]
    where = " at the top level of the file (it stands inside something else)" if nested else ""
    return NotASubmission(
        "kernel-missing",
        f"There is no {language.word} {kernel.name}{where}.",
        f"Keep the {language.word} from the stub and fill it in; `make reset` brings the stub back.",
        nested[0].lineno if nested else 0,
    )


def _twice(name: str, found: list[ast.FunctionDef]) -> NotASubmission:
    return NotASubmission(
        "defined-twice",
        f"{name} is defined {len(found)} times, so it is open which one is meant.",
        "Keep one definition, and give the others other names.",
        found[1].lineno,
    )


def _insist_on_same_code(source: str, functions: dict[str, ast.FunctionDef], language: Language) -> None:
    """Insist that what runs is what is linted: the kept lines, read again, give the same syntax trees."""
    dump = partial(ast.dump, include_attributes=True)
    try:
        again = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    except (SyntaxError, ValueError):
        again = {}
    for name, function in functions.items():
        if name not in again or dump(again[name]) != dump(function):
            raise NotASubmission(
                "odd-layout",
                f"{name} is laid out so that it cannot be taken out of the file line by line.",
                language.layout,
                function.lineno,
            )
