"""`python -m checker compiled`: what the compiler made of a kernel, for a GPU that need not be there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import click

from checker import catalog
from checker.check import Terms
from checker.commands.output import write
from checker.compiled import command
from checker.compiled.listing import STAGES
from checker.course import targets
from checker.course.ladder import id_of
from checker.course.places import script, shown
from checker.course.status import ExitStatus, Misuse
from checker.learner.practice import outcome_of
from checker.report.screen import console
from checker.submission.read import Submission, Unreadable, from_file


@click.command()
@click.argument("puzzle", metavar="PUZZLE")
@click.option("--file", "file", type=click.Path(path_type=Path), help="Compile this .py file or .ipynb notebook.")
@click.option("--before", type=click.Path(path_type=Path), help="Show this file's numbers beside it: an older version.")
@click.option(
    "--targets",
    "wanted",
    default=",".join(targets.DEFAULT),
    show_default=True,
    help=f"GPUs to compile for, separated by commas: {', '.join(targets.KNOWN)}.",
)
@click.option("--size", default="", help="Compile for the timed size that has these words in its name.")
@click.option("--launch", default="", help="Change the launch, such as `Br=128 num_warps=8`.")
@click.option(
    "--stage", type=click.Choice([*STAGES]), help="Print this text of the compiler, with your lines beside it."
)
def compiled(
    puzzle: str, file: Path | None, before: Path | None, wanted: str, size: str, launch: str, stage: str | None
) -> NoReturn:
    """Show what the compiler made of a puzzle's kernels, line by line, and what in them is known to cost time.

    No GPU is needed. A kernel need not be right, but it has to pass the checker's rules: it is compiled, not run.
    """
    puzzle_id = id_of(puzzle)
    of_puzzle = catalog.load(puzzle_id)
    path = file or Path(shown(script(puzzle_id)))
    found = None
    if (submission := _read(path)) is None:
        pass
    elif stage:
        found = command.listed(of_puzzle, submission, wanted, size, launch, stage)
    else:
        with console(stderr=True).status("compiling"):
            found = command.shown(of_puzzle, submission, _older(before), wanted, size, launch)
    if found is None:  # a check says why
        verdict = outcome_of(puzzle_id, path, Terms(targets=())).verdict
        write([verdict], None, table=False)
        sys.exit(verdict.exit_status)
    screen = console()
    for part in found.parts:
        screen.print(part, soft_wrap=bool(stage))
    sys.exit(ExitStatus.ACCEPTED if found.compiles else ExitStatus.REFUSED)


def _read(path: Path) -> Submission | None:
    try:
        return from_file(path)
    except Unreadable:
        return None


def _older(path: Path | None) -> Submission | None:
    """The version to compare with. Raises Misuse."""
    try:
        return None if path is None else from_file(path)
    except Unreadable as problem:
        raise Misuse(str(problem)) from problem
