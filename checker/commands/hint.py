"""`python -m checker hint`: one hint more, and no other."""

from __future__ import annotations

import click
from rich.text import Text

from checker.commands.arguments import asked_for
from checker.learner import hints
from checker.learner.practice import checked, held_back
from checker.learner.progress import opened
from checker.report import screen, terminal


@click.command()
@click.argument("puzzle", required=False, metavar="PUZZLE")
@click.option("--again", is_flag=True, help="Show the hints that you have seen so far, and no other.")
def hint(puzzle: str | None, again: bool) -> None:
    """Show the next hint for a puzzle, and no more.

    If a report has asked you to find something out, the hint is about that. Then come those at the end of the lesson.
    What you have seen is remembered in progress.txt.
    """
    puzzle_id = asked_for(puzzle, "hint")
    found = opened()
    if found.remark:
        click.echo(found.remark, err=True)
    asked = found.progress.of(puzzle_id).asked
    if asked and not again and (finding := held_back(asked, checked(puzzle_id, None, None))):
        screen.console().print(terminal.told(finding))
        return
    shown = hints.seen_hints(puzzle_id) if again else hints.next_hint(puzzle_id)
    if shown.remark:
        click.echo(shown.remark, err=True)
    console = screen.console()
    for one in shown.hints:
        console.print(Text(f"Puzzle {puzzle_id}, hint {one.level} of {shown.total}: {one.title}", style="bold"))
        for paragraph in hints.plain(one.text).split("\n"):
            text = Text(paragraph)
            text.highlight_regex("`[^`]+`", "bold")
            console.print(text)
        console.print()
    typed = f"make hint PUZZLE={puzzle_id}"
    for sentence, command in hints.closing(shown, typed, f"{typed} AGAIN=1", f"make solution PUZZLE={puzzle_id}"):
        screen.say(console, sentence, command)
