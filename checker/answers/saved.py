"""Cells of a notebook as it was saved, next to those that were run in it."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path

# In the environment: the notebook's file, as JupyterLab knows it, and that nbgrader's Validate runs all cells.
SESSION, VALIDATING = "JPY_SESSION_NAME", "NBGRADER_VALIDATING"


def links_to(cells: list[str], notebook: Path) -> dict[int, str]:
    """Return where JupyterLab finds cells that were run, by their numbers.

    They need not be as they were saved: a cell is known by a function that it defines.
    """
    found = {name: every[-1][0] for name, every in _saved(notebook).items()}
    return {n: found[name] for n, text in enumerate(cells, start=1) for name in _functions(text) if found.get(name)}


def not_run(cells: list[str], when: Mapping[int, float], notebook: Path) -> dict[str, int]:
    """Functions whose cell was saved after it was run, in a form that was not run: the numbers of these cells."""
    found, typed = _saved(notebook), {text.strip() for text in cells}
    last = {name: n for n, text in enumerate(cells, start=1) for name in _functions(text)}
    changed = {
        name: n for name, n in last.items() if name in found and not typed & {text.strip() for _, text in found[name]}
    }
    return {name: n for name, n in changed.items() if notebook.stat().st_mtime > when.get(n, when.get(0, math.inf))}


def _saved(notebook: Path) -> dict[str, list[tuple[str, str]]]:
    """Return the cells of a notebook as it was saved, by the functions that they define: where each is found, and its
    text.
    """
    saved: dict[str, list[tuple[str, str]]] = {}
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):  # it may hold anything
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
            text = "".join(cell["source"])
            link = f"#cell-id={cell['id']}" if "id" in cell else ""  # older notebooks have none
            for name in _functions(text):
                saved.setdefault(name, []).append((link, text))
    return saved


def _functions(text: str) -> list[str]:
    return re.findall(r"^def (\w+)\(", text, re.MULTILINE)
