"""The identity of a program: its kernels, helpers and constants, whatever is written around them.

Comments, docstrings, blank lines, spaces, Markdown and experiments do not count: whoever hands in the same program with
other comments is asked the same, and no comment can be tried out until the cases are easy.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache

from checker.course.kernel import Kernel
from checker.submission.extract import NotASubmission, Program, extract
from checker.submission.lint import lint
from checker.submission.nodes import is_text
from checker.submission.read import Submission


def fingerprint(program: Program) -> str:
    """Return a hash of a program, for drawing cases; the same wherever its text stands."""
    functions = program.functions
    texts = [_bare(functions[name]) for name in [*program.kernels, *sorted(program.helpers)]]
    texts += [f"{name} = {ast.unparse(value)}" for name, value in sorted(program.constants.items())]
    return _hash(texts)


@lru_cache(maxsize=1024)  # a round asks several times
def place(submission: Submission, asked: tuple[Kernel, ...]) -> str:
    """Return a hash of all that a report on a submission depends on: its program, and where each word of it stands.

    Whoever has the same program elsewhere needs a report with other numbers of lines and cells. Of a text that is not
    run, since it is no program or uses what may not be used, every character counts.
    """
    try:
        program = extract(submission, asked)
        if not lint(program):
            return _hash(_placed(submission, program))
    except (NotASubmission, RecursionError, MemoryError, ValueError):
        pass
    return _hash(["not run", *(f"{chunk.cell} {chunk.text}" for chunk in submission.chunks)])


def _bare(function: ast.FunctionDef) -> str:
    """Return a function's code as Python writes it, without docstrings."""
    tree = ast.parse(ast.unparse(function))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [one for one in body if not (isinstance(one, ast.Expr) and is_text(one.value))] or [ast.Pass()]
    return ast.unparse(tree)


def _placed(submission: Submission, program: Program) -> Iterator[str]:
    """Everything of a program that the judge looks at, each with its cell and its line in it."""
    lines = submission.text.split("\n")
    for function in program.functions.values():
        cell, first = submission.place(function.lineno)
        text = "\n".join(lines[function.lineno - 1 : function.end_lineno])
        yield f"{cell} {ast.dump(ast.parse(chr(10) * (first - 1) + text), include_attributes=True)}"
    for name, value in program.constants.items():
        yield f"{name} {submission.place(value.lineno)} {ast.dump(value)}"
    yield f"unfilled {[(name, submission.place(line)) for name, line in sorted(program.unfilled.items())]}"
    yield f"outside {[(name, *map(submission.place, lines)) for name, lines in sorted(program.outside.items())]}"


def _hash(texts: Sequence[str] | Iterator[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()
