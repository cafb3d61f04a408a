"""`python -m checker solution`: a puzzle's solution, once the learner has one."""

from __future__ import annotations

import sys

import click
from rich.syntax import Syntax

from checker.commands.arguments import asked_for
from checker.course import places
from checker.course.status import ExitStatus, Misuse
from checker.learner.progress import opened
from checker.report import screen


@click.command(hidden=not (places.ROOT / "solutions").is_dir())
@click.argument("puzzle", required=False, metavar="PUZZLE")
@click.option("--force", is_flag=True, help="Open it even if the puzzle is not solved.")
def solution(puzzle: str | None, force: bool) -> None:
    """Print the solution of a puzzle, once you have solved it.

    Exit status 1: it is not solved yet.
    """
    puzzle_id = asked_for(puzzle, "solution")
    path = places.solution(puzzle_id)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Misuse(
            f"This copy of the course has no solution of puzzle {puzzle_id}: ask whoever gave it to you."
        ) from error
    console, found = screen.console(), opened()
    if found.remark:
        click.echo(found.remark, err=True)
    if not (force or found.progress.of(puzzle_id).solved):
        screen.say(
            console,
            f"The solution of puzzle {puzzle_id} opens once yours is accepted:",
            f"make check PUZZLE={puzzle_id}",
        )
        screen.say(console, "Perhaps a hint is enough:", f"make hint PUZZLE={puzzle_id}")
        screen.say(console, "To open it anyway:", f"make solution PUZZLE={puzzle_id} FORCE=1")
        sys.exit(ExitStatus.REFUSED)
    if console.is_terminal:
        console.print(Syntax(text, "python", theme="ansi_dark", background_color="default", word_wrap=True))
    else:
        click.echo(text, nl=False)
