"""What nbgrader loads in place of the step that executes a student's cells: the judge.

It reads the file that was handed in as text, asks for a verdict, and writes score and report into the output of the
graded cell. From there on, everything is nbgrader's.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from nbformat.v4 import new_output
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

from checker.course.verdict import Verdict
from checker.grading import settings
from checker.grading.chosen import Unresolved
from checker.grading.grade import CheckerFault, verdict_on
from checker.nbgrader.assignment import check_id
from checker.nbgrader.notebook import puzzle_of, submission, submitted_folder
from checker.report.html import html
from checker.report.screen import plain
from checker.report.terminal import report

FAULT = "checker fault"  # in the resources of a conversion: what to tell of it


class NotGraded(Exception):
    """This notebook cannot be graded here: a sentence for the instructor."""


class Judge(NbGraderPreprocessor):
    """Writes verdicts into graded cells."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Judge the notebook that was handed in."""
        puzzle = puzzle_of(resources)
        if puzzle is None:
            raise NotGraded("only the puzzles of the catalog can be graded in this course: nothing else is executed")
        converter = self.parent.parent
        course = settings.read(Path(converter.coursedir.root))
        possible = sum(course.points_of(puzzle.number).values())
        outputs: list[Any] = []
        try:
            path, notebook = submission(converter, resources, puzzle)
            outputs += [_told(notebook.notes)] if notebook.notes else []
            outputs += _outputs(verdict_on(puzzle.number, notebook, path.name, course))
        except (CheckerFault, Unresolved) as fault:
            resources[FAULT] = str(fault)
            folder = submitted_folder(converter, resources)
            self.log.error("%s could not be judged, and is left to be graded by hand: %s", folder, fault)
            outputs.append(_told([f"{fault}. So there is no score yet." if isinstance(fault, Unresolved) else _FAULT]))
        for cell in nb.cells:
            if cell.cell_type == "code":
                marks = cell.metadata.get("nbgrader", {})
                graded = marks.get("grade_id") == check_id(puzzle)
                if graded and marks.get("points") != possible:
                    raise NotGraded(_OTHER_POINTS.format(possible, marks.get("points"), puzzle.stem))
                cell.outputs, cell.execution_count = outputs if graded else [], None
        return nb, resources


class NotConfigured(NbGraderPreprocessor):
    """Stands where nbgrader would execute a student's cells while the course's configuration cannot be loaded."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Refuse."""
        raise NotGraded("the course's configuration could not be loaded: see what was said when nbgrader started")


class LeaveToHand(NbGraderPreprocessor):
    """Takes back scores of nbgrader's own: of a cell without a result, if the checker itself has failed; and the 0 of
    an instructor's question whose cell is as it was, for the answer may stand in another one.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Mark these as graded by hand, and not yet graded if nobody has."""
        puzzle = puzzle_of(resources)
        if puzzle is not None:
            names = resources["nbgrader"]
            with Gradebook(names["db_url"]) as gradebook:
                notebook = gradebook.find_submission_notebook(names["notebook"], names["assignment"], names["student"])
                for grade in notebook.grades:
                    if FAULT in resources or grade.name != check_id(puzzle):
                        grade.auto_score, grade.needs_manual_grade = None, True
                gradebook.db.commit()
        return nb, resources


def _outputs(verdict: Verdict) -> list[Any]:
    """The report, and the score: nbgrader takes the number that a cell's result shows."""
    shown = new_output("display_data", data={"text/html": html(verdict), "text/plain": plain(report(verdict))})
    return [shown, new_output("execute_result", data={"text/plain": str(float(verdict.earned))})]


def _told(notes: Sequence[str]) -> Any:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return new_output("display_data", data={"text/html": f"<ul>{items}</ul>", "text/plain": "\n".join(notes)})


_OTHER_POINTS = (
    "course.toml gives {} points, the gradebook knows {}. Type: make course; nbgrader generate_assignment {} --force"
)
_FAULT = "The checker itself failed, so there is no score yet. This is not the kernel's fault; it is graded by hand."
