"""`python -m checker solution`: a puzzle's solution and its walk-through, once the learner has one."""

from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.markdown import Markdown
from rich.syntax import Syntax
from rich.theme import Theme

from checker.commands.arguments import asked_for
from checker.course import places
from checker.course.status import ExitStatus
from checker.learner.solution import Page, page
from checker.report import screen

COLOURS = "ansi_dark"  # those of the terminal itself
QUIET = Theme({"markdown.code": "bold", "markdown.h1": "bold", "markdown.h2": "bold"})  # no box, no background


@click.command(hidden=not (places.ROOT / "solutions").is_dir())
@click.argument("puzzle", required=False, metavar="PUZZLE")
@click.option("--force", is_flag=True, help="Open it although the puzzle is not solved.")
def solution(puzzle: str | None, force: bool) -> None:
    """Print the solution of a puzzle and how it works, once you have solved it.

    Exit status 1: it is not solved yet.
    """
    puzzle_id = asked_for(puzzle, "solution")
    shown = page(puzzle_id, in_notebook=False, force=force)
    if shown.remark:
        click.echo(shown.remark, err=True)
    console = screen.console()
    if shown.open:
        _print(console, shown)
    for sentence, typed in shown.closing:
        screen.say(console, sentence, typed)
    if not shown.open:
        sys.exit(ExitStatus.REFUSED)


def _print(console: Console, shown: Page) -> None:
    """Code and walk-through: for a terminal in its colours, for a pipe as their files are."""
    if not console.is_terminal:
        click.echo(f"{shown.code}\n{shown.walk_through}" if shown.walk_through else shown.code)
        return
    console.print(Syntax(shown.code, "python", theme=COLOURS, background_color="default", word_wrap=True))
    if shown.walk_through:
        with console.use_theme(QUIET):
            console.print(Markdown(shown.walk_through, code_theme=COLOURS, hyperlinks=False))
        console.print()
