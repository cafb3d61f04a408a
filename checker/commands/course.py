"""`python -m checker course`: an nbgrader course, made or brought up to date."""

from __future__ import annotations

import os
from pathlib import Path

import click

from checker.course import ladder
from checker.course.saving import reason
from checker.course.status import Misuse
from checker.grading.key import KeyProblem
from checker.grading.settings import SettingsError
from checker.nbgrader.assignment import NoAssignment
from checker.nbgrader.folder import make


@click.command()
@click.argument("folder", required=False, default="course", metavar="[DIR]", type=click.Path(path_type=Path))
@click.option("--id", "id", help="Name of a new course; flash-puzzles if you give none.")
@click.option("--exchange", help="For a new course: the folder through which nbgrader hands out and collects.")
def course(folder: Path, id: str | None, exchange: str | None) -> None:
    """Make an nbgrader course in DIR (`course`), or bring it up to date; docs/instructors.md has the next steps.

    Submissions, gradebook, key, course.toml and own_config.py are never overwritten.
    """
    try:
        settings, made = make(folder, id or "", exchange or "")
    except (SettingsError, KeyProblem, NoAssignment) as problem:
        raise Misuse(str(problem)) from problem
    except OSError as error:
        raise Misuse(f"The course could not be written: {reason(error)}.") from error
    for path in made.written:
        click.echo(f"  {os.path.relpath(path)}")
    for remark in made.remarks:
        click.echo(f"! {remark}")
    if not made.written and not made.remarks:
        click.echo("Nothing has changed.")
    stem = ladder.stems()[settings.puzzles[0]]
    here = os.path.relpath(folder)
    click.echo(f"\nThe course {settings.id} is in {here}. For each assignment:")
    click.echo(f"  . .venv/bin/activate && cd {here}")
    click.echo(f"  nbgrader generate_assignment {stem} && nbgrader release_assignment {stem}")
    if (folder / "gradebook.db").exists():
        click.echo("For an assignment that is handed out already, after a change of its points:")
        click.echo(f"  nbgrader generate_assignment {stem} --force")
        click.echo(f"  nbgrader autograde {stem} --force")
        click.echo(f"  nbgrader generate_feedback {stem} --force")
        click.echo(f"  nbgrader release_feedback {stem}")
