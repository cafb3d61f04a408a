"""`python -m checker class-report`: what a class did, on one page; or one student's attempts, for office hours."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import click
from rich.progress import Progress

from checker.commands.arguments import PATH, of_course
from checker.commands.problems import as_misuse
from checker.course.saving import replace_whole, replacing
from checker.course.status import Misuse
from checker.grading import settings
from checker.grading.crew import WorkerLost, local
from checker.grading.found import NothingFound, Work, found
from checker.grading.grade import NotReady
from checker.grading.key import KeyProblem
from checker.grading.overview import page, student
from checker.grading.overview.seen import Seen, seen
from checker.grading.overview.tally import tallies, to_csv
from checker.grading.settings import Settings, SettingsError
from checker.report.screen import console, say


@click.command()
@of_course
@click.option("--student", "one", metavar="NAME", help="One student's attempts instead, each beside the one before.")
@click.option("--names", is_flag=True, help="Name those who have not begun, and whose work has no verdict.")
@click.option("--file", type=PATH, help="Where to. [default: class.html in the course's folder]")
@as_misuse(SettingsError, KeyProblem, NothingFound, NotReady)
def class_report(folder: Path, one: str | None, names: bool, file: Path | None) -> None:
    """Show what the class did: points, properties, the commonest findings with two kernels each.

    What counts is what nbgrader has collected, and `grade` or `nbgrader autograde` has judged. Beside the page there is
    the same as CSV. With --student, all attempts of one student, also those that are still in the exchange; what nobody
    has judged is judged then.
    """
    folder = folder.absolute()
    try:
        course = settings.read(folder)
        if one is not None:
            _of_student(course, one, file or folder / f"student-{re.sub(r'[^A-Za-z0-9_.-]+', '-', one)}.html")
        else:
            _of_class(course, names, file or folder / "class.html")
    except OSError as error:
        raise Misuse(f"{error.filename} could not be written: {error.strerror}.") from error


def _of_class(course: Settings, names: bool, file: Path) -> None:
    works = [work for work in found([course.folder / "submitted"], course.puzzles) if work.puzzle in course.puzzles]
    every = tallies(works, _seen(works, course.folder), course, _known(course.folder))
    replace_whole(file, page.html(every.values(), course, names).encode(), mode=0o600)
    with replacing(file.with_suffix(".csv")) as table:
        to_csv(every.values(), table)
    screen = console()
    if waiting := sum(tally.not_judged for tally in every.values()):
        say(screen, f"Not judged yet: {waiting}. To judge them:", f"make grade COURSE={course.folder}")
    say(screen, f"{len(works)} submissions:", str(file))


def _seen(works: Sequence[Work], folder: Path) -> list[Seen]:
    """What is known of each, read on all cores. Raises KeyProblem."""
    every = [Seen()] * len(works)
    with Progress(transient=True) as bar, local() as crew:
        task = bar.add_task("reading", total=len(works))
        for number, answer in crew.run(seen, [(work, folder) for work in works]):
            if isinstance(answer, KeyProblem | SettingsError):
                raise answer
            lost = "the process that read it ended" if isinstance(answer, WorkerLost) else str(answer)
            every[number] = answer if isinstance(answer, Seen) else Seen(problem=lost)
            bar.advance(task)
    return every


def _known(folder: Path) -> set[str]:
    """The students in nbgrader's gradebook; nobody if there is none yet."""
    path = folder / "gradebook.db"
    if not path.exists():
        return set()
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as book:
            return {str(id) for (id,) in book.execute("SELECT id FROM student")}
    except sqlite3.Error as error:
        raise Misuse(f"{path} cannot be read: {error}.") from error


def _of_student(course: Settings, name: str, file: Path) -> None:
    from checker.nbgrader.attempts import attempts

    with console().status("reading"):
        made = list(attempts(course, name))
    if not made:
        raise Misuse(f"{name!r} has handed in nothing: neither in {course.folder / 'submitted'} nor in the exchange.")
    replace_whole(file, student.html(name, made).encode(), mode=0o600)
    say(console(), f"{len(made)} attempts:", str(file))
