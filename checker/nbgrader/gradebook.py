"""An export of grades for nbgrader: its own columns, and a status that tells a 0 from no score at all."""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.apps.exportapp import ExportApp
from nbgrader.plugins import ExportPlugin

from checker.course import ladder
from checker.course.clean import clean
from checker.course.saving import replacing
from checker.grading import settings
from checker.grading.chosen import Unresolved, chosen_in
from checker.grading.export import harmless
from checker.grading.found import any_handed_in
from checker.grading.grade import recorded
from checker.grading.key import KeyProblem
from checker.nbgrader.filled import GRADED, NEEDS_GRADING, NOT_HANDED_IN
from checker.nbgrader.notebook import MOST_CELLS, own_words
from checker.nbgrader.students import is_odd
from checker.submission.read import CODE_LIMIT, Cell

COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email", "status"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)
_IDS = ladder.ids()


class NoGradebook(Exception):
    """A course has no gradebook yet: a sentence."""


class Grades(ExportPlugin):
    """A line for each student and assignment. Only what is graded has a score; nbgrader's own exporter writes 0."""

    def export(self, gradebook: Gradebook) -> list[dict[str, Any]]:
        """Write the file that `--to` names, or grades.csv. Return its rows."""
        path, rows = Path(self.to or "grades.csv"), list(self.rows(gradebook))
        self.log.info("Exporting grades to %s", path)
        with replacing(path) as file:
            out = csv.DictWriter(file, COLUMNS, restval="")
            out.writeheader()
            out.writerows({name: harmless(value) for name, value in row.items()} for row in rows)
        return rows

    def rows(self, gradebook: Gradebook) -> Iterator[dict[str, Any]]:
        """Of all students that nbgrader knows, and of those who have handed in what it has not seen."""
        wanted = {str(one) for one in self.student}, {str(one) for one in self.assignment}
        puzzles = settings.read(Path(self.parent.coursedir.root)).puzzles
        for assignment in sorted(gradebook.assignments, key=_place):
            if (puzzle_id := _IDS.get(assignment.name)) not in (None, *puzzles):
                self.log.warning("%s is left out: %s does not name %s", assignment.name, settings.NAME, puzzle_id)
                continue
            known = {student.id: student for student in gradebook.students}
            everybody = [*known, *sorted({*self.handed_in(assignment.name)} - known.keys())]
            for name in everybody:
                if name in (wanted[0] or {name}) and assignment.name in (wanted[1] or {assignment.name}):
                    student = known.get(name)
                    yield {
                        "assignment": assignment.name,
                        "duedate": assignment.duedate,
                        "student_id": name,
                        "last_name": student and student.last_name,
                        "first_name": student and student.first_name,
                        "email": student and student.email,
                        "max_score": assignment.max_score,
                        **self._of(gradebook, assignment.name, name),
                    }

    def handed_in(self, assignment: str) -> Iterator[str]:
        """Return who has a folder in `submitted/` for an assignment; nobody whose name is none."""
        return (name for name in self.folders(assignment) if not is_odd(name))

    def folders(self, assignment: str) -> Iterator[str]:
        """Yield the names of all folders in `submitted/` for an assignment."""
        pattern = self._folder("submitted", "*", assignment)
        for path in Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))):
            yield path.parts[pattern.parts.index("*")]

    def _of(self, gradebook: Gradebook, assignment: str, student: str) -> dict[str, Any]:
        """Status, and what there is because of it."""
        submitted, autograded = (self._folder(step, student, assignment) for step in ("submitted", "autograded"))
        handed_in = submitted.is_dir() and any_handed_in(submitted)
        try:
            submission = gradebook.find_submission(assignment, student)
        except MissingEntry:
            return {"status": NEEDS_GRADING if handed_in else NOT_HANDED_IN}
        facts = {"timestamp": submission.timestamp}
        grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
        is_open = any(grade.auto_score is None and grade.manual_score is None for grade in grades)
        if is_open or (handed_in and not self.is_graded(assignment, submitted, autograded)):
            return {**facts, "status": NEEDS_GRADING}
        penalty = submission.late_submission_penalty or 0.0
        scores = {"raw_score": submission.score, "late_submission_penalty": penalty}
        return {**facts, **scores, "status": GRADED, "score": max(0.0, submission.score - penalty)}

    def _folder(self, step: str, student: str, assignment: str) -> Path:
        """Return one of nbgrader's folders."""
        course = self.parent.coursedir
        return Path(course.format_path(getattr(course, f"{step}_directory"), student, assignment))

    def is_graded(self, assignment: str, submitted: Path, autograded: Path) -> bool:
        """Return whether what was graded is what is there now: it may have been replaced since, or nbgrader have
        failed.
        """
        times = [when(self.parent.coursedir, folder) for folder in (submitted, autograded)]
        if not autograded.is_dir() or times[0] != times[1]:
            return False
        if assignment not in _IDS:
            return True
        try:
            then = nbformat.v4.reads((autograded / f"{assignment}.ipynb").read_text("utf-8")).cells  # not validated
            found = chosen_in(submitted, _IDS[assignment], assignment)
        except Unresolved as problem:  # and so it was then, or it has become so
            return any(str(problem) in json.dumps(cell.get("outputs", []), ensure_ascii=False) for cell in then)
        except (OSError, ValueError):
            return False
        with suppress(KeyProblem):
            best, verdict = recorded(_IDS[assignment], found, settings.read_once(Path(self.parent.coursedir.root)))
            found = found if verdict is None else [best]  # a better file may lie next to the one that was graded
        return any(_as_it_was(one.cells, then) for one in found)


def judged_points(notebook: Any) -> float:
    """Return the points of a submitted notebook that the judge gave: late penalties are taken from these alone."""
    return sum(grade.auto_score or 0.0 for grade in notebook.grades if grade.manual_score is None)


def _as_it_was(now: Sequence[Cell], then: Sequence[Any]) -> bool:
    """Return whether a notebook that was autograded has these cells."""
    return len(then) >= len(now[:MOST_CELLS]) and all(
        was.metadata.get("nbgrader", {}).get("locked")
        or clean(cell.text, CODE_LIMIT) in was.source
        or was.source == own_words(cell.text)
        for cell, was in zip(now, then, strict=False)
    )


def when(coursedir: Any, folder: Path) -> datetime | None:
    """When what lies here was handed in; None if nothing says so that is a time. nbgrader would stop."""
    try:
        found: datetime | None = coursedir.get_existing_timestamp(str(folder))
    except (AttributeError, ValueError, OSError, OverflowError):  # AttributeError: it calls what it does not have
        return None
    return found


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of a course's grades, as `nbgrader export` writes them, whatever the current folder is.

    Raises NoGradebook; nbgrader would make an empty one.
    """
    app = ExportApp(log_level=logging.ERROR)
    app.load_cwd_config = False
    app.initialize([], root=str(folder))
    app.log_level = logging.WARNING  # not of configuration that it misses in the current folder
    kind, _, path = app.coursedir.db_url.partition(":///")
    if kind == "sqlite" and not Path(path).exists():
        raise NoGradebook(f"There is no {path}: nothing has been graded in this course yet.")
    with Gradebook(app.coursedir.db_url, app.coursedir.course_id) as gradebook:
        return list(Grades(parent=app).rows(gradebook))


def _place(assignment: Any) -> tuple[datetime, tuple[int, str]]:
    """Return the key by which nbgrader sorts assignments, the due date; then the course's order, and not the name."""
    return assignment.duedate or datetime.min, ladder.place_of(_IDS.get(assignment.name, assignment.name))
