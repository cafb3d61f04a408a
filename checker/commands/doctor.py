"""`python -m checker doctor`: the facts for a person, or as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import NoReturn

import click
from rich.table import Table
from rich.text import Text

from checker.course.status import ExitStatus
from checker.doctor.facts import Diagnosis, diagnosis
from checker.report.screen import Prose, console, say
from checker.report.translated import said


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Write the facts as JSON instead.")
def doctor(as_json: bool) -> NoReturn:
    """Say what this machine can do, what is missing, and how to get it.

    Exit status 0 if submissions can be graded here, in a cage of tier A or B; 1 if not. In a student's copy of the
    course: 0 if kernels can be checked.
    """
    found = diagnosis()
    able = found.can_grade if found.tier else found.can_check
    status = ExitStatus.ACCEPTED if able else ExitStatus.REFUSED
    if as_json:
        click.echo(json.dumps({**asdict(found), "can_grade": found.can_grade}, indent=2))
    else:
        show(found)
    sys.exit(status)


def show(found: Diagnosis) -> None:
    """Print the facts, then what to type about those that are missing, then what grading would have."""
    screen = console()
    screen.print(_table(found))
    for fact in found.facts:
        if not fact.there and fact.remedy:
            screen.print()
            say(screen, f"{fact.name}, {f'for {fact.needed_for}' if fact.needed_for else 'if you like'}:", *fact.remedy)
    screen.print()
    if not found.tier:
        say(screen, "✓ Kernels can be checked here." if found.can_check else "✗ Kernels cannot be checked here.")
    elif found.can_grade:
        whose = {"A": "each grader has a user of its own", "B": "as you, in a user namespace"}[found.tier]
        say(screen, f"✓ Submissions can be graded here: tier {found.tier}, bubblewrap, {whose}.")
        if found.tier == "B":
            say(screen, "  Tier A, in which submissions run as a user of their own, needs root.")
    else:
        say(screen, f"✗ Grading would not start here (tier C): {found.why}")
        typed = "python -m checker check N --file FILE --key TEXT --unsafe-no-sandbox"
        say(screen, "Checking your own work needs none of this. To grade anyway, with a mark on each result:", typed)
        say(screen, 'or, in a course of nbgrader\'s, sandbox = "none" in its course.toml.')


def _table(found: Diagnosis) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for fact in found.facts:
        if fact.there:
            sign = Text("✓", style="green")
        else:
            sign = Text("✗", style="red") if fact.needed_for else Text("○", style="cyan")
        table.add_row(sign, Prose(said(fact.name), style="bold"), Prose(said(fact.sentence)))
    return table
