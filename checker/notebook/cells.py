"""The cells that were run in the notebook that we are in, as text, and which notebook it is."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path

# In the environment: the notebook's file, as JupyterLab knows it, and that nbgrader's Validate runs all cells.
SESSION, VALIDATING = "JPY_SESSION_NAME", "NBGRADER_VALIDATING"


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
