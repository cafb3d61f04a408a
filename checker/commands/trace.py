"""`python -m checker trace`: pictures of what a kernel does to memory."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

import click

from checker.commands.drawing import can_draw
from checker.commands.output import write
from checker.commands.terms import terms_of
from checker.course.ladder import id_of
from checker.course.places import script, shown
from checker.course.status import ExitStatus, Misuse
from checker.learner.practice import outcome_of
from checker.report.screen import console
from checker.trace import command
from checker.trace.run import traced


@click.command()
@click.argument("puzzle", metavar="PUZZLE")
@click.option("--file", "file", type=click.Path(path_type=Path), help="Draw this .py file or .ipynb notebook.")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("trace"),
    show_default=True,
    help="Folder for the pictures.",
)
def trace(puzzle: str, file: Path | None, into: Path) -> NoReturn:
    """Draw what a puzzle's kernel does to memory: which tiles in which order, how often, and what comes out wrong.

    The kernel is checked first, unless this very text has been accepted; the exit status is that of `check`. One that
    cannot be run is not drawn.
    """
    screen = console()
    try:
        puzzle_id = id_of(puzzle)
        path = file or Path(shown(script(puzzle_id)))
        outcome = outcome_of(puzzle_id, path, terms_of(None, "interpreter", ""), believing=True)
        verdict, seen = outcome.verdict, traced(outcome)
    except Misuse as misuse:
        click.echo(f"{misuse} See python -m checker trace --help.", err=True)
        sys.exit(ExitStatus.MISUSED)
    if seen.empty:
        write([verdict], None, table=False)
        if verdict.runs:
            click.echo("\nNothing was drawn: no launch got far enough to show anything.")
        sys.exit(verdict.exit_status)
    command.show(screen, seen)
    if not can_draw():
        click.echo("\nNothing was drawn: matplotlib is missing.")
        sys.exit(verdict.exit_status)
    try:
        written = command.save(seen, into)
    except OSError as error:
        click.echo(f"The picture could not be written to {into}: {error.strerror}.", err=True)
        sys.exit(ExitStatus.MISUSED)
    screen.print("\nWritten: " + ", ".join(map(os.path.relpath, written)))
    sys.exit(verdict.exit_status)
