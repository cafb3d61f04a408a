"""`python -m checker check`: the verdict on one puzzle or on all, as a report and as JSON."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn

import click

from checker.check import Conditions
from checker.check.linking import AnotherFirst
from checker.commands.arguments import as_json, no_compile, of_file, of_targets
from checker.commands.output import write
from checker.commands.problems import as_misuse
from checker.course import targets
from checker.course.ladder import id_of
from checker.course.places import check_typed
from checker.course.status import ExitStatus, Misuse
from checker.course.verdict import Status
from checker.learner.practice import all_checked, checked, misused, twice
from checker.report.screen import echo
from checker.sandbox.host import Host
from checker.sandbox.parent import gpu_missing

_SERIOUSNESS = [
    *(ExitStatus.ACCEPTED, ExitStatus.NOT_STARTED, ExitStatus.REFUSED),
    *(ExitStatus.MISUSED, ExitStatus.FAULT),
]


@click.command()
@click.argument("puzzle", required=False, metavar="[PUZZLE]")
@of_file("Check")
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
@of_targets(f"GPUs that a right kernel must compile for, separated by commas; `all`: {', '.join(targets.ALL)}.")
@no_compile
@click.option("--full", is_flag=True, help="Show all findings and properties, and all that there is to say of them.")
@as_json
def check(
    puzzle: str | None,
    file: Path | None,
    device: str,
    key: str | None,
    unsafe: bool,
    targets_: str,
    no_compile: bool,
    full: bool,
    json_path: str | None,
) -> NoReturn:
    """Check a puzzle, or all of them if none is named.

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
        under = _conditions(key, device, "" if no_compile else targets_, unsafe=unsafe)
        if puzzle is None:
            if file is not None:
                raise Misuse(f"Say which puzzle the file solves: {check_typed('PUZZLE', 'PATH')}.")
            verdicts, left_out = all_checked(under, in_notebook=False)
            if left_out:
                echo(left_out, err=True)
        else:
            verdicts = twice([partial(checked, id_of(puzzle), file, under)])
            verdicts = [replace(one, whole="") for one in verdicts] if full else verdicts
    except AnotherFirst as misuse:
        verdicts = [misused(str(misuse))]
    except Misuse as misuse:
        hint = f"{check_typed('p1')} checks one puzzle, and {check_typed('--help')} says more."
        verdicts = [misused(str(misuse), hint)]
    write(verdicts, json_path, table=puzzle is None and verdicts[0].status is not Status.MISUSED)
    worst = max((v.exit_status for v in verdicts), key=_SERIOUSNESS.index)
    sys.exit(worst)


def _conditions(key: str | None, device: str, wanted: str, *, unsafe: bool) -> Conditions:
    """Under which conditions is checked; `wanted`: targets, none if empty. With a key in a cage, unless `unsafe`."""
    if key is not None and not key.strip():
        raise Misuse("The key is empty. Name one, or leave --key out to practise.")
    if device == "cuda" and key is not None and not unsafe:
        raise Misuse("Grading runs on the interpreter, whose verdict is that of a GPU: leave out --device cuda.")
    if device == "cuda" and (reason := gpu_missing()):
        raise Misuse(f"{reason} Without --device cuda, the interpreter checks as strictly.")
    with as_misuse(ValueError):
        conditions = Conditions(key=key, device=device, targets=targets.chosen(wanted) if wanted else ())
    if key is None or unsafe:
        return conditions
    from checker.sandbox.cage import cage  # needs fcntl

    try:
        return replace(conditions, host=Host(cage.held()))
    except cage.NoCage as reason:
        raise Misuse(
            f"Grading was not started, because no sandbox works here. {reason} python -m checker doctor says "
            "what to do about it. Or add --unsafe-no-sandbox: then a submission can read everything that you can."
        ) from reason
