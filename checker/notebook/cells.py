"""The cells that were run in the notebook that we are in, as text, and which notebook it is."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# In the environment: the notebook's file, as JupyterLab knows it, and that nbgrader's Validate runs all cells.
SESSION, VALIDATING = "JPY_SESSION_NAME", "NBGRADER_VALIDATING"
_TIMES: dict[int, float] = {}


def _shell() -> Any:
    """Return IPython's shell; None outside of IPython."""
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    return get_ipython()


def run_so_far() -> list[str] | None:
    """Return the cells that were run, as they were typed, by their numbers; None outside of IPython."""
    shell = _shell()
    return None if shell is None else list(shell.history_manager.input_hist_raw)[1:]


def place() -> str | None:
    """The notebook's own file, or the folder it was started in if that is all there is to know; None in grading.

    JupyterLab and VS Code tell the file, others do not.
    """
    shell = _shell()
    if shell is None or "NBGRADER_EXECUTION" in os.environ:
        return None
    return str(shell.user_ns.get("__vsc_ipynb_file__") or os.environ.get(SESSION) or shell.starting_dir)


def below(code: str) -> bool:
    """Put code into a new cell below the one that runs. Return False outside of IPython."""
    if shell := _shell():
        shell.set_next_input(code)
    return shell is not None


def times() -> dict[int, float]:
    """When cells were run, by their numbers, as far as that is known: of those before this was imported, it is not."""
    return _TIMES


def note_times() -> None:
    """Note from now on when each cell is run."""
    if shell := _shell():
        history = shell.history_manager  # since IPython 9.16 the shell's count is one ahead here
        shell.events.register("pre_run_cell", lambda _: _TIMES.update({len(history.input_hist_raw): time.time()}))
        _TIMES[0] = time.time()  # the others were run before


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
