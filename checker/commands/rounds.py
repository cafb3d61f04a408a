"""`python -m checker handout`, `round` and `extension`: an assignment of an nbgrader course, and its grades."""

from __future__ import annotations

import fcntl
import re
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime, timedelta, timezone, tzinfo
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from zoneinfo import ZoneInfo, available_timezones

import click

from checker.commands.arguments import of_course
from checker.commands.problems import as_misuse
from checker.commands.progress import progress
from checker.course import ladder
from checker.course.clean import LONGEST, one_line
from checker.course.saving import reason
from checker.course.status import ExitStatus, Misuse
from checker.grading import settings
from checker.grading.crew import CrewLost, local
from checker.grading.extension import extend, handed_out
from checker.grading.grade import NotReady, not_installed, terms_for_grading
from checker.grading.key import KeyProblem
from checker.nbgrader.filled import number
from checker.nbgrader.students import is_odd, students
from checker.report.screen import Prose, console, say

if TYPE_CHECKING:
    from checker.nbgrader.round import Round

if find_spec("nbgrader") is None:  # which takes 2 s to import: not before it is wanted, nor for --help
    raise ModuleNotFoundError("nbgrader is missing", name="nbgrader")

LONGEST_NAME = 255  # bytes of a student's, which is a folder's
_DAYS = click.FloatRange(min=0, max=settings.MOST_DAYS, max_open=True)
_of_assignment = click.argument("assignment", required=False, metavar="ASSIGNMENT")
_TIME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:[ T](?P<hour>\d\d:\d\d(?::\d\d)?)(?: ?(?P<offset>[+-]\d\d(?::?\d\d)?|Z)| (?P<zone>[A-Za-z][\w+/-]*))?)?"
)
FORMS = '"2030-05-10 12:00 UTC", "2030-05-10 12:00 Europe/Berlin" or "2030-05-10T12:00+02:00"'


@click.command()
@_of_assignment
@of_course
@click.option("--due", metavar="TIME", help=f"Its deadline, which the notebook says: {FORMS}.")
@as_misuse(settings.SettingsError, KeyProblem, OSError)
def handout(assignment: str | None, folder: Path, due: str | None) -> None:
    """Hand ASSIGNMENT out through the exchange: `nbgrader generate_assignment` and `release_assignment` in one.

    Again, it replaces what is there, after a change of the deadline or the lesson; who has fetched it keeps that.
    """
    from checker.nbgrader.desk import Stopped
    from checker.nbgrader.round import hand_out

    course = settings.read(folder.absolute())
    assignment = _named(assignment, course)
    try:
        wanted = None if due is None else moment(due)
    except ValueError as problem:
        raise Misuse(f"{one_line(due or '')} {problem}. Write one such as {FORMS}.") from problem
    try:
        desk = hand_out(course, assignment, wanted)
    except Stopped as problem:
        raise Misuse(f"{assignment} was not handed out: {one_line(str(problem), LONGEST)}") from problem
    handed_out(course, assignment)
    when = desk.due()
    if when is not None and when < datetime.now(timezone.utc).replace(tzinfo=None):
        say(console(), "This deadline has passed.")
    say(
        console(), f"{assignment} is handed out" + (f", until {when:%Y-%m-%d %H:%M} UTC." if when else "; no deadline.")
    )


@click.command()
@_of_assignment
@click.option("--student", help="Whose, by the name in nbgrader.")
@click.option("--days", type=_DAYS, help="Days beyond the deadline of all.")
@of_course
@as_misuse(settings.SettingsError, OSError)
def extension(assignment: str | None, student: str | None, days: float | None, folder: Path) -> None:
    """Give a student so many days beyond the deadline of ASSIGNMENT, in course.toml; 0 takes them back.

    It counts from the next `round` on.
    """
    course = settings.read(folder.absolute())
    assignment = _named(assignment, course)
    if not student or days is None or days != days:
        raise Misuse("Say who has how many days more: STUDENT=anna DAYS=2.")
    if is_odd(student) or len(student.encode()) > LONGEST_NAME:
        raise Misuse(f"{one_line(student)} cannot be a student's name.")
    known = student in students(course.folder) or (course.folder / "submitted" / student).exists()
    extend(course, assignment, student, days)
    if not known:
        say(console(), f"nbgrader does not know {one_line(student)} yet: look whether that is the name.")
    days_more = f"{number(days)} more day{'s' * (days != 1)}"
    say(console(), f"{one_line(student)} has {days_more} for {assignment}, from the next round on.")


@click.command()
@_of_assignment
@of_course
@click.option("--release", is_flag=True, help="Release the feedback as well.")
@click.option("--jobs", type=click.IntRange(min=0), default=0, help="Processes; 0: as many as there are cores.")
@as_misuse(settings.SettingsError, KeyProblem, NotReady)
def round(assignment: str | None, folder: Path, release: bool, jobs: int) -> NoReturn:
    """Collect ASSIGNMENT, grade it, write feedback and export grades; at any time again, which does only what is new.

    What nbgrader's own commands do one by one, with the same results. Late penalties are reckoned anew for everybody,
    so that a new deadline or extension counts at once. It ends with a list of who needs a human, and why.

    Exit status: 0 done, 2 misused, 3 the checker or the machine failed on somebody, who has no score: try again.
    """
    from checker.nbgrader.desk import Stopped
    from checker.nbgrader.round import make_round

    course, started, screen = settings.read(folder.absolute()), time.monotonic(), console()
    assignment = _named(assignment, course)
    puzzle_id = ladder.ids().get(assignment)
    if puzzle_id is not None:
        if missing := not_installed([puzzle_id]):
            raise Misuse(f"{missing}.")
        terms_for_grading(course)  # better to say now what is missing than in every process
    try:
        with _alone(course.records), progress(screen) as tell, local(jobs) if puzzle_id else nullcontext() as crew:
            made = make_round(course, assignment, crew, tell, release=release)
    except (OSError, CrewLost, Stopped) as problem:
        why = reason(problem) if isinstance(problem, OSError) else str(problem)
        again = "." if isinstance(problem, Stopped) else ": type it again."
        say(screen, f"The round has stopped: {one_line(why, LONGEST)}. Nothing is lost{again}")
        raise SystemExit(ExitStatus.FAULT) from None
    for line in _told(assignment, made, released=release):
        screen.print(Prose(line))  # as it is: a student's name may be a word of ours
    say(screen, f"Grades, in {time.monotonic() - started:.0f} s:", str(folder / "grades.csv"))
    raise SystemExit(ExitStatus.FAULT if made.faults else ExitStatus.ACCEPTED)


@contextmanager
def _alone(records: Path) -> Iterator[None]:
    """One round at a time in a course: two would collect into each other's folders. Raises Misuse, OSError."""
    records.mkdir(exist_ok=True, mode=0o700)
    with (records / "round.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Misuse("Another round is under way in this course. Type it again when that has ended.") from error
        yield


def _named(assignment: str | None, course: settings.Settings) -> str:
    """Return the assignment that is meant, by its name or by a puzzle's ID. Raises Misuse."""
    stems = ladder.stems()
    known = [stems[puzzle_id] for puzzle_id in course.puzzles]
    others = [path.parent.name for path in sorted(course.folder.glob("source/*/*.ipynb"))]
    if assignment is None:
        raise Misuse(f"Say which assignment: ASSIGNMENT={known[0]}.")
    stem = stems.get(assignment, assignment)
    if stem not in known and (stem not in others or stem in stems.values()):
        raise Misuse(f"The course has no assignment {one_line(assignment)}. It has: {', '.join(known)}.")
    return stem


def _told(assignment: str, made: Round, *, released: bool) -> Iterator[str]:
    """Return what came of a round, in lines; last who needs a human."""
    if made.graded:
        mean = statistics.fmean(made.graded.values())
        fresh = f", {len(made.new)} of them now" if made.new else ", none of them now"
        points = f"{mean:.1f} of {number(made.possible)} points on average"
        yield f"{assignment}: {len(made.graded)} graded{fresh}; {points}."
    else:
        yield f"{assignment}: nobody is graded."
    if made.pages:
        but = f" but for {len(made.kept_back)}" if made.kept_back else ""
        yield f"Feedback: {len(made.pages)} new pages, {f'released{but}' if released else 'not released (RELEASE=1)'}."
    if made.kept_back:
        yield f"Feedback not released: {len(made.kept_back)} {_line(', '.join(made.kept_back))}."
    if made.said:
        yield "nbgrader says:"
        yield from (f"  {_line(line)}" for line in made.said)
    for what, some in (
        ("No page of feedback", dict.fromkeys(made.without_page, "")),
        ("Late", {name: f"−{number(points)}" if points else "costs nothing" for name, points in made.late.items()}),
        ("Not handed in", dict.fromkeys(made.absent, "")),
        ("Nothing was run, so 0 points", made.not_run),
        ("The checker or the machine failed: type it again", made.faults),
        ("Graded by hand", made.by_hand),
        ("Graded by hand, and judged anew since: look again", made.again),
        ("Waiting for you", made.waiting),
    ):
        if some:
            yield f"{what}: {len(some)}"
            yield from (f"  {_line(name)}{': ' * bool(why)}{_line(why)}" for name, why in some.items())


def _line(text: str) -> str:
    """On one line and without orders to a terminal: names are their bearers' to choose."""
    return one_line(text, LONGEST)


def moment(text: str) -> datetime:
    """Return the time that a text says, in UTC and without a zone, as nbgrader keeps it. No zone means UTC.

    Raises ValueError with the end of a sentence: zones have names of IANA's, because CST is several.
    """
    if (found := _TIME.fullmatch(text)) is None:
        raise ValueError("is no time that everybody reads alike")
    zone = _zone(found["zone"] or "UTC", found["offset"] or "")
    try:
        when = datetime.fromisoformat(f"{found['day']} {found['hour'] or '00:00'}").replace(tzinfo=zone)
        changing = when.utcoffset() != when.replace(fold=1).utcoffset()
        there = when.astimezone(timezone.utc).replace(tzinfo=None)
    except (ValueError, OverflowError) as error:
        raise ValueError("is no time") from error
    if changing:
        raise ValueError("is in the hour of a clock change, and comes twice or not at all: write its offset")
    return there


def _zone(name: str, offset: str) -> tzinfo:
    if digits := re.sub(r"\D", "", offset):
        hours, minutes = int(digits[:2]), int(digits[2:] or 0)
        if hours < 24 and minutes < 60:
            return timezone((-1 if offset[0] == "-" else 1) * timedelta(hours=hours, minutes=minutes))
        raise ValueError("has no offset that there is")
    if name == "UTC":
        return timezone.utc
    if name not in available_timezones():
        raise ValueError(f"names a zone, {name}, that this machine does not know")
    return ZoneInfo(name)
