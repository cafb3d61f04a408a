"""The cells that were run in a notebook or on a page, one after the other, as a submission."""

from __future__ import annotations

import ast

from checker.submission.read import Submission, blanked, from_cells, without_magics


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
