"""Definitions of the capstone's file: its imports, functions, classes and constants are executed, nothing else."""

from __future__ import annotations

import ast
from typing import Any

from checker.course.kernel import Kernel
from checker.course.status import Misuse
from checker.submission.module import is_number, module_of
from checker.submission.problem import NotASubmission
from checker.submission.read import Submission
from checker.train import source
from checker.train.kernels import NoKernel

NEEDED = ("own_attention", "GPT")
NOT_IMPORTED = "checker.notebook"  # what checks, draws and trains


def definitions(submission: Submission) -> dict[str, Any]:
    """Return the names that a submission defines. Misuse names the line that keeps it from that."""
    try:
        statements = module_of(submission, [Kernel(name, (), ()) for name in NEEDED]).statements
    except NotASubmission as error:
        raise Misuse(f"{source.at(submission, error.problem.line or 1)}: {error} {error.problem.hint}") from None
    kept = ast.Module([statement for statement in statements if _defines(statement)], type_ignores=[])
    filename = f"<{submission.name}>"
    source.running(filename, submission)
    names: dict[str, Any] = {"__name__": "tiny_gpt"}
    try:
        exec(compile(kept, filename, "exec", dont_inherit=True), names)
    except NoKernel as problem:
        raise Misuse(str(problem)) from None
    except Exception as error:
        raise Misuse(source.sentence_on(error)) from error
    if missing := [name for name in NEEDED if not callable(names.get(name))]:
        raise Misuse(
            f"{submission.name} defines no {' and no '.join(missing)}. Keep the cells of the lesson that define them."
        )
    return names


def _defines(statement: ast.stmt) -> bool:
    """Return whether a statement only gives names to things; an import of what checks and trains does more."""
    match statement:
        case ast.Import(names=names):
            return not any(_not_imported(alias.name) for alias in names)
        case ast.ImportFrom(module=module, names=names):
            return not any(_not_imported(f"{module}.{alias.name}") for alias in names)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return True
        case (
            ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
        ):
            return _is_plain(value)
    return False


def _not_imported(name: str) -> bool:
    return f"{name}.".startswith(f"{NOT_IMPORTED}.")


def _is_plain(value: ast.expr) -> bool:
    """Return whether it is a constant, or a collection or arithmetic of constants."""
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError):
        return is_number(value)
    return True
