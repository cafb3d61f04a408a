"""Verbs that show more of a kernel than its check does: how fast it is, what is compiled, what it does to memory.

What a verb needs of its own room is imported when that verb is called.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click
from rich.console import Console
from rich.padding import Padding

from checker import catalog
from checker.check import Conditions
from checker.commands.arguments import PATH, into_folder, of_file, of_puzzle, of_targets
from checker.commands.output import can_draw, end
from checker.commands.problems import as_misuse
from checker.compiled.listing import STAGES
from checker.course import targets
from checker.course.places import shown, spoken_script
from checker.course.status import ExitStatus, Misuse
from checker.learner.practice import outcome_of
from checker.report.screen import Prose, console, echo, say
from checker.report.translated import said
from checker.report.words import typed
from checker.submission.definitions import newest
from checker.submission.read import Unreadable


@click.command()
@of_puzzle
@of_file("Time")
@click.option("--every", is_flag=True, help="Time every size, not only the usual ones.")
@click.option("--predict", is_flag=True, help="Predict from the roofline, even if there is a GPU.")
@into_folder("bench", "the result as JSON and as a picture")
@click.option("--redraw", type=PATH, help="Show this result (JSON) again and time nothing.")
def bench(puzzle: str, file: Path | None, every: bool, predict: bool, into: Path, redraw: Path | None) -> None:
    """Time a puzzle's kernel on a GPU against its peers and the roofline; without a GPU, predict.

    The kernel is checked first. A wrong one is refused, not timed: exit status as for `check`.
    """
    from checker.bench import run, table

    screen = console()
    try:
        with _seeing_help("bench"):
            if redraw is not None:
                result = run.reread(redraw)
            else:
                outcome = outcome_of(puzzle, file, Conditions(targets=()))
                if not outcome.verdict.accepted:
                    end(outcome.verdict, "Nothing was timed: the kernel has to be right first.")
                with console(stderr=True).status("checking") as status:
                    result = run.result_of(outcome, run.Extent(every), status.update, only_predict=predict)
        screen.print(table.report(result))
        can_draw()
        written = run.save(result, into)
    except (run.BenchmarkFailed, OSError) as failure:
        echo(str(failure), err=True)
        sys.exit(ExitStatus.FAULT)
    screen.print()
    screen.print("Written: " + ", ".join(map(os.path.relpath, written)))
    if redraw is None:
        say(screen, "What the compiler made of it, line by line:", typed("compiled", puzzle))


@click.command()
@of_puzzle
@of_file("Compile")
@click.option("--before", type=PATH, help="Show this file's numbers next to yours: an older version.")
@of_targets(f"GPUs to compile for, separated by commas: {', '.join(targets.KNOWN)}.")
@click.option("--size", default="", help="Compile for the timed size that has these words in its name.")
@click.option("--launch", default="", help="Change the launch, such as `Br=128 num_warps=8`.")
@click.option(
    "--stage", type=click.Choice([*STAGES]), help="Print this text of the compiler, with your lines next to it."
)
def compiled(
    puzzle: str, file: Path | None, before: Path | None, targets_: str, size: str, launch: str, stage: str | None
) -> NoReturn:
    """Show what the compiler made of a puzzle's kernels, line by line, and what in them is known to cost time.

    No GPU is needed. A kernel need not be right, but it has to pass the checker's rules: it is compiled, not run.
    """
    from checker.compiled import command

    about = catalog.load(puzzle)
    path = file or Path(shown(spoken_script(puzzle)))
    try:
        submission = newest(path, about.kernels)
    except Unreadable:
        found = None
    else:
        if stage:
            found = command.listed(about, submission, targets_, size, launch, stage)
        else:
            with console(stderr=True).status("compiling"), as_misuse(Unreadable):
                older = None if before is None else newest(before, about.kernels)
                found = command.shown(about, submission, older, targets_, size, launch)
    if found is None:  # a check says why
        end(outcome_of(puzzle, path, Conditions(targets=())).verdict)
    screen = console()
    for part in found.parts:
        screen.print(part, soft_wrap=bool(stage))
    sys.exit(ExitStatus.ACCEPTED if found.compiles else ExitStatus.REFUSED)


@click.command()
@of_puzzle
@of_file("Draw")
@into_folder("trace", "the pictures")
def trace(puzzle: str, file: Path | None, into: Path) -> NoReturn:
    """Draw what a puzzle's kernel does to memory: which tiles in which order, how often, and what comes out wrong.

    The kernel is checked first, unless this very text has been accepted; the exit status is that of `check`. One that
    cannot be run is not drawn.
    """
    from checker.trace import chart, words
    from checker.trace.run import traced

    screen = console()
    with _seeing_help("trace"):
        outcome = outcome_of(puzzle, file, Conditions(targets=()), believing=True)
        verdict, seen = outcome.verdict, traced(outcome)
    if seen.empty:
        end(verdict, "Nothing was drawn: no launch got far enough to show anything." if verdict.runs else "")
    show_indented(screen, words.summary(seen, file))
    try:
        written = chart.save(seen, into)
    except OSError as error:
        raise Misuse(f"The picture could not be written to {into}: {error.strerror}.") from error
    screen.print()
    screen.print("Written: " + ", ".join(map(os.path.relpath, written)))
    sys.exit(verdict.exit_status)


@click.command()
@of_puzzle
@of_file("Step through")
@click.option("--program", type=click.IntRange(0), help="Begin with this program of the grid, counted along x first.")
@click.option("--size", default="", help="The launch that has these words in its name, such as `4 x 61`.")
@into_folder("step", "the page")
def step(puzzle: str, file: Path | None, program: int | None, size: str, into: Path) -> NoReturn:
    """Make a page that steps through a puzzle's kernel, line by line, forwards and backwards.

    The kernel is checked first, unless this very text has been accepted; the exit status is that of `check`. A wrong
    one begins where it first differs from the solution; else at the line that stored what is wrong, or that stopped it.
    """
    from checker.trace import page, stepped

    screen = console()
    with _seeing_help("step"):
        outcome = outcome_of(puzzle, file, Conditions(targets=()), believing=True)
        data = stepped.data_of(outcome, stepped.Asked(program, size))
    if data is None:
        end(outcome.verdict)
    path = into / f"{catalog.load(puzzle).stem}.html"
    try:
        into.mkdir(parents=True, exist_ok=True)
        path.write_text(page.page(data), encoding="utf-8")
    except OSError as error:
        raise Misuse(f"The page could not be written to {into}: {error.strerror}.") from error
    show_indented(screen, stepped.summary(data))
    screen.print()
    screen.print(f"Written: {os.path.relpath(path)}. Open it in a browser.", soft_wrap=True)
    sys.exit(outcome.verdict.exit_status)


def show_indented(screen: Console, lines: Iterable[str]) -> None:
    """Print lines; what is indented stays so when they are broken."""
    for line in lines:
        text = line.lstrip()
        screen.print(Padding(Prose(said(text)), (0, 0, 0, len(line) - len(text)), expand=False) if text else "")


@contextmanager
def _seeing_help(verb: str) -> Iterator[None]:
    """Add to what Misuse of a block says where there is help."""
    try:
        yield
    except Misuse as misuse:
        raise Misuse(f"{misuse} See python -m checker {verb} --help.") from misuse
