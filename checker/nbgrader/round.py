"""A round: what an instructor does with an assignment after a deadline, and again whenever something has changed.

Whoever has handed in anew is graded, and so is everybody whose points or report have become others; late penalties are
reckoned anew for all. Only whose page would say something else gets new feedback. All of this is nbgrader's own state
but for one file, which says by student what feedback was made of: without it, all is made anew.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from nbgrader.api import MissingEntry

from checker import catalog
from checker.course.language import ENGLISH, spoken
from checker.course.saving import replace_whole
from checker.course.verdict import Status
from checker.grading import batch, key
from checker.grading.crew import Crew
from checker.grading.found import NothingFound, by_macos, collected, of_assignment
from checker.grading.settings import NAME, Settings
from checker.nbgrader.assignment import check_id
from checker.nbgrader.attempts import several
from checker.nbgrader.collect import NOT_A_SUBMISSION
from checker.nbgrader.desk import Desk, Stopped
from checker.nbgrader.feedback import below
from checker.nbgrader.filled import GRADED, NEEDS_GRADING, NOT_HANDED_IN
from checker.nbgrader.folder import make
from checker.nbgrader.gradebook import judged_points

Tell = Callable[[str, int, int], None]  # what is done, how many of how many
NOT_GRADED = "nbgrader could not grade it"
BY_HAND = "Something in it is graded by hand"


@dataclass
class Round:
    """The results of a round, by student."""

    graded: dict[str, float] = field(default_factory=dict)  # score
    possible: float = 0.0
    new: list[str] = field(default_factory=list)  # graded in this round
    waiting: dict[str, str] = field(default_factory=dict)  # for a human, and why
    absent: list[str] = field(default_factory=list)
    not_run: dict[str, str] = field(default_factory=dict)  # and why
    late: dict[str, float] = field(default_factory=dict)  # the points that this costs
    by_hand: dict[str, str] = field(default_factory=dict)  # in the judge's place: the points, and the judge's
    again: dict[str, str] = field(default_factory=dict)  # graded by hand, and by the judge since: what both say
    faults: dict[str, str] = field(default_factory=dict)  # of the checker, or of the machine: another round may do
    pages: list[str] = field(default_factory=list)  # whose feedback was written in this round
    kept_back: list[str] = field(default_factory=list)  # whose feedback could not be released
    without_page: list[str] = field(default_factory=list)  # whose feedback could not be written
    said: list[str] = field(default_factory=list)  # by nbgrader


def hand_out(course: Settings, assignment: str, due: datetime | None) -> Desk:
    """Make the students' notebook, with its deadline in UTC, and release it. Raises Stopped."""
    make(course.folder)
    desk = Desk(course, assignment)
    desk.due(due)
    desk.generate()
    desk.release()
    return desk


def make_round(course: Settings, assignment: str, crew: Crew | None, tell: Tell, *, release: bool) -> Round:
    """Collect, grade, write feedback and, if asked, release it, and export. Raises Stopped, and what grading raises.

    `crew`: who judges; None for an assignment that is no puzzle.
    """
    desk, made = Desk(course, assignment), Round()
    before = _Known.read(desk)
    if crew is not None and (works := several(course, assignment)):  # of which the best is collected
        deque(batch.grade(works, course.folder, crew, tell), maxlen=0)
    desk.collect()
    if course.accommodations and desk.due() and assignment not in course.handed_out:
        desk.said.append(f"{NAME} gives more time, but not from when on: write a time below [handed_out]")
    strangers = {line for line in desk.said if line.endswith(NOT_A_SUBMISSION)}
    desk.said[:] = [line for line in desk.said if line not in before.told]  # each of these once: they stay there
    before.told = sorted(strangers)
    points = _points_known(desk)
    if points is None and not desk.handed_in():
        raise Stopped(f"{assignment} was not handed out, and nobody has handed it in: make handout does that first")
    if desk.puzzle is not None and points != course.possible(desk.puzzle):
        make(course.folder)
        desk.generate()
    why = dict(_judged(desk, crew, tell, made)) if crew is not None else {}
    _autograde(desk, before, tell, made)
    _reckon_penalties(desk, made)
    _sum_up(desk, why, made)  # the grades first: pages may fail for want of room
    _write_feedback(desk, before, tell, made)
    if release:
        made.kept_back = desk.release_feedback()
    return made


def _points_known(desk: Desk) -> float | None:
    """Return the points that the gradebook knows for what is judged; None if it does not know the assignment."""
    with desk.gradebook() as book:
        try:
            cells = book.find_notebook(desk.assignment, desk.assignment).grade_cells
        except MissingEntry:
            return None
        check = "" if desk.puzzle is None else check_id(catalog.load(desk.puzzle))
        return float(next((cell.max_score for cell in cells if cell.name == check), 0.0))


def _judged(desk: Desk, crew: Crew, tell: Tell, made: Round) -> Iterator[tuple[str, str]]:
    """Have all judged that nobody has judged; (student, why there is no score)."""
    try:
        every = collected(desk.course.folder, desk.course.puzzles)
    except NothingFound:
        return
    works = [work for work in every if work.puzzle == desk.puzzle]
    for outcome in batch.grade(works, desk.course.folder, crew, tell):
        if outcome.fault:
            yield outcome.work.student, outcome.fault
            if not outcome.unresolved:
                made.faults[outcome.work.student] = outcome.fault
        elif (verdict := batch.verdict_of(outcome, desk.course)) and verdict.status in (
            Status.INVALID,
            Status.FORBIDDEN,
        ):
            made.not_run[outcome.work.student] = verdict.findings[0].title


@dataclass
class _Known:
    """The state after an earlier round, by student."""

    graded: dict[str, str] = field(default_factory=dict)  # the conditions: points, and what students are told
    shown: dict[str, str] = field(default_factory=dict)  # what stands on the page of feedback
    told: list[str] = field(default_factory=list)  # of what is in the exchange and is no submission

    @staticmethod
    def file(desk: Desk) -> Path:
        """Return where it is kept."""
        return desk.course.records / f"round-{desk.assignment}.json"

    @classmethod
    def read(cls, desk: Desk) -> _Known:
        """Return what was kept; nothing if there is nothing that can be read."""
        try:
            return msgspec.json.decode(cls.file(desk).read_bytes(), type=cls)
        except (OSError, ValueError):
            return cls()

    def keep(self, desk: Desk) -> None:
        """Write it down."""
        desk.course.records.mkdir(exist_ok=True, mode=0o700)
        replace_whole(self.file(desk), msgspec.json.encode(self))


def _autograde(desk: Desk, known: _Known, tell: Tell, made: Round) -> None:
    """Grade who has handed in anew, and who was graded under other conditions."""
    conditions, waiting = _conditions(desk), _without_score(desk)
    students = {
        name: names
        for name in desk.handed_in()
        if (names := _notebooks(desk, name))
        and not (known.graded.get(name) == conditions and name not in waiting and desk.is_graded(name))
    }
    count = iter(range(1, len(students) + 1))
    desk.autograde(students, lambda: tell("grading", next(count), len(students)))
    made.new = [name for name in students if desk.is_graded(name)]
    made.faults |= dict.fromkeys(students.keys() - {*made.new} - made.faults.keys(), NOT_GRADED)
    known.graded |= dict.fromkeys(made.new, conditions)
    known.keep(desk)


def _without_score(desk: Desk) -> set[str]:
    """Of whose work the judge has not said anything, nor a human: the reason may be gone."""
    with desk.gradebook() as book:
        grades = [(one.student.id, g) for one in _submissions(desk, book) for n in one.notebooks for g in n.grades]
        return {name for name, grade in grades if grade.auto_score is None and grade.manual_score is None}


def _conditions(desk: Desk) -> str:
    if desk.puzzle is None:
        return ""
    course = desk.course
    told = course.points_of(desk.puzzle), course.detail(desk.puzzle), course.does_not_compile
    with_key = key.key_id(key.read(course.key_path))  # with another one everything is judged again
    return _digest(*told, with_key, *([spoken()] if spoken() != ENGLISH else []))  # which feedback is in


def _notebooks(desk: Desk, student: str) -> list[str]:
    """Return the names of what nbgrader is to convert: in a puzzle's assignment one, whatever was handed in."""
    folder = desk.place("submitted", student)
    if desk.puzzle is not None:
        return [desk.assignment] if of_assignment(folder) else []
    return _named(folder)


def _named(folder: Path) -> list[str]:
    """Return the names of the notebooks in a folder, without what macOS puts next to them."""
    return sorted(path.stem for path in folder.glob("*.ipynb") if not by_macos(path.name))


def _reckon_penalties(desk: Desk, made: Round) -> None:
    """Late penalties by what holds now: deadlines, extensions and policies may have changed, and so may scores."""
    check = "" if desk.puzzle is None else check_id(catalog.load(desk.puzzle))
    with desk.gradebook() as book:
        for submission in _submissions(desk, book):
            late = submission.total_seconds_late
            for notebook in submission.notebooks:
                student, points = submission.student.id, judged_points(notebook)
                due = submission.assignment.duedate
                penalty = desk.course.penalty(desk.assignment, student, points, late, due) if late > 0 else None
                notebook.late_submission_penalty = None if penalty is None else min(max(penalty, 0.0), points)
                made.late |= {student: notebook.late_submission_penalty} if late > 0 else {}
                for grade in notebook.grades:
                    if grade.manual_score is None or grade.name != check:
                        continue
                    judge = "nothing" if grade.auto_score is None else f"{grade.auto_score:g}"
                    anew = grade.needs_manual_grade and grade.auto_score is not None
                    listed = made.again if anew else made.by_hand
                    listed[student] = f"{grade.manual_score:g} by hand, {judge} by the judge"
        book.db.commit()


def _write_feedback(desk: Desk, known: _Known, tell: Tell, made: Round) -> None:
    """Write the pages on which something else would stand."""
    with desk.gradebook() as book:
        now = {
            one.student.id: _shown(one, desk.place("autograded", one.student.id), below(desk.course, one))
            for one in _submissions(desk, book)
        }
    students = {
        name: names
        for name, shown in sorted(now.items())
        if (names := _named(desk.place("autograded", name)))
        and not (known.shown.get(name) == shown and desk.place("feedback", name).is_dir())
    }
    count = iter(range(1, len(students) + 1))
    desk.write_feedback(students, lambda: tell("writing feedback", next(count), len(students)))
    made.pages = [name for name in students if desk.place("feedback", name).is_dir()]
    made.without_page = [name for name in sorted(now) if not desk.place("feedback", name).is_dir()]
    known.shown |= {name: now[name] for name in made.pages}
    known.keep(desk)


def _shown(submission: Any, autograded: Path, told: list[str]) -> str:
    """Return a hash of all that feedback shows."""
    notebooks = submission.notebooks
    grades = [(g.name, g.auto_score, g.manual_score, g.extra_credit) for n in notebooks for g in n.grades]
    comments = [(c.name, c.auto_comment, c.manual_comment) for n in notebooks for c in n.comments]
    reports = [path.read_bytes() for path in sorted(autograded.glob("*.ipynb"))]
    return _digest(sorted(grades), sorted(comments), submission.late_submission_penalty, told, *reports)


def _submissions(desk: Desk, book: Any) -> list[Any]:
    try:
        return list(book.assignment_submissions(desk.assignment))
    except MissingEntry:
        return []


def _sum_up(desk: Desk, why: dict[str, str], made: Round) -> None:
    for row in desk.rows():
        student = row["student_id"]
        made.possible = row["max_score"]
        if row["status"] == GRADED:
            made.graded[student] = row["score"]
        elif row["status"] == NEEDS_GRADING:
            made.waiting[student] = why.get(student, made.faults.get(student, BY_HAND)).rstrip(".")
        elif row["status"] == NOT_HANDED_IN:
            made.absent.append(student)
    made.new = [name for name in made.new if name in made.graded]
    made.said = desk.said


def _digest(*facts: object) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
