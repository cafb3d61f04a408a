"""What nbgrader loads to export grades: its own columns, and a status that tells a 0 from no score at all."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

from checker.grading.export import harmless, replacing

COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email", "status"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)
GRADED, NEEDS_GRADING, NOT_HANDED_IN = "graded", "needs grading", "not handed in"


class Grades(ExportPlugin):  # type: ignore[misc]
    """A line for each student and assignment. Only what is graded has a score; nbgrader's own exporter writes 0."""

    def export(self, gradebook: Gradebook) -> None:
        """Write the file that `--to` names, or grades.csv."""
        path = Path(self.to or "grades.csv")
        self.log.info("Exporting grades to %s", path)
        with replacing(path) as file:
            out = csv.DictWriter(file, COLUMNS, restval="")
            out.writeheader()
            for row in self._rows(gradebook):
                out.writerow({name: harmless(value) for name, value in row.items()})

    def _rows(self, gradebook: Gradebook) -> Iterator[dict[str, Any]]:
        students, assignments = ({str(one) for one in wanted} for wanted in (self.student, self.assignment))
        for assignment in gradebook.assignments:
            for student in gradebook.students:
                if student.id in (students or {student.id}) and assignment.name in (assignments or {assignment.name}):
                    yield {
                        "assignment": assignment.name,
                        "duedate": assignment.duedate,
                        "student_id": student.id,
                        "last_name": student.last_name,
                        "first_name": student.first_name,
                        "email": student.email,
                        "max_score": assignment.max_score,
                        **self._of(gradebook, assignment.name, student.id),
                    }

    def _of(self, gradebook: Gradebook, assignment: str, student: str) -> dict[str, Any]:
        """Status, and what there is because of it."""
        handed_in, when = self._folder("submitted", student, assignment)
        autograded, then = self._folder("autograded", student, assignment)
        try:
            submission = gradebook.find_submission(assignment, student)
        except MissingEntry:
            return {"status": NEEDS_GRADING if handed_in else NOT_HANDED_IN}
        facts = {"timestamp": submission.timestamp}
        grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
        open_ones = [grade for grade in grades if grade.auto_score is None and grade.manual_score is None]
        if open_ones or (handed_in and (not autograded or when != then)):
            return {**facts, "status": NEEDS_GRADING}
        penalty = submission.late_submission_penalty or 0.0
        scores = {"raw_score": submission.score, "late_submission_penalty": penalty}
        return {**facts, **scores, "status": GRADED, "score": max(0.0, submission.score - penalty)}

    def _folder(self, step: str, student: str, assignment: str) -> tuple[bool, Any]:
        """Whether something lies in one of nbgrader's folders, and when it was handed in, if that is known."""
        course = self.parent.coursedir
        folder = Path(course.format_path(getattr(course, f"{step}_directory"), student, assignment))
        there = folder.is_dir() and any(path.name != "timestamp.txt" for path in folder.iterdir())
        return there, course.get_existing_timestamp(str(folder))
