"""The instructor's commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

import click

from checker.course import ladder
from checker.course.ladder import number_of
from checker.course.status import ExitStatus, Misuse


@click.command()
@click.argument("folder", required=False, default="course", metavar="[DIR]", type=click.Path(path_type=Path))
@click.option("--id", "id", help="Name of a new course; flash-puzzles if nothing is said.")
@click.option("--exchange", help="For a new course: the folder through which nbgrader hands out and collects.")
def course(folder: Path, id: str | None, exchange: str | None) -> NoReturn:
    """Make an nbgrader course in DIR (`course`), or bring it up to date; docs/instructors.md says how to go on.

    Submissions, gradebook, key, course.toml and own_config.py are never overwritten.
    """
    try:
        from checker.grading.key import KeyProblem
        from checker.grading.settings import SettingsError
        from checker.nbgrader.assignment import NoAssignment
        from checker.nbgrader.folder import make
    except ImportError as error:
        raise _missing(error) from error
    try:
        settings, made = make(folder, id or "", exchange or "")
    except ImportError as error:
        raise _missing(error) from error
    except (SettingsError, KeyProblem, NoAssignment) as problem:
        raise Misuse(str(problem)) from problem
    except OSError as error:
        raise Misuse(f"The course could not be written: {error.strerror}: {error.filename}.") from error
    for path in made.written:
        click.echo(f"  {os.path.relpath(path)}")
    for remark in made.remarks:
        click.echo(f"! {remark}")
    if not made.written and not made.remarks:
        click.echo("Nothing has changed.")
    here = os.path.relpath(folder)
    click.echo(f"\nThe course {settings.id} is in {here}. For each assignment:")
    click.echo(f"  . .venv/bin/activate && cd {here}")
    click.echo("  nbgrader generate_assignment p1_naive_softmax && nbgrader release_assignment p1_naive_softmax")
    if (folder / "gradebook.db").exists():
        click.echo("For one that is handed out already, after a change of its points:")
        click.echo("  nbgrader generate_assignment p1_naive_softmax --force")
        click.echo("  nbgrader autograde p1_naive_softmax --force")
        click.echo("  nbgrader generate_feedback p1_naive_softmax --force")
        click.echo("  nbgrader release_feedback p1_naive_softmax")
    sys.exit(ExitStatus.ACCEPTED)


@click.command()
@click.argument("places", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option(
    "--course", "folder", default="course", show_default=True, type=click.Path(path_type=Path), help="The course."
)
@click.option("--jobs", type=click.IntRange(min=0), default=0, help="Processes; 0: as many as there are cores.")
@click.option(
    "--cluster",
    default="",
    metavar="local|slurm|ADDRESS",
    help="Have Dask workers grade: --jobs of this machine, at most --jobs Slurm jobs, or those of a scheduler that is "
    "there already, such as tls://host:8786.",
)
@click.option("--csv", type=click.Path(path_type=Path), help="Write a line for each submission to this file.")
@click.option("--json", type=click.Path(path_type=Path), help="Write all that is known to this file.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML to this file.")
def grade(places: tuple[Path, ...], folder: Path, jobs: int, cluster: str, **forms: Path | None) -> NoReturn:
    """Grade what lies in PATHs, folders or files; nothing: what nbgrader has collected in the course.

    If no other file is named, the latter writes verdicts.csv in the course's folder. These are no grades: there are no
    deadlines, overrides and questions in them. `nbgrader export` has all of that.

    What was graded before is not graded again, and a run that was ended goes on where it was. `nbgrader autograde`
    then only takes over the results.

    Exit status: 0 every submission has a result, 2 misused, 3 some could not be judged: they have no score.
    """
    try:
        from checker.grading import command
    except ImportError as error:
        raise _missing(error) from error
    written = {form: path for form, path in forms.items() if path is not None}
    if not places and not written:
        written["csv"] = folder / "verdicts.csv"
    sys.exit(command.grade(places, folder, jobs, written, cluster))


@click.command("student-bundle")
@click.argument("file", required=False, default="flash-puzzles.tar.gz", type=click.Path(path_type=Path))
def student_bundle(file: Path) -> NoReturn:
    """Write the course for students to FILE: no solutions, no tests, nothing of grading, every stub empty."""
    try:
        from checker.publish.bundle import write
    except ImportError as error:
        raise _missing(error) from error
    try:
        names = write(file)
    except ImportError as error:
        raise _missing(error) from error
    except OSError as error:
        raise Misuse(f"{file} could not be written: {error.strerror}.") from error
    click.echo(f"{file}: {len(names)} files.")
    sys.exit(ExitStatus.ACCEPTED)


@click.command()
@click.argument("puzzle", required=False, metavar="[N]")
@click.option(
    "--course", "folder", default="course", show_default=True, type=click.Path(path_type=Path), help="The course."
)
@click.option("--file", default="gradescope.zip", show_default=True, type=click.Path(path_type=Path), help="Where to.")
def gradescope(puzzle: str | None, folder: Path, file: Path) -> NoReturn:
    """Write an autograder for Gradescope: of puzzle N, or of all puzzles if no number is given.

    It grades as `grade` does, with the key and the points of the course, so keep it from others.
    """
    try:
        from checker.grading import settings
        from checker.grading.key import KeyProblem
        from checker.publish.gradescope.archive import write
    except ImportError as error:
        raise _missing(error) from error
    numbers = list(ladder.stems()) if puzzle is None else [number_of(puzzle)]
    try:
        course = settings.read(folder.absolute())
        names = write(file, course, numbers)
    except (settings.SettingsError, KeyProblem) as problem:
        raise Misuse(str(problem)) from problem
    except OSError as error:
        raise Misuse(f"{file} could not be written: {error.strerror}: {error.filename}.") from error
    points = sum(sum(course.points_of(number).values()) for number in numbers)
    click.echo(f"{file}: {len(names)} files, {points} points. It holds the course's key: keep it from others.")
    if not course.caged:
        click.echo("! Submissions will run without a sandbox there, as course.toml says.")
    sys.exit(ExitStatus.ACCEPTED)


@click.command()
@click.argument("places", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option(
    "--course", "folder", default="course", show_default=True, type=click.Path(path_type=Path), help="The course."
)
@click.option("--puzzle", metavar="N", help="Only this puzzle.")
@click.option("--file", default="similar.html", show_default=True, type=click.Path(path_type=Path), help="Where to.")
def similar(places: tuple[Path, ...], folder: Path, puzzle: str | None, file: Path) -> NoReturn:
    """Show which submissions in PATHs share what few others have; nothing: what nbgrader has collected in the course.

    One page, to look at and to judge by yourself: that two kernels are alike says nothing about anybody. Nothing is
    executed.
    """
    try:
        from checker.grading.similar import command
    except ImportError as error:
        raise _missing(error) from error
    number = None if puzzle is None else number_of(puzzle)
    sys.exit(command.similar(places or (folder / "submitted",), number, file))


def _missing(error: ImportError) -> Misuse:
    name = error.name or "a module"
    if name.startswith("checker"):
        return Misuse("This is a student's copy of the course, which has no instructor's part.")
    return Misuse(f"{name} is missing: make lab installs it.")


COMMANDS = (course, grade, student_bundle, gradescope, similar)
