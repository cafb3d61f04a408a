"""`python -m checker classroom`: an autograder for Classroom 50."""

from __future__ import annotations

from pathlib import Path

import click

from checker.commands.arguments import of_course
from checker.course import ladder
from checker.course.saving import reason
from checker.course.status import Misuse
from checker.grading import settings
from checker.publish.classroom50.archive import write


@click.command()
@click.argument("puzzle", required=False, metavar="[PUZZLE]")
@of_course
@click.option("--file", default="classroom50.zip", show_default=True, type=click.Path(path_type=Path), help="Where to.")
def classroom(puzzle: str | None, folder: Path, file: Path) -> None:
    """Write an autograder for Classroom 50: of a puzzle, or of all that course.toml names.

    It judges as `check` does, with the points of the course and without its key, in the student's own repository.
    """
    try:
        named = () if puzzle is None else settings.ids_of([puzzle])
        course = settings.read(folder.absolute())
        puzzles = [one for one in named or course.puzzles if not ladder.RUNGS[one].pytorch]
        left_out = [one for one in named or course.puzzles if one not in puzzles]
        if not puzzles:
            raise Misuse(f"Left out: {', '.join(left_out)}. PyTorch is not installed there, so nothing is left.")
        names = write(file, course, puzzles)
    except settings.SettingsError as problem:
        raise Misuse(str(problem)) from problem
    except OSError as error:
        raise Misuse(f"{file} could not be written: {reason(error)}.") from error
    points = sum(course.possible(puzzle_id) for puzzle_id in puzzles)
    click.echo(f"{file}: {len(names)} files, {points} points. It holds no key: what it says is practice.")
    if left_out:
        click.echo(f"Left out: {', '.join(left_out)}. PyTorch is not installed there.")
