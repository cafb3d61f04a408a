"""`python -m checker ideas`: a teacher's page of the mistakes that a report names."""

from __future__ import annotations

import click

from checker.commands.arguments import asked_for
from checker.course.status import Misuse
from checker.publish.ideas import page


@click.command()
@click.argument("puzzle", required=False, metavar="PUZZLE")
def ideas(puzzle: str | None) -> None:
    """Print every mistake of a puzzle that a report names: its words, and kernels that make it.

    It is Markdown: `python -m checker ideas p4 > p4.md`.
    """
    puzzle_id = asked_for(puzzle, "ideas")
    try:
        click.echo(page(puzzle_id))
    except OSError as error:
        raise Misuse(
            f"This copy of the course has no wrong kernels of puzzle {puzzle_id}: they are in tests/wrong/, which only "
            "the full course has."
        ) from error
