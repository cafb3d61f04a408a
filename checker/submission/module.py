"""The top level of a submission: imports, functions, literal constants. Read as syntax, never executed."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from checker.course.kernel import Kernel
from checker.submission.language import TRITON, Language
from checker.submission.problem import NotASubmission
from checker.submission.read import Submission

DEEPEST = 60  # levels of nesting; a kernel of the course has about 15
# What a keyboard for Chinese types, or a word processor makes of it, and what Python reads.
_PLAIN = {0xFEE0 + sign: sign for sign in range(0x21, 0x7F)} | str.maketrans("“”‘’。、", "\"\"''.,")


@dataclass(frozen=True)
class Module:
    """The top-level statements of all chunks of a submission, with the line numbers of the joined text."""

    statements: Sequence[ast.stmt]

    @cached_property
    def functions(self) -> dict[str, list[ast.FunctionDef]]:
        """All definitions of each name."""
        functions: dict[str, list[ast.FunctionDef]] = {}
        for statement in self.statements:
            if isinstance(statement, ast.FunctionDef) and not statement.name.startswith("__"):
                functions.setdefault(statement.name, []).append(statement)
        return functions

    @cached_property
    def imports(self) -> dict[str, str]:
        """The full name of each imported one: {"tl": "triton.language", "jit": "triton.jit"}."""
        names: dict[str, str] = {}
        for statement in self.statements:
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    package = alias.name.partition(".")[0]
                    names[alias.asname or package] = alias.name if alias.asname else package
            elif isinstance(statement, ast.ImportFrom):
                names |= {a.asname or a.name: f"{statement.module}.{a.name}" for a in statement.names}
        return names

    @cached_property
    def constants(self) -> dict[str, tuple[ast.expr, ast.stmt]]:
        """(value, statement) of each assignment of a literal; the last one wins."""
        found: dict[str, tuple[ast.expr, ast.stmt]] = {}
        for statement in self.statements:
            match statement:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=ast.expr() as value)
                    | ast.AnnAssign(
                        target=ast.Name(id=name),
                        annotation=ast.Attribute(value=ast.Name(id="tl"), attr="constexpr"),
                        value=ast.expr() as value,
                    )
                ) if is_literal(value) and not name.startswith("__"):
                    found[name] = value, statement
        return found

    @cached_property
    def defined(self) -> frozenset[str]:
        """Every name that a function, a class or an assignment defines."""
        names = set()
        for statement in self.statements:
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                names.add(statement.name)
            else:
                names |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return frozenset(name for name in names if not name.startswith("__"))

    def written_in(self, language: Language) -> dict[str, ast.FunctionDef]:
        """Return the functions that are decorated as a language wants it; of several with one name the last."""
        return {name: found[-1] for name, found in self.functions.items() if self.fits(found[-1], language)}

    def fits(self, function: ast.FunctionDef, language: Language) -> bool:
        """Return whether a function is decorated as a language wants it, and with nothing else."""
        return self._is_jit(function) if language is TRITON else not function.decorator_list

    def stray_lines(self, kernel: ast.FunctionDef) -> tuple[int, int] | None:
        """Return the first and the last line of statements below a kernel that load or store, as only a kernel can."""
        below = self.statements[self.statements.index(kernel) + 1 :]
        own = {a.arg for a in kernel.args.args} | {
            n.id for n in ast.walk(kernel) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        run = list(takewhile(lambda s: isinstance(s, ast.Assign | ast.AugAssign | ast.Expr | ast.For | ast.If), below))
        touching = [n for n, s in enumerate(run) if _calls(s, "load", "store")]
        if not touching:
            return None
        first = next(n for n, s in enumerate(run) if n == touching[0] or _calls(s) or _reads(s) & own)
        last = run[touching[-1]]
        return run[first].lineno, last.end_lineno or last.lineno

    def _is_jit(self, function: ast.FunctionDef) -> bool:
        """Return whether a function is decorated with triton.jit, under whatever name, and with nothing else."""
        names = [ast.unparse(decorator).removesuffix("()") for decorator in function.decorator_list]
        imported = {name for name, stands_for in self.imports.items() if stands_for == "triton.jit"} - self.defined
        return len(names) == 1 and names[0] in {"triton.jit", *imported}


def module_of(submission: Submission, asked: Sequence[Kernel]) -> Module:
    """Return what a submission has at its top level. Raises NotASubmission.

    A notebook's cell that does not parse is passed over unless it defines one of the kernels.
    """
    return Module(list(_statements(submission, asked)))


def _statements(submission: Submission, asked: Sequence[Kernel]) -> Iterator[ast.stmt]:
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
    sentence = f"Python cannot read this: {error.msg.rstrip('.?!')}."
    hint = "Fix the line that is marked, or the one before it."
    if there := re.search(r"invalid character '(.)'", error.msg):
        sign, plain = there[1], there[1].translate(_PLAIN)
        if plain != sign:
            hint = f"Write `{plain}` in place of `{sign}`, here and wherever else it stands in the code."
    return NotASubmission("syntax-error", sentence, hint, before + (error.lineno or 1))


def _too_deep(line: int) -> NotASubmission:
    sentence = "The code is nested too deeply to be read."
    return NotASubmission("unreadable-code", sentence, "Keep to the form of the stub.", line)


def _depth(statement: ast.stmt) -> int:
    """Nesting of a syntax tree, measured without recursion."""
    depth, level = 0, [statement]
    while level:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]  # type: ignore[misc]
    return depth


def _calls(statement: ast.stmt, *names: str) -> bool:
    """Return whether any of these functions of tl is called in it; without names, any at all but tl.constexpr."""
    called = {
        node.func.attr
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "tl"
    }
    return bool(called & set(names) if names else called - {"constexpr"})


def _reads(statement: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def is_literal(value: ast.expr) -> bool:
    """Return a number, or arithmetic on numbers, alone or inside tl.constexpr(...) or float('inf'): harmless to
    evaluate.
    """
    match value:
        case ast.Constant(value=bool() | int() | float() as number):
            return abs(number) < 2**63 or isinstance(number, float)
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
            return is_literal(operand)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
            return is_literal(left) and is_literal(right)
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))], keywords=[]):
            return text.strip("+-").lower() in {"inf", "infinity"}
        case ast.Call(func=ast.Attribute(value=ast.Name(id="tl"), attr="constexpr"), args=[inner], keywords=[]):
            return is_literal(inner)
    return False


def is_number(value: ast.expr) -> bool:
    """Such a literal that is plain Python, without tl.constexpr(...)."""
    return is_literal(value) and not any(isinstance(node, ast.Attribute) for node in ast.walk(value))
