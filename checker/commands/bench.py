"""`python -m checker bench`: a kernel's speed on a GPU, or what the roofline predicts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from checker.bench import command, table
from checker.commands.drawing import can_draw
from checker.commands.output import write
from checker.commands.terms import terms_of
from checker.course.ladder import id_of
from checker.course.places import script, shown
from checker.course.status import ExitStatus, Misuse
from checker.learner.practice import outcome_of
from checker.learner.solution import typed
from checker.report.screen import console, say


@click.command()
@click.argument("puzzle", metavar="PUZZLE")
@click.option("--file", "file", type=click.Path(path_type=Path), help="Time this .py file or .ipynb notebook.")
@click.option("--every", is_flag=True, help="Time every size, not only the usual ones.")
@click.option("--predict", is_flag=True, help="Predict from the roofline, even if there is a GPU.")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("bench"),
    show_default=True,
    help="Folder for the result as JSON and as a picture.",
)
@click.option("--redraw", type=click.Path(path_type=Path), help="Show this result (JSON) again and time nothing.")
def bench(puzzle: str, file: Path | None, every: bool, predict: bool, into: Path, redraw: Path | None) -> None:
    """Time a puzzle's kernel on a GPU beside its peers and the roofline; without a GPU, predict.

    The kernel is checked first. A wrong one is refused, not timed: exit status as for `check`.
    """
    screen = console()
    try:
        puzzle_id = id_of(puzzle)
        if redraw is not None:
            result = command.reread(redraw)
        else:
            path = file or Path(shown(script(puzzle_id)))
            outcome = outcome_of(puzzle_id, path, terms_of(None, "interpreter", ""))
            if not outcome.verdict.accepted:
                write([outcome.verdict], None, table=False)
                click.echo("\nNothing was timed: the kernel has to be right first.")
                sys.exit(outcome.verdict.exit_status)
            with console(stderr=True).status("checking") as status:
                result = command.result_of(
                    outcome,
                    command.Extent(every),
                    lambda doing: status.update(doing),
                    only_predict=predict,
                )
        screen.print(table.report(result))
        can_draw()
        written = command.save(result, into)
    except (Misuse, command.NoBenchmark) as misuse:
        click.echo(f"{misuse} See python -m checker bench --help.", err=True)
        sys.exit(ExitStatus.MISUSED)
    except (command.BenchmarkFailed, OSError) as failure:
        click.echo(str(failure), err=True)
        sys.exit(ExitStatus.FAULT)
    screen.print("\nWritten: " + ", ".join(map(os.path.relpath, written)))
    if redraw is None:
        say(screen, "What the compiler made of it, line by line:", typed("compiled", puzzle_id, in_notebook=False))
