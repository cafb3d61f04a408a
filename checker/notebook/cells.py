"""The cells that were run in the notebook that we are in, as text, and which notebook it is."""

from __future__ import annotations

import os


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
    return str(shell.user_ns.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME") or shell.starting_dir)
