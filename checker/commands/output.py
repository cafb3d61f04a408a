"""Output of the verbs: verdicts on the screen or as JSON, and pictures."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import click

from checker.course.places import check_typed
from checker.course.status import ExitStatus
from checker.course.verdict import Verdict
from checker.report import terminal
from checker.report.as_json import SCHEMA, as_dict, dumps
from checker.report.screen import console, echo

INSTALL = "CHECKER_INSTALL_MATPLOTLIB"  # in the environment: the command that installs it, for what is to be drawn


def write(verdicts: list[Verdict], json_path: str | None = None, *, table: bool = False) -> None:
    """Print the report, and write the JSON if it was asked for."""
    if json_path is not None:
        data: dict[str, Any] = as_dict(verdicts[0])
        if table:
            data = {"schema": SCHEMA, "puzzles": [as_dict(verdict) for verdict in verdicts]}
        _write_json(dumps(data), json_path)
    screen = console(stderr=json_path == "-")
    if table:
        screen.print(terminal.overview(verdicts))
        screen.print(f"{check_typed('ID')} tells more about one of them.", style="dim")
    else:
        terminal.show(screen, verdicts[0])


def _write_json(text: str, path: str) -> None:
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        echo(f"The JSON could not be written to {path}: {error.strerror}.", err=True)
        sys.exit(ExitStatus.MISUSED)


def end(verdict: Verdict, sentence: str = "") -> NoReturn:
    """Print the report on a kernel with which a verb does nothing, say so, and exit as `check` does."""
    write([verdict])
    if sentence:
        click.echo()
        echo(sentence)
    sys.exit(verdict.exit_status)


def can_draw() -> bool:
    """Return whether matplotlib is there, after installing it if `make` has said how."""
    if find_spec("matplotlib") is None and (command := os.environ.get(INSTALL)):
        sys.stdout.flush()
        subprocess.run(command, shell=True, check=False)
        importlib.invalidate_caches()
    return find_spec("matplotlib") is not None
