"""The cells of a lesson, run on its page: experiments with arrays of one's own and the kernel in the editor.

As in a notebook, a cell knows what those above it have left. It is the reader's own Python, in their own browser.
"""

from __future__ import annotations

import ast
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from types import ModuleType, SimpleNamespace
from typing import Any

from checker.browser.drafts import IMPORTS
from checker.learner.experiment import Ran, asked
from checker.report.translated import said
from checker.sandbox.host import Host
from checker.sandbox.in_process import interpreter

_NOTEBOOK = "checker.notebook"  # what lessons import `run` from, which a page does not have
_NAME = "cell"  # what a cell is called in tracebacks
MOST = 20_000  # characters of what a cell shows


def shown(code: str, cells: Sequence[str], host: Host) -> str:
    """Return what the last cell prints, and what its last line gives. `code`: the kernels, as they stand in the editor.

    The cells above it are run as well, in silence.
    """
    texts = [IMPORTS, code, *cells]
    known: dict[str, Any] = {"__name__": "__main__"}

    def run(kernel: Any, *arguments: Any, grid: int | Sequence[int] | None = None, **named: Any) -> Ran:
        return asked(texts, kernel, arguments, named, grid, host)

    interpreter()  # before a cell imports Triton, which else is patched no more
    last = ""
    with _notebook(run):
        for text in texts:
            last = _run(text, known)
    return last if len(last) <= MOST else f"{last[:MOST]} …"


@contextmanager
def _notebook(run: Any) -> Iterator[None]:
    """Yield what cells import instead of the notebook's module."""
    here = ModuleType(_NOTEBOOK)
    here.__dict__["run"] = run
    before = sys.modules.get(_NOTEBOOK)
    sys.modules[_NOTEBOOK] = here
    try:
        yield
    finally:
        if before is None:
            del sys.modules[_NOTEBOOK]
        else:
            sys.modules[_NOTEBOOK] = before


def _run(text: str, known: dict[str, Any]) -> str:
    """Return what a cell shows; what it raises is its last line."""
    printed = io.StringIO()
    try:
        statements = ast.parse(text).body
        last = statements[-1].value if statements and isinstance(statements[-1], ast.Expr) else None
        with redirect_stdout(printed):
            for statement in statements[:-1] if last else statements:
                if isinstance(statement, ast.FunctionDef) and statement.decorator_list:  # `run` knows a kernel's text
                    known[statement.name] = SimpleNamespace(__name__=statement.name)
                else:
                    exec(compile(ast.Module([statement], []), _NAME, "exec"), known)
            value = None if last is None else eval(compile(ast.Expression(last), _NAME, "eval"), known)
    except SyntaxError as error:
        return said(f"Line {error.lineno}: {error.msg}.")
    except Exception as error:
        return f"{printed.getvalue()}{_place(error)}{type(error).__name__}: {said(str(error))}"
    text = "" if value is None else repr(value)
    if not (text or printed.getvalue()) and (names := [one.name for one in statements if hasattr(one, "name")]):
        return said(f"Defined: {', '.join(names)}.")
    return printed.getvalue() + ("\n".join(map(said, text.split("\n"))) if isinstance(value, Ran) else text)


def _place(error: BaseException) -> str:
    """Return the line of the cell that raised it."""
    line, frame = 0, error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == _NAME:
            line = frame.tb_lineno
        frame = frame.tb_next
    return said(f"Line {line}: ") if line else ""
