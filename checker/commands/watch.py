"""`python -m checker watch`: a check on every save."""

from __future__ import annotations

import click

from checker.course.ladder import id_of
from checker.course.status import Misuse
from checker.report import screen


@click.command()
@click.argument("puzzle", required=False, metavar="[PUZZLE]")
def watch(puzzle: str | None) -> None:
    """Check a puzzle whenever you save its file or its notebook; without PUZZLE, any of them.

    You see the report on the file that you saved; at a terminal, first that on the file to open. Keys there: n for the
    next puzzle, h for a hint, s to step, r to reset, q to quit. Ctrl-C ends it too, with exit status 0.
    """
    puzzle_id = None if puzzle is None else id_of(puzzle)
    try:
        from checker.learner.watch import Watcher
    except ImportError as error:
        raise Misuse(f"{error.name} is missing here: make watch installs it.") from error
    console = screen.console()
    try:
        Watcher(console, puzzle_id).run()
    except KeyboardInterrupt:
        screen.say(console, "\nNo longer watching.")
