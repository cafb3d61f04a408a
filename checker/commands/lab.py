"""`python -m checker lab`: the notebooks in JupyterLab, as a learner needs it."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

import click

from checker.course import places
from checker.course.status import Misuse

_COURSE = "COURSE"  # in the environment: an instructor's folder
_PATH = "JUPYTER_CONFIG_PATH"  # folders of settings to which Jupyter adds the user's own


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def lab(options: tuple[str, ...]) -> None:
    """Open the notebooks in JupyterLab. OPTIONS are those of JupyterLab itself.

    Where there is no nbgrader course, what nbgrader has for instructors is left out; no settings of yours are changed.
    """
    if find_spec("jupyterlab") is None:
        raise Misuse("JupyterLab is missing: pip install jupyterlab.")
    first = places.spoken_start()
    shown = first if first.exists() else first.parent
    course = places.ROOT / os.environ.get(_COURSE, "course") / "course.toml"
    if not course.exists():
        ours = places.PACKAGE / "notebook" / "lab"
        os.environ[_PATH] = os.pathsep.join(filter(None, [str(ours), os.environ.get(_PATH)]))
    page = f"/lab/tree/{shown.relative_to(places.ROOT).as_posix()}"
    settings = [f"--ServerApp.root_dir={places.ROOT}", f"--LabApp.default_url={page}"]
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *settings, *options])
