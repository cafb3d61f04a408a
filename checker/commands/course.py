"""A course of nbgrader's, made or brought up to date, and an autograder that grades as it does, for Gradescope."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from checker.commands.arguments import PATH, of_course
from checker.commands.problems import as_misuse, writing
from checker.course import ladder
from checker.grading import settings
from checker.grading.key import KeyProblem
from checker.nbgrader.assignment import NoAssignment
from checker.nbgrader.folder import make
from checker.publish.gradescope.archive import write


@click.command()
@click.argument("folder", required=False, default="course", metavar="[DIR]", type=PATH)
@click.option("--id", "id", help="Name of a new course; flash-puzzles if you give none.")
@click.option("--exchange", help="For a new course: the folder through which nbgrader hands out and collects.")
@as_misuse(settings.SettingsError, KeyProblem, NoAssignment)
def course(folder: Path, id: str | None, exchange: str | None) -> None:
    """Make an nbgrader course in DIR (`course`), or bring it up to date; docs/instructors.md has the next steps.

    Submissions, gradebook, key, course.toml and own_config.py are never overwritten.
    """
    with writing("The course"):
        found, made = make(folder, id or "", exchange or "")
    for path in made.written:
        click.echo(f"  {os.path.relpath(path)}")
    for remark in made.remarks:
        click.echo(f"! {remark}")
    if not made.written and not made.remarks:
        click.echo("Nothing has changed.")
    stem, here = ladder.stems()[found.puzzles[0]], os.path.relpath(folder)
    where = "" if here == "course" else f" COURSE={shlex.quote(here)}"
    click.echo(f"\nThe course {found.id} is in {here}. For each assignment:")
    click.echo(f'  make handout ASSIGNMENT={stem}{where} DUE="2030-05-10 12:00 UTC"')
    click.echo(f"  make round ASSIGNMENT={stem}{where} RELEASE=1")


@click.command()
@click.argument("puzzle", required=False, metavar="[PUZZLE]")
@of_course
@click.option("--file", default="gradescope.zip", show_default=True, type=PATH, help="Where to.")
@as_misuse(settings.SettingsError, KeyProblem)
def gradescope(puzzle: str | None, folder: Path, file: Path) -> None:
    """Write an autograder for Gradescope: of a puzzle, or of all that course.toml names.

    It grades as `grade` does, with the key and the points of the course, so keep it secret.
    """
    with writing(file):
        named = () if puzzle is None else settings.ids_of([puzzle])
        found = settings.read(folder.absolute())
        puzzles = named or found.puzzles
        names = write(file, found, puzzles)
    points = sum(found.possible(puzzle_id) for puzzle_id in puzzles)
    click.echo(f"{file}: {len(names)} files, {points} points. It holds the course's key: keep it secret.")
    if not found.caged:
        click.echo("! Submissions will run without a sandbox there, as course.toml says.")
