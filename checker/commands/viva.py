"""`python -m checker viva`: questions to each student on the student's own kernel, and their answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from checker.commands.arguments import PATH, of_course, of_puzzle
from checker.commands.problems import as_misuse, writing
from checker.course.clean import one_line
from checker.course.saving import replace_whole
from checker.course.status import ExitStatus, Misuse
from checker.grading import settings
from checker.grading.crew import CrewLost, local
from checker.grading.found import NothingFound, found
from checker.grading.grade import NotReady, not_installed, terms_for_grading
from checker.grading.key import KeyProblem
from checker.grading.viva import page
from checker.grading.viva.questions import MOST, WANTED, Own, Question, accepted, questions
from checker.report.screen import console, say

_NAMED = 20  # students in a sentence
_FOR_ALL = (settings.SettingsError, KeyProblem, NotReady, OSError)


@click.command()
@of_puzzle
@of_course
@click.option("--student", "students", multiple=True, metavar="NAME", help="Only this one; may be given repeatedly.")
@click.option("--file", type=PATH, help="Where to.  [default: viva-PUZZLE.html]")
@click.option("--jobs", type=click.IntRange(min=0), default=0, help="Processes; 0: as many as there are cores.")
def viva(puzzle: str, folder: Path, students: tuple[str, ...], file: Path | None, jobs: int) -> NoReturn:
    """Ask each student three questions on their own accepted kernel: if this line read like that, what would fail?

    Writes a page for print, a sheet for each student, and the answers to a page beside it, …-answers.html. Who is
    accepted is known from the records of `grade`. Each changed kernel is judged as in grading. Equal kernels get the
    same questions.

    Exit status: 0 there are questions, 2 misused, 3 some kernels could not be judged.
    """
    file = file or Path(f"viva-{puzzle}.html")
    screen = console()
    try:
        with as_misuse(*_FOR_ALL, NothingFound):
            course = settings.read(folder.absolute())
            if puzzle not in course.puzzles:
                raise Misuse(f"course.toml does not name puzzle {puzzle}.")
            if missing := not_installed([puzzle]):
                raise Misuse(f"{missing}.")
            with screen.status("reading"):
                class_ = _accepted(screen, puzzle, course, students)
                terms_for_grading(course)  # better to say now what is missing than in every process
            asked, lost = _asked(screen, class_, course, jobs)
    except CrewLost as problem:
        raise Misuse(f"Judging has stopped: {problem}.") from problem
    _say(screen, "No questions, because the judge itself failed on changes of the kernel", lost)
    _say(screen, "No line was found to ask about", [one for one in class_ if asked.get(one.identity) == ()])
    few = [one for one in class_ if 0 < len(asked.get(one.identity, ())) < WANTED]
    _say(screen, f"Fewer than {WANTED} questions", few)
    if shown := [one for one in class_ if asked.get(one.identity)]:
        answers = file.with_name(f"{file.stem}-answers{file.suffix}")
        for path, text in ((file, page.questions(puzzle, shown, asked)), (answers, page.answers(puzzle, shown, asked))):
            with writing(path):
                replace_whole(path, text.encode(), mode=0o600)  # it has names in it
        say(screen, f"Questions for {len(shown)} students, and the answers:", f"{file} {answers}")
    raise SystemExit(ExitStatus.FAULT if lost else ExitStatus.ACCEPTED)


def _accepted(screen: Console, puzzle_id: str, course: settings.Settings, students: Sequence[str]) -> list[Own]:
    """Who is accepted, of those that are wanted; the others are named. Raises Misuse if nobody is."""
    works = [one for one in found((course.folder / "submitted",), course.puzzles) if one.puzzle == puzzle_id]
    if strange := sorted(set(students) - {one.student for one in works}):
        raise Misuse(f"Nothing was handed in for puzzle {puzzle_id} by {_some(strange)}.")
    looked = [(one, accepted(one, course)) for one in works if not students or one.student in students]
    ungraded = [one.student for one, result in looked if result is None]
    refused = [one.student for one, result in looked if result is False]
    class_ = [result for _, result in looked if isinstance(result, Own)]
    _say(screen, "Not accepted", refused)
    _say(screen, f"Not graded yet: type make grade COURSE={course.folder.name} first", ungraded)
    if not class_:
        raise Misuse(f"No kernel of puzzle {puzzle_id} is accepted by the records of {course.folder}.")
    return class_


def _asked(
    screen: Console, class_: Sequence[Own], course: settings.Settings, jobs: int
) -> tuple[Mapping[str, tuple[Question, ...]], list[Own]]:
    """The questions on each kernel, by its identity, and who has none because the judge failed."""
    distinct = list({one.identity: one for one in reversed(class_)}.values())
    say(
        screen, f"{len(class_)} accepted, {len(distinct)} different kernels; at most {MOST} changes of each are judged."
    )
    asked: dict[str, tuple[Question, ...]] = {}
    columns = (TextColumn("judging"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with local(jobs) as crew, Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("judging", total=len(distinct))
        for number, answer in crew.run(questions, [(one, course.folder) for one in distinct]):
            if isinstance(answer, _FOR_ALL):
                raise answer
            if not isinstance(answer, Exception):
                asked[distinct[number].identity] = answer
            bar.advance(task)
    return asked, [one for one in class_ if one.identity not in asked]


def _say(screen: Console, what: str, who: Iterable[Own | str]) -> None:
    names = sorted({one if isinstance(one, str) else one.work.student for one in who})
    if names:
        say(screen, f"{what}: {_some(names)}.")


def _some(names: Sequence[str]) -> str:
    """Names for a sentence, on one line and without orders to a terminal: they may be the students' to choose."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(one_line(one) for one in names[:_NAMED]) + more
