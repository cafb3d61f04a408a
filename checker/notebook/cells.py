"""The cells that were run in the notebook that we are in, as text, and which notebook it is."""

from __future__ import annotations

import os
import time
from typing import Any

from checker.answers.saved import SESSION

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
