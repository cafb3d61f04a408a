"""Arguments that several verbs share: a puzzle, an instructor's course, a learner's file, a results folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from checker.course import targets
from checker.course.ladder import id_of
from checker.course.status import Misuse

PATH = click.Path(path_type=Path)
Option = Callable[[Callable[..., Any]], Callable[..., Any]]


def _asked_for(context: click.Context, parameter: click.Parameter, puzzle: str | None) -> str | None:
    if context.resilient_parsing or context.params.get("piece") is not None:
        # A shell asks how to complete a line, or a piece of the museum says its puzzle.
        return puzzle
    verb = context.command.name
    if puzzle is None:
        raise Misuse(f"Say which puzzle: make {verb} PUZZLE=p1, or python -m checker {verb} p1.")
    return id_of(puzzle)


# The ID of the puzzle that a verb is asked for; without one there is a sentence.
of_puzzle = click.argument("puzzle", required=False, metavar="PUZZLE", callback=_asked_for)
of_course = click.option("--course", "folder", default="course", show_default=True, type=PATH, help="The course.")


no_compile = click.option("--no-compile", is_flag=True, help="Do not compile for any GPU.")
as_json = click.option(
    "--json", "json_path", metavar="PATH|-", help="Also write the verdict as JSON; `-`: to standard output."
)


def of_targets(help: str) -> Option:
    """Return `--targets`: the GPUs that kernels are compiled for, with commas between them."""
    return click.option("--targets", "targets_", default=",".join(targets.DEFAULT), show_default=True, help=help)


def of_file(does: str) -> Option:
    """`--file`: the learner's own is taken if it is left out. `does`: what is done with it."""
    return click.option("--file", "file", type=PATH, help=f"{does} this .py file or .ipynb notebook.")


def into_folder(default: str, what: str) -> Option:
    """`--into`: the folder for what a verb writes."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.option("--into", type=kind, default=Path(default), show_default=True, help=f"Folder for {what}.")
