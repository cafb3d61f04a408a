"""`python -m checker gradescope`: an autograder for Gradescope."""

from __future__ import annotations

from pathlib import Path

import click

from checker.commands.arguments import of_course
from checker.course.saving import reason
from checker.course.status import Misuse
from checker.grading import settings
from checker.grading.key import KeyProblem
from checker.publish.gradescope.archive import write


@click.command()
@click.argument("puzzle", required=False, metavar="[PUZZLE]")
@of_course
@click.option("--file", default="gradescope.zip", show_default=True, type=click.Path(path_type=Path), help="Where to.")
def gradescope(puzzle: str | None, folder: Path, file: Path) -> None:
    """Write an autograder for Gradescope: of a puzzle, or of all that course.toml names.

    It grades as `grade` does, with the key and the points of the course, so keep it secret.
    """
    try:
        named = () if puzzle is None else settings.ids_of([puzzle])
        course = settings.read(folder.absolute())
        puzzles = named or course.puzzles
        names = write(file, course, puzzles)
    except (settings.SettingsError, KeyProblem) as problem:
        raise Misuse(str(problem)) from problem
    except OSError as error:
        raise Misuse(f"{file} could not be written: {reason(error)}.") from error
    points = sum(course.possible(puzzle_id) for puzzle_id in puzzles)
    click.echo(f"{file}: {len(names)} files, {points} points. It holds the course's key: keep it secret.")
    if not course.caged:
        click.echo("! Submissions will run without a sandbox there, as course.toml says.")
