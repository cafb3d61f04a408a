"""The command line. Every verb is thin: it finds files, walks the road, and prints."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from checker import catalog, targets
from checker.judge.verdict import ExitStatus, Finding, Status, Verdict
from checker.submission.read import Unreadable, from_file

if TYPE_CHECKING:
    from checker.road import Terms

ROOT = Path(__file__).parents[1]
TRACEBACK_VARIABLE = "CHECKER_TRACEBACK"


class Misuse(Exception):
    """The command was used wrongly: a sentence, and nothing was checked."""


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
@click.option("--key", help="Draw sizes and values from this key, as grading does, instead of practice.")
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
        terms = _terms(key, device, "" if no_compile else targets_)
        if puzzle is None:
            if file is not None:
                raise Misuse("Say which puzzle the file solves: python -m checker check N --file PATH.")
            verdicts = [checked(number, None, terms) for number in catalog.stems()]
        else:
            verdicts = [checked(_number(puzzle), file, terms)]
    except Misuse as misuse:
        verdicts = [
            _without_puzzle(
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
        number = _number(puzzle)
        if redraw is not None:
            result = command.reread(redraw)
        else:
            path = file or _default_file(number)
            verdict = checked(number, path, _terms(None, "interpreter", ""))
            if not verdict.accepted:
                _write([verdict], None, table=False)
                click.echo("\nNothing was timed: first make it right.")
                sys.exit(verdict.exit_status)
            with Console(stderr=True).status("checking") as status:
                result = command.result_of(
                    number,
                    from_file(path),
                    verdict,
                    command.Extent(every),
                    lambda doing: status.update(doing),
                    only_predict=predict,
                )
        console.print(table.report(result))
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
        number = _number(puzzle)
        path = file or _default_file(number)
        verdict = checked(number, path, _terms(None, "interpreter", ""))
        seen = command.traced(from_file(path), verdict) if verdict.runs else None
    except Misuse as misuse:
        click.echo(f"{misuse} See python -m checker trace --help.", err=True)
        sys.exit(ExitStatus.MISUSED)
    if seen is None or seen.empty:
        _write([verdict], None, table=False)
        if seen is not None:
            click.echo("\nNothing was drawn: no launch got so far that there is anything to see.")
        sys.exit(verdict.exit_status)
    command.show(console, seen)
    try:
        written = command.save(seen, into)
    except ImportError as error:
        click.echo(f"\nNothing was drawn: {error.name} is missing. make lab installs it.")
        sys.exit(verdict.exit_status)
    except OSError as error:
        click.echo(f"The picture could not be written to {into}: {error.strerror}.", err=True)
        sys.exit(ExitStatus.MISUSED)
    console.print("\nWritten: " + ", ".join(map(os.path.relpath, written)))
    sys.exit(verdict.exit_status)


@cli.command()
def build() -> None:
    """Rebuild the notebooks and the README's table from the puzzles (for course authors)."""
    from checker.course.build import build as build_files

    try:
        written = build_files()
    except ImportError as error:
        raise click.ClickException(f"{error.name} is missing: make lint installs it.") from error
    for path in written:
        click.echo(os.path.relpath(path))
    click.echo(f"{len(written)} files written.")


_SERIOUSNESS = [
    ExitStatus.ACCEPTED,
    ExitStatus.NOT_STARTED,
    ExitStatus.REFUSED,
    ExitStatus.MISUSED,
    ExitStatus.FAULT,
]


def _terms(key: str | None, device: str, wanted: str) -> Terms:
    """Under which terms to check; `wanted`: targets, none if empty."""
    from checker.box.parent import gpu_missing
    from checker.road import Terms

    if device == "cuda" and (reason := gpu_missing()):
        raise Misuse(f"{reason} Without --device cuda, the interpreter checks as strictly.")
    try:
        return Terms(key=key, device=device, targets=targets.chosen(wanted) if wanted else ())
    except ValueError as error:
        raise Misuse(str(error)) from error


def checked(number: int, file: Path | None, terms: Terms) -> Verdict:
    """The verdict on one puzzle. Never raises but for misuse: a failure of ours is a verdict too."""
    from checker.road import check, unreadable

    path = file if file is not None else _default_file(number)
    try:
        try:
            submission = from_file(path)
        except Unreadable as problem:
            if problem.missing:
                raise Misuse(str(problem)) from problem
            return unreadable(number, str(path), str(problem))
        verdict = check(number, submission, terms)
        if verdict.status is Status.NOT_STARTED and file is None:
            return _with_notebook(verdict, number)
        return verdict
    except Exception as error:
        if isinstance(error, Misuse):
            raise
        return fault(number, error)


def _number(text: str) -> int:
    stems = catalog.stems()
    if not text.isascii() or not text.isdigit() or int(text) not in stems:
        there = ", ".join(map(str, stems))
        raise Misuse(f"There is no puzzle {text!r}. There is: {there}.")
    return int(text)


def _default_file(number: int) -> Path:
    path = ROOT / "puzzles" / f"{catalog.stems()[number]}.py"
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _with_notebook(verdict: Verdict, number: int) -> Verdict:
    """If only the notebook was edited, say what to type to check it."""
    from dataclasses import replace

    from checker.road import started

    notebook = ROOT / "notebooks" / f"{catalog.stems()[number]}.ipynb"
    try:
        edited = started(number, from_file(notebook))
    except Unreadable:
        edited = False
    if not edited:
        return verdict
    shown = os.path.relpath(notebook)
    finding = replace(
        verdict.findings[0],
        explanation="The file is as it was, but your notebook is not. To check the notebook, type:",
        examples=(f"make check PUZZLE={number} FILE={shown}",),
    )
    return replace(verdict, findings=(finding,))


def _without_puzzle(status: Status, id: str, sentence: str, hint: str) -> Verdict:
    return Verdict(None, "", status, (Finding(id, status, sentence, "", hint),))


def fault(number: int, error: Exception) -> Verdict:
    """The verdict when the checker itself has failed."""
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(error)
    sentence = f"{type(error).__name__}: {error}"
    hint = (
        "This is not your kernel's fault, and it costs no points. Check again; if it stays, report it with "
        f"the output of {TRACEBACK_VARIABLE}=1 python -m checker check {number}."
    )
    finding = Finding("checker-fault", Status.CHECKER_FAULT, "The checker itself failed", sentence, hint)
    return Verdict(number, catalog.stems()[number], Status.CHECKER_FAULT, (finding,))


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
            verdict = _without_puzzle(Status.MISUSED, "misused", error.format_message(), "See --help.")
            _write([verdict], path, table=False)
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
