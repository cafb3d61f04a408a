"""`python -m checker bug`: find the mistake in somebody else's kernel, and fix it."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from checker import catalog
from checker.check import Terms, check
from checker.commands.arguments import asked_for
from checker.course import places
from checker.course.edits import changes
from checker.course.puzzle import Puzzle
from checker.course.saving import replace_whole
from checker.course.status import ExitStatus, Misuse
from checker.course.verdict import Verdict
from checker.learner.bugs import Bug, bugs_of
from checker.learner.progress import Progress, changed, opened
from checker.report import screen, terminal
from checker.submission.read import Unreadable, from_cells, from_file


@click.command(hidden=not (places.ROOT / "solutions").is_dir())
@click.argument("puzzle", required=False, metavar="PUZZLE")
@click.option("--number", type=int, help="Which bug. The first that is not fixed, if it is left out.")
@click.option("--line", type=int, help="The line that you think is to blame.")
@click.option("--fails", metavar="NAMES", help="The properties that you think fail, with spaces between them.")
@click.option("--fix", is_flag=True, help="Check the bug's file, in which you have fixed it.")
def bug(puzzle: str | None, number: int | None, line: int | None, fails: str | None, fix: bool) -> None:
    """Find the one mistake in a kernel, say what it breaks, and fix it in one edit.

    Open once the puzzle is solved. Exit status 1: the puzzle is not solved yet, or the bug is not fixed.
    """
    puzzle_id = asked_for(puzzle, "bug")
    bugs = bugs_of(puzzle_id)
    if not bugs:
        raise Misuse(f"This copy of the course has no bugs of puzzle {puzzle_id}: ask whoever gave it to you.")
    console, entry = screen.console(), opened().progress.of(puzzle_id)
    if not entry.solved:
        screen.say(console, f"Bugs open once puzzle {puzzle_id} is solved.", f"make check PUZZLE={puzzle_id}")
        sys.exit(ExitStatus.REFUSED)
    chosen = number if number is not None else min(entry.bugs + 1, len(bugs))
    if not 1 <= chosen <= len(bugs):
        raise Misuse(f"Puzzle {puzzle_id} has bugs 1 to {len(bugs)}; there is no bug {chosen}.")
    one, found = bugs[chosen - 1], catalog.load(puzzle_id)
    if fix:
        sys.exit(_fixed(console, one, found))
    if line is not None or fails is not None:
        _judged(console, one, found, line, (fails or "").replace(",", " ").split())
    else:
        _shown(console, one, found, all_fixed=entry.bugs >= len(bugs) and number is None)


def _shown(console: Console, one: Bug, puzzle: Puzzle, all_fixed: bool) -> None:
    """Hand out the bug's file, if it is not there, and say what to do."""
    if all_fixed:
        say = f"You have fixed all {one.total} bugs of puzzle {one.puzzle}. One of them again:"
        screen.say(console, say, f"make bug PUZZLE={one.puzzle} NUMBER=1")
        return
    path = one.path()
    try:
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            replace_whole(path, one.text.encode())
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise Misuse(f"{places.shown(path)} cannot be written: {error.strerror}.") from error
    console.print(Text(f"Puzzle {one.puzzle}, bug {one.number} of {one.total}: {places.shown(path)}", style="bold"))
    language = "python" if console.is_terminal else "text"
    console.print(Syntax(text, language, line_numbers=True, background_color="default", word_wrap=True))
    console.print("\nThere is one mistake in it. Which of these properties does it break, and which line is to blame?")
    for p in puzzle.properties:
        console.print(Text.assemble("  ", (f"{p.name:14}", "bold"), f" {p.title}"))
    names = " ".join(p.name for p in puzzle.properties[:2])
    again = _again(one)
    screen.say(console, "\nSay it first, with the names that you choose:", f'{again} LINE=17 FAILS="{names}"')
    screen.say(console, f"Then fix it in {places.shown(path)}, with one edit:", f"{again} FIX=1")


def _judged(console: Console, one: Bug, puzzle: Puzzle, line: int | None, fails: list[str]) -> None:
    """Say whether the guesses are right."""
    known = {p.name: p for p in puzzle.properties}
    if strange := [name for name in fails if name not in known]:
        raise Misuse(f"There is no property {', '.join(strange)}. There are: {', '.join(known)}.")
    verdict = _verdict(one, one.text)
    failing = {p.name for p in verdict.properties if not p.passed}
    for name in fails:
        right = name in failing
        console.print(f"{'✓' if right else '✗'} {name}: {'fails indeed' if right else 'holds all the same'}")
    if fails:
        console.print(Text(f"  What fails: {', '.join(name for name in known if name in failing)}", style="dim"))
    if line is None:
        return
    if line not in one.lines:
        console.print(f"✗ Line {line} is not to blame. Look again.")
        return
    console.print(f"✓ Line {line} is to blame.")
    finding = verdict.findings[0]
    console.print(Text(f"  {finding.title}", style="bold"))
    console.print(Text(f"  {finding.explanation}"))
    screen.say(console, f"Now fix it in {places.shown(one.path())}:", f"{_again(one)} FIX=1")


def _fixed(console: Console, one: Bug, puzzle: Puzzle) -> ExitStatus:
    """Check the learner's fix: accepted, and made in one place."""
    path = one.path()
    try:
        submission = from_file(Path(os.path.relpath(path)))
        places_changed = len(changes(one.text, path.read_text(encoding="utf-8", errors="replace")))
    except (Unreadable, OSError) as problem:
        raise Misuse(f"{problem} Get the file: {_again(one)}") from problem
    if places_changed == 0:
        screen.say(console, "The bug is as it was. Fix it in its file first:", places.shown(path))
        return ExitStatus.REFUSED
    verdict = check(one.puzzle, submission, Terms()).verdict
    if not verdict.accepted:
        held = tuple(replace(finding, withheld=bool(finding.question)) for finding in verdict.findings)
        console.print(terminal.report(replace(verdict, findings=held)), crop=False)
        return verdict.exit_status
    if places_changed > 1:
        console.print(
            f"It is right now, but you changed {places_changed} places, and one edit is enough: which one? "
            f"Delete {places.shown(path)} to begin again."
        )
        return ExitStatus.REFUSED
    console.print(Text(f"✓ fixed: bug {one.number} of {one.total}", style="bold green"))

    def noted(progress: Progress) -> Progress:
        was = progress.of(one.puzzle)
        return progress.having(one.puzzle, replace(was, bugs=max(was.bugs, one.number)))

    try:
        changed(noted)
    except OSError as error:
        console.print(f"That you have fixed it cannot be written down in progress.txt ({error.strerror}).")
    if one.number < one.total:
        screen.say(console, "Next:", f"make bug PUZZLE={one.puzzle}")
    return ExitStatus.ACCEPTED


def _verdict(one: Bug, text: str) -> Verdict:
    return check(one.puzzle, from_cells([("code", text)], one.path().name, numbered=False), Terms(targets=())).verdict


def _again(one: Bug) -> str:
    return f"make bug PUZZLE={one.puzzle} NUMBER={one.number}"
