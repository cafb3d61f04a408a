"""The cells that were run in the notebook we are in, as text, and which notebook it is."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
from pathlib import Path

from checker.submission.read import Submission, blanked, from_cells, without_magics

SESSION = "JPY_SESSION_NAME"  # in the environment: the notebook's file, as JupyterLab knows it


def run_so_far() -> list[str] | None:
    """The cells that were run, as they were typed, by their numbers; None outside of IPython."""
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    shell = get_ipython()
    return None if shell is None else list(shell.history_manager.input_hist_raw)[1:]


def place() -> str | None:
    """The notebook's own file, or the folder it was started in if that is all there is to know; None in grading.

    JupyterLab and VS Code tell the file, others do not.
    """
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None or "NBGRADER_EXECUTION" in os.environ:
        return None
    return str(shell.user_ns.get("__vsc_ipynb_file__") or os.environ.get(SESSION) or shell.starting_dir)


def links_to(cells: list[str], notebook: Path) -> dict[int, str]:
    """Where JupyterLab finds cells that were run, by their numbers.

    They need not be as they were saved: a cell is known by a function that it defines.
    """
    saved: dict[str, str] = {}
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):  # it may hold anything
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
            saved |= dict.fromkeys(_functions("".join(cell["source"])), f"#cell-id={cell['id']}")
    return {n: saved[name] for n, text in enumerate(cells, start=1) for name in _functions(text) if name in saved}


def _functions(text: str) -> list[str]:
    return re.findall(r"^def (\w+)\(", text, re.MULTILINE)


def submission_of(cells: list[str]) -> Submission:
    """What they hand in; it has no file, and its cells have the numbers that the notebook shows."""
    return from_cells([("code" if text else "", text) for text in latest(cells)], "")


def latest(cells: list[str]) -> list[str]:
    """The cells without what a later one defines anew; lines keep their numbers.

    A cell that is no Python is dropped if a later one defines the same function; else the judge tells.
    """
    defined: set[tuple[type, str]] = set()  # functions and values apart: a kernel is no value
    kept = []
    for text in reversed(cells):
        plain = without_magics(text)
        try:
            statements = ast.parse(plain).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            again = any(f"def {name}(" in plain for kind, name in defined if kind is ast.FunctionDef)
            kept.append("" if again else plain)
            continue
        named = [(statement, _names(statement)) for statement in statements]
        kept.append(blanked(plain, [statement for statement, names in named if names and names <= defined]))
        defined = defined.union(*(names for _, names in named))
    return kept[::-1]


def _names(statement: ast.stmt) -> set[tuple[type, str]]:
    """Names that a top-level statement gives a function or a plain value."""
    if isinstance(statement, ast.FunctionDef):
        return {(ast.FunctionDef, statement.name)}
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {(ast.Assign, target.id) for target in targets if isinstance(target, ast.Name)}
