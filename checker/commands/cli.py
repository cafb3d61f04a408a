"""The command line. Every verb is thin: it finds files, walks the road, and prints."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import traceback
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import click

from checker.commands import instructor, learner
from checker.commands.doctor import doctor
from checker.commands.drawing import can_draw
from checker.course import ladder, targets
from checker.course.ladder import number_of
from checker.course.places import script, shown
from checker.course.status import ExitStatus, Misuse
from checker.course.verdict import Status, Verdict
from checker.learner.practice import TRACEBACK_VARIABLE, checked, outcome_of, terms_of, without_puzzle


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def cli() -> None:
    """Check Triton kernels of the course, without a GPU.

    `make check PUZZLE=1` runs `python -m checker check 1`.
    """


@cli.command()
@click.argument("puzzle", required=False, metavar="[N]")
@click.option("--file", "file", type=click.Path(path_type=Path), help="Check this .py file or .ipynb notebook.")
@click.option(
    "--device",
    type=click.Choice(["interpreter", "cuda", "auto"]),
    default="interpreter",
    show_default=True,
    help="Where the kernels run. auto: on the interpreter, and then on a GPU if there is one.",
)
@click.option("--key", help="Draw sizes and values from this key and run in a cage, as grading does.")
@click.option(
    "--unsafe-no-sandbox", "unsafe", is_flag=True, help="With --key: run without a cage, and mark the result."
)
@click.option(
    "--targets",
    "targets_",
    default=",".join(targets.DEFAULT),
    show_default=True,
    help=f"GPUs that a right kernel must compile for, with commas, or `all`: {', '.join(targets.ALL)}.",
)
@click.option("--no-compile", is_flag=True, help="Do not compile for any GPU.")
@click.option("--json", "json_path", metavar="PATH|-", help="Also write the verdict as JSON; `-`: to standard output.")
def check(
    puzzle: str | None,
    file: Path | None,
    device: str,
    key: str | None,
    unsafe: bool,
    targets_: str,
    no_compile: bool,
    json_path: str | None,
) -> NoReturn:
    """Check puzzle N, or all puzzles if no number is given.

    \b
    Exit status:
      0    accepted
      1    refused: the kernel is wrong, unsafe, or moves too much memory
      2    misused: there is no such puzzle or file, or an option is wrong
      3    the checker itself failed; never the submission's fault
      4    not started: the stub is as it was
      130  interrupted
    Of several puzzles, the worst.
    """
    try:
        under = terms_of(key, device, "" if no_compile else targets_, unsafe=unsafe)
        if puzzle is None:
            if file is not None:
                raise Misuse("Say which puzzle the file solves: python -m checker check N --file PATH.")
            verdicts = [checked(number, None, under) for number in ladder.stems()]
        else:
            verdicts = [checked(number_of(puzzle), file, under)]
    except Misuse as misuse:
        verdicts = [
            without_puzzle(
                Status.MISUSED,
                "misused",
                str(misuse),
                "Type: make check PUZZLE=1, or see python -m checker check --help.",
            )
        ]
    _write(verdicts, json_path, table=puzzle is None and verdicts[0].status is not Status.MISUSED)
    worst = max((v.exit_status for v in verdicts), key=_SERIOUSNESS.index)
    sys.exit(worst)


@cli.command()
@click.argument("puzzle", metavar="N")
@click.option("--file", "file", type=click.Path(path_type=Path), help="Time this .py file or .ipynb notebook.")
@click.option("--every", is_flag=True, help="Every size, and not the usual ones only.")
@click.option("--predict", is_flag=True, help="Predict from the roofline, also if there is a GPU.")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("bench"),
    show_default=True,
    help="Folder for the result as JSON and as a picture.",
)
@click.option("--redraw", type=click.Path(path_type=Path), help="Show this result (JSON) again, and time nothing.")
def bench(puzzle: str, file: Path | None, every: bool, predict: bool, into: Path, redraw: Path | None) -> NoReturn:
    """Time puzzle N's kernel on a GPU beside its peers and the roofline; without a GPU, predict.

    The kernel is checked first. A wrong one is refused, not timed: exit status as for `check`.
    """
    from rich.console import Console

    from checker.bench import command, table

    console = Console(markup=False, highlight=False, emoji=False)
    try:
        number = number_of(puzzle)
        if redraw is not None:
            result = command.reread(redraw)
        else:
            path = file or Path(shown(script(number)))
            outcome = outcome_of(number, path, terms_of(None, "interpreter", ""))
            if not outcome.verdict.accepted:
                _write([outcome.verdict], None, table=False)
                click.echo("\nNothing was timed: first make it right.")
                sys.exit(outcome.verdict.exit_status)
            with Console(stderr=True).status("checking") as status:
                result = command.result_of(
                    outcome,
                    command.Extent(every),
                    lambda doing: status.update(doing),
                    only_predict=predict,
                )
        console.print(table.report(result))
        can_draw()
        written = command.save(result, into)
    except (Misuse, command.NoBenchmark) as misuse:
        click.echo(f"{misuse} See python -m checker bench --help.", err=True)
        sys.exit(ExitStatus.MISUSED)
    except (command.BenchmarkFailed, OSError) as failure:
        click.echo(str(failure), err=True)
        sys.exit(ExitStatus.FAULT)
    console.print("\nWritten: " + ", ".join(map(os.path.relpath, written)))
    sys.exit(ExitStatus.ACCEPTED)


@cli.command()
@click.argument("puzzle", metavar="N")
@click.option("--file", "file", type=click.Path(path_type=Path), help="Draw this .py file or .ipynb notebook.")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("trace"),
    show_default=True,
    help="Folder for the pictures.",
)
def trace(puzzle: str, file: Path | None, into: Path) -> NoReturn:
    """Draw what puzzle N's kernel does to memory: which tiles in which order, how often, and what comes out wrong.

    The kernel is checked first; the exit status is that of `check`. One that cannot be run is not drawn.
    """
    from rich.console import Console

    from checker.trace import command

    console = Console(markup=False, highlight=False, emoji=False)
    try:
        number = number_of(puzzle)
        path = file or Path(shown(script(number)))
        outcome = outcome_of(number, path, terms_of(None, "interpreter", ""))
        verdict, seen = outcome.verdict, command.traced(outcome)
    except Misuse as misuse:
        click.echo(f"{misuse} See python -m checker trace --help.", err=True)
        sys.exit(ExitStatus.MISUSED)
    if seen.empty:
        _write([verdict], None, table=False)
        if verdict.runs:
            click.echo("\nNothing was drawn: no launch got so far that there is anything to see.")
        sys.exit(verdict.exit_status)
    command.show(console, seen)
    if not can_draw():
        click.echo("\nNothing was drawn: matplotlib is missing.")
        sys.exit(verdict.exit_status)
    try:
        written = command.save(seen, into)
    except OSError as error:
        click.echo(f"The picture could not be written to {into}: {error.strerror}.", err=True)
        sys.exit(ExitStatus.MISUSED)
    console.print("\nWritten: " + ", ".join(map(os.path.relpath, written)))
    sys.exit(verdict.exit_status)


@cli.command()
def build() -> None:
    """Rebuild the notebooks and the README's table from the puzzles (for course authors)."""
    from checker.publish.build import build as build_files

    try:
        written = build_files()
    except ImportError as error:
        raise click.ClickException(f"{error.name} is missing: make lint installs it.") from error
    for path in written:
        click.echo(os.path.relpath(path))
    click.echo(f"{len(written)} files written.")


for command in (*learner.COMMANDS, *instructor.COMMANDS, doctor):
    cli.add_command(command)
if find_spec("checker.grading") is None:  # a student's copy, in which these only say so
    for command in (*instructor.COMMANDS, learner.solution):
        command.hidden = True

_SERIOUSNESS = [
    ExitStatus.ACCEPTED,
    ExitStatus.NOT_STARTED,
    ExitStatus.REFUSED,
    ExitStatus.MISUSED,
    ExitStatus.FAULT,
]


def _write(verdicts: list[Verdict], json_path: str | None, *, table: bool) -> None:
    """Print the report, and write the JSON if it was asked for."""
    from rich.console import Console

    from checker.report import terminal

    _write_json(verdicts, json_path, table=table)
    console = Console(stderr=json_path == "-", markup=False, highlight=False, emoji=False)
    if table:
        terminal.show_table(console, verdicts)
    else:
        terminal.show(console, verdicts[0])


def _write_json(verdicts: list[Verdict], json_path: str | None, *, table: bool) -> None:
    if json_path is None:
        return
    from checker.report.as_json import SCHEMA, as_dict, dumps

    data: dict[str, Any] = as_dict(verdicts[0])
    if table:
        data = {"schema": SCHEMA, "puzzles": [as_dict(verdict) for verdict in verdicts]}
    if json_path == "-":
        sys.stdout.write(dumps(data))
        return
    try:
        Path(json_path).write_text(dumps(data), encoding="utf-8")
    except OSError as error:
        click.echo(f"The JSON could not be written to {json_path}: {error.strerror}.", err=True)
        sys.exit(ExitStatus.MISUSED)


def _stop(number: int, frame: object) -> None:
    """Turn SIGTERM and SIGHUP into an orderly end, so that the box is taken down."""
    raise SystemExit(128 + number)


def main() -> NoReturn:
    """Run the command line; the only place that turns what happens into an exit status."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGHUP, _stop)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode gets question marks
    try:
        cli.main(standalone_mode=False)
        sys.exit(ExitStatus.ACCEPTED)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        error.show()
        path = _asked_json(sys.argv)
        if path is not None:
            verdict = without_puzzle(Status.MISUSED, "misused", error.format_message(), "See --help.")
            _write([verdict], path, table=False)
        sys.exit(ExitStatus.MISUSED)
    except Misuse as misuse:
        click.echo(str(misuse), err=True)
        sys.exit(ExitStatus.MISUSED)
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        sys.exit(ExitStatus.INTERRUPTED)
    except Exception as error:  # such as a full disk behind standard output
        if os.environ.get(TRACEBACK_VARIABLE):
            traceback.print_exception(error)
        with contextlib.suppress(Exception):
            click.echo(f"The report could not be made: {type(error).__name__}: {error}", err=True)
        _leave(ExitStatus.FAULT)


def _leave(status: ExitStatus) -> NoReturn:
    """Exit without flushing what cannot be written."""
    os._exit(status)


def _asked_json(arguments: list[str]) -> str | None:
    """Where JSON was asked for in a command line that could not be parsed."""
    for position, word in enumerate(arguments):
        if word == "--json" and position + 1 < len(arguments):
            return arguments[position + 1]
        if word.startswith("--json="):
            return word.partition("=")[2]
    return None
