"""`python -m checker progress`: what is solved, and which file comes next."""

from __future__ import annotations

import click
from rich.table import Table
from rich.text import Text

from checker import catalog
from checker.course import ladder, places
from checker.learner.hints import hints_of
from checker.learner.predict import right_at_first
from checker.learner.progress import opened
from checker.report import screen


@click.command()
def progress() -> None:
    """Show what is solved, how many hints were seen, what was predicted, and which file to open next.

    All of this is in progress.txt, which you may read, change or delete.
    """
    found = opened()
    if found.remark:
        click.echo(found.remark, err=True)
    table = Table.grid(padding=(0, 1))
    for justify in ("left", "left", "left", "right", "right"):
        table.add_column(justify=justify, overflow="fold")
    table.add_row("", "", "solved", "hints", "predicted", style="dim")
    for puzzle_id in ladder.stems():
        entry, total = found.progress.of(puzzle_id), len(hints_of(puzzle_id))
        sign = Text("✓", style="green") if entry.solved else Text("○", style="cyan")
        solved = entry.when[:10] or ("yes" if entry.solved else "not yet")
        hints = f"{min(entry.hints, total)} of {total}"
        puzzle = catalog.load(puzzle_id)
        table.add_row(sign, f"{puzzle_id} {puzzle.title}", solved, hints, right_at_first(puzzle, entry))
    console = screen.console()
    console.print(table)
    done = sum(found.progress.of(puzzle_id).solved for puzzle_id in ladder.stems())
    console.print(f"\n{done} of {len(ladder.stems())} puzzles solved.")
    ahead = found.progress.next_open()
    if ahead is not None:
        screen.say(console, "Next:", places.shown(places.script(ahead)))
