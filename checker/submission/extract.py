"""Reduce a submission to what a puzzle needs: its kernels, their helpers, literal constants.

Everything else in the file (imports, launches, experiments, tests) is left out, and is never
executed anywhere. What is kept stays at its line number, so that a finding can point at it.
"""

from __future__ import annotations

import ast
import difflib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from checker.puzzle import Kernel
from checker.submission.read import Submission

_IMPORT_HINT = "Put back the stub's line: import triton.language as tl"
DEEPEST = 60  # levels of nesting; a kernel of the course has about 15
MOST_HELPERS = 30
GAP = "FILL IN"  # marks in a stub what is left to write


class NotASubmission(Exception):
    """The text is not what the puzzle asks for: a sentence, a next step, and the line if there is one."""

    def __init__(self, problem: str, sentence: str, hint: str, line: int | None = None):
        super().__init__(sentence)
        self.problem = problem
        self.hint = hint
        self.line = line


@dataclass(frozen=True)
class Program:
    """The kept part of a submission. `source` has the line numbers of `Submission.text`."""

    source: str
    kernels: dict[str, ast.FunctionDef]  # those that the puzzle asks for
    helpers: dict[str, ast.FunctionDef]  # @triton.jit functions that they call, directly or not
    constants: dict[str, ast.expr]  # literals at module level, by name
    definitions: frozenset[str]  # every name that the whole text defines at module level
    gaps: dict[str, int]  # line of the FILL IN mark of each kernel that still has one

    @property
    def functions(self) -> dict[str, ast.FunctionDef]:
        """Kernels and helpers."""
        return self.kernels | self.helpers

    def empty(self, kernel: str) -> bool:
        """Whether a kernel is as its stub was: the mark is there, nothing follows it, nothing touches memory."""
        nodes = list(ast.walk(self.kernels[kernel]))
        touches = any(isinstance(node, ast.Attribute) and node.attr in {"load", "store"} for node in nodes)
        gap = self.gaps.get(kernel)
        if gap is None:
            return len(nodes) > 0 and all(_does_nothing(statement) for statement in self.kernels[kernel].body)
        follows = any(isinstance(n, ast.stmt) and n.lineno > gap and not _does_nothing(n) for n in nodes)
        return not touches and not follows


def extract(submission: Submission, asked: Sequence[Kernel]) -> Program:
    """The program of a submission. Raises NotASubmission."""
    statements = list(_statements(submission, asked))
    functions = _functions(statements)
    kernels = {kernel.name: _find(kernel, functions, statements, submission.live) for kernel in asked}
    jitted = {name: found[-1] for name, found in functions.items() if _is_jit(found[-1]) and name not in kernels}
    if not _imports_tl(statements):
        raise NotASubmission(
            "import-missing",
            "The kernels use tl, but nothing imports it.",
            "Run the first code cell, then this one." if submission.live else _IMPORT_HINT,
        )
    reached: set[str] = set()
    for kernel in kernels.values():
        reached |= reachable(kernel, jitted | kernels)
    helpers = {name: function for name, function in jitted.items() if name in reached}
    if len(helpers) > MOST_HELPERS:
        raise NotASubmission(
            "too-many-helpers",
            f"The kernels call {len(helpers)} helper functions; at most {MOST_HELPERS} are read.",
            "A puzzle needs none, or a few.",
        )
    for name in helpers:
        if len(functions[name]) > 1:
            raise _twice(name, functions[name])
    used = {n.id for f in (*kernels.values(), *helpers.values()) for n in ast.walk(f) if isinstance(n, ast.Name)}
    assigned = dict(_constants(statements))
    constants = {name: value for name, (value, _) in assigned.items() if name in used}
    lines = submission.text.split("\n")
    kept = [""] * len(lines)
    for name in constants:
        statement = assigned[name][1]
        kept[statement.lineno - 1] += ("; " if kept[statement.lineno - 1] else "") + ast.unparse(statement)
    for function in (*kernels.values(), *helpers.values()):
        first = min([function.lineno, *(d.lineno for d in function.decorator_list)])
        last = function.end_lineno or function.lineno
        kept[first - 1 : last] = lines[first - 1 : last]
    source = "\n".join(kept) + "\n"
    _insist_on_same_code(source, {**kernels, **helpers})
    definitions = frozenset(functions) | frozenset(assigned)
    gaps = {name: line for name, f in kernels.items() if (line := _gap(f, lines)) is not None}
    return Program(source, kernels, helpers, constants, definitions, gaps)


def _gap(function: ast.FunctionDef, lines: list[str]) -> int | None:
    """Line of the mark in a function, or in the indented comments that end it."""
    for number in range(function.lineno, len(lines) + 1):
        line = lines[number - 1]
        if number > (function.end_lineno or function.lineno) and line.strip() and not line[0].isspace():
            return None
        if GAP in line:
            return number
    return None


def _does_nothing(statement: ast.stmt) -> bool:
    """A docstring, `pass`, or the barrier that a stub ends with."""
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and ast.unparse(statement.value).startswith(("'", '"', "tl.debug_barrier("))
    )


def _imports_tl(statements: list[ast.stmt]) -> bool:
    wanted = {"import triton.language as tl", "from triton import language as tl"}
    return any(isinstance(s, ast.Import | ast.ImportFrom) and ast.unparse(s) in wanted for s in statements)


def _statements(submission: Submission, asked: Sequence[Kernel]) -> Iterator[ast.stmt]:
    """Top-level statements of all chunks, with the line numbers of the joined text.

    A notebook's cell that does not parse is passed over unless it defines one of the kernels.
    """
    before = 0
    for chunk in submission.chunks:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # such as an invalid escape in a lesson's text
                tree = ast.parse(chunk.text)
        except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
            if chunk.cell is None or any(kernel.name in chunk.text for kernel in asked):
                raise _not_python(error, before) from error
        else:
            for statement in tree.body:
                if _depth(statement) <= DEEPEST:
                    if before:
                        ast.increment_lineno(statement, before)
                    yield statement
                elif isinstance(statement, ast.FunctionDef):
                    raise _too_deep(before + statement.lineno)
        before += chunk.text.count("\n") + 1


def _not_python(error: Exception, before: int) -> NotASubmission:
    if not isinstance(error, SyntaxError):
        return _too_deep(before + 1)
    return NotASubmission(
        "syntax-error",
        f"Python cannot read this: {error.msg.rstrip('.?!')}.",
        "Mend the line that is marked, or the one before it.",
        before + (error.lineno or 1),
    )


def _too_deep(line: int) -> NotASubmission:
    return NotASubmission(
        "unreadable-code", "The code is nested too deeply to be read.", "Keep to the form of the stub.", line
    )


def _depth(statement: ast.stmt) -> int:
    """Nesting of a syntax tree, measured without recursion."""
    depth, level = 0, [statement]
    while level:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]  # type: ignore[misc]
    return depth


def _functions(statements: list[ast.stmt]) -> dict[str, list[ast.FunctionDef]]:
    functions: dict[str, list[ast.FunctionDef]] = {}
    for statement in statements:
        if isinstance(statement, ast.FunctionDef) and not statement.name.startswith("__"):
            functions.setdefault(statement.name, []).append(statement)
    return functions


def _find(
    kernel: Kernel, functions: dict[str, list[ast.FunctionDef]], statements: list[ast.stmt], live: bool
) -> ast.FunctionDef:
    """The one definition of a kernel, with the right decorator and signature."""
    found = functions.get(kernel.name, [])
    if not found:
        raise _missing(kernel, functions, statements, live)
    if len(found) > 1:
        raise _twice(kernel.name, found)
    function = found[0]
    if not _is_jit(function):
        raise NotASubmission(
            "not-decorated",
            f"{kernel.name} must be decorated with @triton.jit, and with nothing else.",
            "Write @triton.jit on the line above its def.",
            function.lineno,
        )
    if _signature(function) != kernel.signature:
        raise NotASubmission(
            "signature-changed",
            f"The parameters of {kernel.name} were changed, so the judge cannot launch it.",
            f"The def line must read: def {kernel.name}({kernel.signature}):",
            function.lineno,
        )
    return function


def _missing(
    kernel: Kernel, functions: dict[str, list[ast.FunctionDef]], statements: list[ast.stmt], live: bool
) -> NotASubmission:
    jitted = [name for name, found in functions.items() if _is_jit(found[-1])]
    close = difflib.get_close_matches(kernel.name, jitted, n=1, cutoff=0.4) or jitted[:1]
    if close:
        return NotASubmission(
            "kernel-renamed",
            f"There is no kernel {kernel.name}, but there is one called {close[0]}.",
            f"Give it back its name: def {kernel.name}({kernel.signature}):",
            functions[close[0]][-1].lineno,
        )
    if live:
        return NotASubmission(
            "kernel-not-run",
            f"No cell that was run defines {kernel.name}.",
            "Run the first code cell and the cell with the kernel, then this one again.",
        )
    nested = [n for s in statements for n in ast.walk(s) if isinstance(n, ast.FunctionDef) and n.name == kernel.name]
    where = " at the top level of the file (it stands inside something else)" if nested else ""
    return NotASubmission(
        "kernel-missing",
        f"There is no kernel {kernel.name}{where}.",
        "Keep the kernel from the stub and fill it in; `make reset PUZZLE=…` brings the stub back.",
        nested[0].lineno if nested else None,
    )


def _twice(name: str, found: list[ast.FunctionDef]) -> NotASubmission:
    return NotASubmission(
        "defined-twice",
        f"{name} is defined {len(found)} times, so it is open which one is meant.",
        "Keep one definition, and give the others other names.",
        found[1].lineno,
    )


def _is_jit(function: ast.FunctionDef) -> bool:
    return [ast.unparse(d) for d in function.decorator_list] in (["triton.jit"], ["triton.jit()"])


def _signature(function: ast.FunctionDef) -> str:
    return ast.unparse(function.args)


def reachable(start: ast.FunctionDef, functions: Mapping[str, ast.FunctionDef]) -> set[str]:
    """Names of the functions that `start` calls, directly or not, and its own."""
    reached: set[str] = set()
    waiting = [start.name]
    while waiting:
        name = waiting.pop()
        if name in reached or name not in functions:
            continue
        reached.add(name)
        waiting += [n.id for n in ast.walk(functions[name]) if isinstance(n, ast.Name)]
    return reached


def _constants(statements: list[ast.stmt]) -> Iterator[tuple[str, tuple[ast.expr, ast.stmt]]]:
    """(name, (value, statement)) of each module-level assignment of a literal; the last one wins."""
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=value, annotation=a) if (
                value is not None and ast.unparse(a) == "tl.constexpr"
            ):
                pass
            case _:
                continue
        if _is_literal(value) and not name.startswith("__"):
            yield name, (value, statement)


def _is_literal(value: ast.expr) -> bool:
    """A number, or arithmetic on numbers, alone or inside tl.constexpr(...) or float('inf')."""
    match value:
        case ast.Constant(value=bool() | int() | float() as number):
            return abs(number) < 2**63 or isinstance(number, float)
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
            return _is_literal(operand)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
            return _is_literal(left) and _is_literal(right)
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))], keywords=[]):
            return text.strip("+-").lower() in {"inf", "infinity"}
        case ast.Call(func=ast.Attribute(value=ast.Name(id="tl"), attr="constexpr"), args=[inner], keywords=[]):
            return _is_literal(inner)
    return False


def _insist_on_same_code(source: str, functions: dict[str, ast.FunctionDef]) -> None:
    """What runs must be what is linted: the kept lines, read again, give the same syntax trees."""
    try:
        again = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    except (SyntaxError, ValueError):
        again = {}
    for name, function in functions.items():
        if name not in again or _fingerprint(again[name]) != _fingerprint(function):
            raise NotASubmission(
                "odd-layout",
                f"{name} is laid out so that it cannot be taken out of the file line by line.",
                "Write @triton.jit on a line of its own, def on the next one, and the body below.",
                function.lineno,
            )


def _fingerprint(function: ast.FunctionDef) -> str:
    return ast.dump(function, include_attributes=True)
