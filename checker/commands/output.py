"""Verdicts on the screen, and as JSON where that is asked for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from checker.course.status import ExitStatus
from checker.course.verdict import Verdict
from checker.report import terminal
from checker.report.as_json import SCHEMA, as_dict, dumps
from checker.report.screen import console


def write(verdicts: list[Verdict], json_path: str | None, *, table: bool) -> None:
    """Print the report, and write the JSON if it was asked for."""
    _write_json(verdicts, json_path, table=table)
    screen = console(stderr=json_path == "-")
    if table:
        terminal.show_table(screen, verdicts)
    else:
        terminal.show(screen, verdicts[0])


def _write_json(verdicts: list[Verdict], json_path: str | None, *, table: bool) -> None:
    if json_path is None:
        return
    data: dict[str, Any] = as_dict(verdicts[0])
    if table:
        data = {"schema": SCHEMA, "puzzles": [as_dict(verdict) for verdict in verdicts]}
    if json_path == "-":
        sys.stdout.write(dumps(data))
        return
    try:
        Path(json_path).write_text(dumps(data), encoding="utf-8")
    except OSError as error:
        click.echo(f"The JSON could not be written to {json_path}: {error.strerror}.", err=True)
        sys.exit(ExitStatus.MISUSED)
