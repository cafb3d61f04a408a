"""Pages about a class: what it did, questions to each student on their own kernel, and submissions that are alike."""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import click
from rich.console import Console

from checker.commands.arguments import PATH, of_course, of_puzzle
from checker.commands.problems import as_misuse, writing
from checker.commands.progress import progress
from checker.course import ladder
from checker.course.clean import one_line
from checker.course.saving import replace_whole, replacing
from checker.course.status import ExitStatus, Misuse
from checker.grading import settings
from checker.grading.chosen import Unresolved, chosen
from checker.grading.crew import CrewLost, WorkerLost, local
from checker.grading.found import NothingFound, Work, collected, found
from checker.grading.grade import NotReady, not_installed, terms_for_grading
from checker.grading.key import KeyProblem
from checker.grading.overview import page, student
from checker.grading.overview.seen import Seen, seen
from checker.grading.overview.tally import tallies, to_csv
from checker.grading.settings import Settings, SettingsError
from checker.grading.similar import pairs
from checker.grading.similar.page import html
from checker.grading.viva import page as sheets
from checker.grading.viva.questions import MOST, WANTED, Own, Question, accepted, questions
from checker.nbgrader.students import students
from checker.report.screen import console, say
from checker.submission.read import Submission

_NAMED = 20  # students in a sentence
_FOR_ALL = (SettingsError, KeyProblem, NotReady, OSError)


@click.command()
@of_course
@click.option("--student", "one", metavar="NAME", help="One student's attempts instead, each next to the one before.")
@click.option("--names", is_flag=True, help="Name those who have not begun, and whose work has no verdict.")
@click.option("--file", type=PATH, help="Where to. [default: class.html in the course's folder]")
@as_misuse(SettingsError, KeyProblem, NothingFound, NotReady)
def class_report(folder: Path, one: str | None, names: bool, file: Path | None) -> None:
    """Show what the class did: points, properties, the commonest findings with two kernels each.

    What counts is what nbgrader has collected, and `grade` or `nbgrader autograde` has judged. With the page comes
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
    works = [work for work in collected(course.folder, course.puzzles) if work.puzzle in course.puzzles]
    handed_in = {work.puzzle for work in works}
    released = {one for one, stem in ladder.stems().items() if (course.folder / "release" / stem).is_dir()}
    waiting_for = [one for one in course.puzzles if one not in handed_in | released]
    course = replace(course, puzzles=tuple(one for one in course.puzzles if one not in waiting_for))
    every = tallies(works, _seen(works, course.folder), course, students(course.folder))
    replace_whole(file, page.html(every.values(), course, names).encode(), mode=0o600)
    with replacing(file.with_suffix(".csv")) as table:
        to_csv(every.values(), table)
    screen = console()
    if waiting := sum(tally.not_judged for tally in every.values()):
        say(screen, f"Not judged yet: {waiting}. To judge them:", f"make grade COURSE={course.folder}")
    say(screen, f"{len(works)} submissions:", str(file))
    if waiting_for:
        say(screen, f"Not handed out yet, and left out: {', '.join(waiting_for)}.")


def _seen(works: Sequence[Work], folder: Path) -> list[Seen]:
    """Return what is known of each, read on all cores. Raises KeyProblem."""
    every = [Seen()] * len(works)
    with progress(console()) as tell, local(renewed=len(works)) as crew:  # who only reads gathers little
        for done, (number, answer) in enumerate(crew.run(seen, [(work, folder) for work in works]), start=1):
            if isinstance(answer, KeyProblem | SettingsError):
                raise answer
            lost = "the process that read it ended" if isinstance(answer, WorkerLost) else str(answer)
            every[number] = answer if isinstance(answer, Seen) else Seen(problem=lost)
            tell("reading", done, len(works))
    return every


def _of_student(course: Settings, name: str, file: Path) -> None:
    from checker.nbgrader.attempts import attempts

    with console().status("reading"):
        made = list(attempts(course, name))
    if not made:
        raise Misuse(f"{name!r} has handed in nothing: neither in {course.folder / 'submitted'} nor in the exchange.")
    replace_whole(file, student.html(name, made).encode(), mode=0o600)
    say(console(), f"{len(made)} attempts:", str(file))


@click.command()
@of_puzzle
@of_course
@click.option("--student", "students", multiple=True, metavar="NAME", help="Only this one; may be given repeatedly.")
@click.option(
    "--file",
    type=PATH,
    help="Where to. [default: in the course's folder, viva-PUZZLE.html or, for one student, viva-PUZZLE-NAME.html]",
)
@click.option("--jobs", type=click.IntRange(min=0), default=0, help="Processes; 0: as many as there are cores.")
def viva(puzzle: str, folder: Path, students: tuple[str, ...], file: Path | None, jobs: int) -> NoReturn:
    """Ask each student three questions on their own accepted kernel: if this line read like that, what would fail?

    Writes a page for print, a sheet for each student, and the answers to a page of their own, …-answers.html. Who is
    accepted is known from the records of `grade`. Each changed kernel is judged as in grading. Equal kernels get the
    same questions.

    Exit status: 0 there are questions, 2 misused, 3 some kernels could not be judged.
    """
    file = file or folder / f"{'-'.join(('viva', puzzle, *students[:1]))}.html"
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
        pages = {file: sheets.questions(puzzle, shown, asked), answers: sheets.answers(puzzle, shown, asked)}
        for path, text in pages.items():
            with writing(path):
                replace_whole(path, text.encode(), mode=0o600)  # it has names in it
        say(screen, f"Questions for {len(shown)} students, and the answers:", f"{file} {answers}")
    raise SystemExit(ExitStatus.FAULT if lost else ExitStatus.ACCEPTED)


def _accepted(screen: Console, puzzle_id: str, course: Settings, students: Sequence[str]) -> list[Own]:
    """Return who is accepted, of those that are wanted; the others are named. Raises Misuse if nobody is."""
    works = [one for one in collected(course.folder, course.puzzles) if one.puzzle == puzzle_id]
    if strange := sorted(set(students) - {one.student for one in works}):
        raise Misuse(f"Nothing was handed in for puzzle {puzzle_id} by {_some(strange)}.")
    looked = [(one, accepted(one, course)) for one in works if not students or one.student in students]
    ungraded = [one.student for one, result in looked if result is None]
    refused = [one.student for one, result in looked if result is False]
    class_ = [result for _, result in looked if isinstance(result, Own)]
    _say(screen, "Not accepted", refused)
    _say(screen, f"Without a verdict, so they wait for you or for make grade COURSE={course.folder.name}", ungraded)
    if not class_:
        raise Misuse(f"No kernel of puzzle {puzzle_id} is accepted by the records of {course.folder}.")
    return class_


def _asked(
    screen: Console, class_: Sequence[Own], course: Settings, jobs: int
) -> tuple[Mapping[str, tuple[Question, ...]], list[Own]]:
    """Return the questions on each kernel, by its identity, and who has none because the judge failed."""
    distinct = list({one.identity: one for one in reversed(class_)}.values())
    say(
        screen, f"{len(class_)} accepted, {len(distinct)} different kernels; at most {MOST} changes of each are judged."
    )
    asked: dict[str, tuple[Question, ...]] = {}
    with local(jobs) as crew, progress(screen) as tell:
        answers = crew.run(questions, [(one, course.folder) for one in distinct])
        for done, (number, answer) in enumerate(answers, start=1):
            if isinstance(answer, _FOR_ALL):
                raise answer
            if not isinstance(answer, Exception):
                asked[distinct[number].identity] = answer
            tell("judging", done, len(distinct))
    return asked, [one for one in class_ if one.identity not in asked]


def _say(screen: Console, what: str, who: Iterable[Own | str]) -> None:
    names = sorted({one if isinstance(one, str) else one.work.student for one in who})
    if names:
        say(screen, f"{what}: {_some(names)}.")


def _some(names: Sequence[str]) -> str:
    """Names for a sentence, on one line and without orders to a terminal: they may be the students' to choose."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(one_line(one) for one in names[:_NAMED]) + more


@click.command()
@click.argument("places", nargs=-1, metavar="[PATH]...", type=PATH)
@of_course
@click.option("--puzzle", metavar="PUZZLE", help="Only this puzzle.")
@click.option("--against", type=PATH, help="A folder of an earlier class, which is compared with this one as well.")
@click.option("--file", default="similar.html", show_default=True, type=PATH, help="Where to.")
def similar(places: tuple[Path, ...], folder: Path, puzzle: str | None, against: Path | None, file: Path) -> None:
    """Show which submissions share passages that few others have: in PATHs, or in what nbgrader has collected.

    It makes one page, for you to read and to judge: that two kernels are alike proves nothing about anybody. Nothing
    is executed.
    """
    puzzle_id = None if puzzle is None else ladder.id_of(puzzle)
    screen = console()
    with as_misuse(NothingFound):
        works = [work for work in (found(places) if places else collected(folder)) if puzzle_id in (None, work.puzzle)]
        others = [] if against is None else found((against,))
    with screen.status("reading"):
        handed, earlier = _read(works), _read(others, f"{against}: ")
    counted, classes = sum(map(len, handed.values())), []
    for one, submissions in sorted(handed.items(), key=lambda one: ladder.place_of(one[0])):
        with screen.status(f"comparing puzzle {one}"):
            classes.append(pairs.found(one, submissions, earlier=earlier.get(one, [])))
    page = html(classes, counted, len(works) - counted)
    with writing(file):
        replace_whole(file, page.encode(), mode=0o600)  # it has names in it
    say(screen, f"Submissions compared: {counted}. Pairs to look at ({sum(one.total for one in classes)}):", str(file))


def _read(works: Iterable[Work], before: str = "") -> dict[str, list[tuple[str, Submission]]]:
    """(student, submission) of what can be read, by puzzle; `before`: what stands before each name."""
    handed: dict[str, list[tuple[str, Submission]]] = defaultdict(list)
    for work in works:
        with contextlib.suppress(Unresolved):
            handed[work.puzzle].append((before + work.student, chosen(work)[0].submission))
    return handed
