"""The learner's verbs of the command line: hint, progress, solution, reset, watch."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

import click

from checker import catalog
from checker.course import ladder, places
from checker.course.ladder import number_of
from checker.course.status import ExitStatus, Misuse


@click.command()
@click.argument("puzzle", required=False, metavar="N")
@click.option("--again", is_flag=True, help="Show the hints that you have seen so far, and no other.")
def hint(puzzle: str | None, again: bool) -> None:
    """Show the next hint for puzzle N, and no more.

    They are those at the end of the lesson. How many you have seen is remembered in progress.txt.
    """
    from rich.text import Text

    from checker.learner import hints
    from checker.report import screen

    number = _asked_for(puzzle, "hint")
    shown = hints.seen_hints(number) if again else hints.next_hint(number)
    _remark(shown.remark)
    console = screen.console()
    for one in shown.hints:
        console.print(Text(f"Puzzle {number}, hint {one.level} of {shown.total}: {one.title}", style="bold"))
        for paragraph in hints.plain(one.text).split("\n"):
            text = Text(paragraph)
            text.highlight_regex("`[^`]+`", "bold")
            console.print(text)
        console.print()
    typed = f"make hint PUZZLE={number}"
    for sentence, command in hints.closing(shown, typed, f"{typed} AGAIN=1"):
        screen.say(console, sentence, command)


@click.command()
def progress() -> None:
    """Show what is solved, how many hints were seen, and which file to open next.

    It is all in progress.txt, which you may read, change or delete.
    """
    from rich.table import Table
    from rich.text import Text

    from checker.learner.hints import hints_of
    from checker.learner.progress import opened
    from checker.report import screen

    found = opened()
    _remark(found.remark)
    table = Table.grid(padding=(0, 1))
    for justify in ("left", "left", "left", "right"):
        table.add_column(justify=justify, overflow="fold")
    table.add_row("", "", "solved", "hints", style="dim")
    for number in ladder.stems():
        entry, total = found.progress.of(number), len(hints_of(number))
        sign = Text("✓", style="green") if entry.solved else Text("○", style="cyan")
        solved = entry.when[:10] or ("yes" if entry.solved else "not yet")
        hints = f"{min(entry.hints, total)} of {total}"
        table.add_row(sign, f"{number} {catalog.load(number).title}", solved, hints)
    console = screen.console()
    console.print(table)
    done = sum(found.progress.of(number).solved for number in ladder.stems())
    console.print(f"\n{done} of {len(ladder.stems())} puzzles solved.")
    ahead = found.progress.next_open()
    if ahead is not None:
        screen.say(console, "Next:", places.shown(places.script(ahead)))


@click.command()
@click.argument("puzzle", required=False, metavar="N")
@click.option("--force", is_flag=True, help="Open it although the puzzle is not solved.")
def solution(puzzle: str | None, force: bool) -> NoReturn:
    """Print the solution of puzzle N, once you have solved it.

    Exit status 1: it is not solved yet.
    """
    from checker.learner.progress import opened
    from checker.report import screen

    number = _asked_for(puzzle, "solution")
    path = places.solution(number)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Misuse(
            f"This copy of the course has no solution of puzzle {number}: ask whoever gave it to you."
        ) from error
    console, found = screen.console(), opened()
    _remark(found.remark)
    if not (force or found.progress.of(number).solved):
        screen.say(
            console, f"The solution of puzzle {number} opens once yours is accepted:", f"make check PUZZLE={number}"
        )
        screen.say(console, "Perhaps a hint is enough:", f"make hint PUZZLE={number}")
        screen.say(console, "To open it all the same:", f"make solution PUZZLE={number} FORCE=1")
        sys.exit(ExitStatus.REFUSED)
    if console.is_terminal:
        from rich.syntax import Syntax

        console.print(Syntax(text, "python", theme="ansi_dark", background_color="default", word_wrap=True))
    else:
        click.echo(text, nl=False)
    sys.exit(ExitStatus.ACCEPTED)


@click.command()
@click.argument("puzzle", required=False, metavar="N")
@click.option("--file", "file", type=click.Path(path_type=Path), help="Only this one of the puzzle's two files.")
def reset(puzzle: str | None, file: Path | None) -> None:
    """Put the stub of puzzle N back into its file and its notebook.

    What they held is kept beside them, as .bak, .bak2 and so on. Only kernels are emptied, and a notebook's
    results are cleared; whatever else you have written stays.
    """
    from checker.learner import stub

    number = _asked_for(puzzle, "reset")
    paths = [path for path in (places.script(number), places.notebook(number)) if path.parent.is_dir()]
    if file is not None:
        if not places.is_own(file, number):
            names = " and ".join(map(places.shown, paths))
            raise Misuse(f"{file} is no file of puzzle {number}, so it has no stub. Those that have one: {names}.")
        paths = [path for path in paths if os.path.realpath(path) == os.path.realpath(file)]
    done = False
    try:
        for plan in [stub.planned(number, path) for path in paths]:
            name = places.shown(plan.path)
            if not plan.needed:
                click.echo(f"{name} was the stub already.")
                continue
            backup = stub.carry_out(plan)
            kept = "" if backup is None else f" What it held is in {places.shown(backup)}."
            click.echo(f"{name} is the stub again.{kept}")
            done = True
    except (stub.NoStub, stub.Changed) as problem:
        raise Misuse(str(problem)) from problem
    except OSError as error:
        raise Misuse(
            f"{error.filename or 'A file'} cannot be read or written: {error.strerror}. Nothing is lost."
        ) from error
    if done:
        click.echo("If it is open in an editor or in JupyterLab, load it again there.")


@click.command()
@click.argument("puzzle", required=False, metavar="[N]")
def watch(puzzle: str | None) -> NoReturn:
    """Check a puzzle whenever you save its file or its notebook; only puzzle N if you say so.

    The report is that of the file that was saved. Ctrl-C ends it, with exit status 0.
    """
    number = None if puzzle is None else number_of(puzzle)
    from checker.report import screen

    try:
        from checker.learner.watch import NothingToWatch, Watcher
    except ImportError as error:
        raise Misuse(f"{error.name} is missing here: make watch installs it.") from error
    console = screen.console()
    try:
        Watcher(console, number).run()
    except NothingToWatch as problem:
        raise Misuse(str(problem)) from problem
    except KeyboardInterrupt:
        screen.say(console, "\nNo longer watching.")
    sys.exit(ExitStatus.ACCEPTED)


COMMANDS = (hint, progress, solution, reset, watch)


def _asked_for(puzzle: str | None, verb: str) -> int:
    if puzzle is None:
        raise Misuse(f"Say which puzzle: make {verb} PUZZLE=1, or python -m checker {verb} 1.")
    return number_of(puzzle)


def _remark(sentence: str) -> None:
    """What there is to say about progress.txt."""
    if sentence:
        click.echo(sentence, err=True)
