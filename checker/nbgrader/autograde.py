"""The judge, which nbgrader loads in place of its steps that read and execute a student's notebook.

The file that was handed in is read as text, and a clean notebook is made of it. The judge writes score and report into
the output of its graded cell. From there on, everything is nbgrader's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from glob import glob
from html import escape
from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbformat.v4 import new_output
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde
from nbgrader.plugins import BasePlugin
from nbgrader.preprocessors import NbGraderPreprocessor

from checker import catalog
from checker.course import ladder
from checker.course.puzzle import Puzzle
from checker.course.verdict import Verdict
from checker.grading import settings
from checker.grading.chosen import Handed, Unresolved, chosen_in
from checker.grading.found import of_assignment
from checker.grading.grade import CheckerFault, judged
from checker.nbgrader.assignment import check_id
from checker.nbgrader.gradebook import judged_points
from checker.nbgrader.notebook import clean_notebook, written_notebook
from checker.report.detail import shown_with
from checker.report.html import html
from checker.report.screen import plain
from checker.report.terminal import report
from checker.submission.read import Cell, Unreadable, cells_of

FAULT = "checker fault"  # in the resources of a conversion: why there is no score


class NotGraded(Exception):
    """This notebook cannot be graded here: a sentence for the instructor."""


class _Written:
    """The notebook of a student that nbgrader is at, if it is no puzzle: people grade it, and nothing is executed."""

    def __init__(self, converter: Any, resources: Any):
        names, coursedir = resources["nbgrader"], converter.coursedir
        self.assignment, self.name = names["assignment"], names["notebook"]
        self.folder = Path(
            coursedir.format_path(coursedir.submitted_directory, names["student"], names["assignment"])
        )  # of what was handed in
        released = Path(coursedir.format_path(coursedir.release_directory, ".", names["assignment"]))
        self.released = released / f"{names['notebook']}.ipynb"

    def clean(self, log: Any) -> Any:
        """Return the notebook without anything that could do harm. Raises NotGraded."""
        path, cells, problem = self.folder / f"{self.name}.ipynb", [], ""
        try:
            if os.path.islink(path):  # noqa: PTH114 (see `chosen.handed`)
                raise Unreadable(f"{path.name} is a link, not a file.")
            cells = cells_of(path, path.name)
        except Unreadable as reason:
            problem = str(reason)
            log.warning("%s: %s", path, problem)
        try:
            return written_notebook(cells, problem, self.released)
        except (OSError, ValueError) as error:
            raise NotGraded(
                f"{self.released} cannot be read. Type: nbgrader generate_assignment {self.assignment} --force"
            ) from error


class _Notebook(_Written):
    """The same of a puzzle."""

    def __init__(self, converter: Any, resources: Any, puzzle: Puzzle):
        super().__init__(converter, resources)
        self.puzzle = puzzle
        self.course = settings.read(Path(converter.coursedir.root))

    @property
    def points(self) -> int:
        """What it can earn."""
        return self.course.possible(self.puzzle.id)

    def chosen(self) -> list[Handed]:
        """Return the candidates, whatever their files are called. Raises Unresolved."""
        return chosen_in(self.folder, self.puzzle.id, self.assignment)

    def judged(self) -> tuple[Handed, Verdict]:
        """Return the candidate that counts, and its verdict. Raises Unresolved, CheckerFault."""
        return judged(self.puzzle.id, self.chosen(), self.course)


def _puzzle_of(resources: Any) -> Puzzle | None:
    """Return the puzzle that nbgrader is converting a notebook of, if it is one of the catalog's."""
    puzzle_id = ladder.ids().get(resources["nbgrader"]["notebook"])
    return None if puzzle_id is None else catalog.load(puzzle_id)


def _without_notebook(converter: Any) -> dict[str, list[str]]:
    """Folders in which nbgrader finds no notebook, and so nobody who waits: each with the one that was to be in it."""
    course = converter.coursedir
    pattern = course.format_path(course.submitted_directory, course.student_id, course.assignment_id)
    folders = (folder for folder in glob(pattern) if folder not in converter.assignments)  # noqa: PTH207 (as nbgrader)
    stem = course.assignment_id
    return {one: [f"{one}/{stem}.ipynb"] for one in folders if stem in ladder.ids() and of_assignment(Path(one))}


def under_one_name(assignment: str, notebooks: list[str], **_: Any) -> None:
    """Before it converts what a student has handed in, nbgrader leaves out what it does not know by name.

    So it gets the one name that it knows, and `chosen` finds what is meant.
    """
    if assignment in ladder.stems().values() and notebooks:
        notebooks[:] = [str(Path(notebooks[0]).with_name(f"{assignment}.ipynb"))]


class CleanNotebook(NotebookExporter):
    """Reads submitted notebooks as `clean_notebook` and `written_notebook` make them, and all else as it is."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        if type(self.parent) is Autograde:  # our own says itself which folders it is for
            self.parent.assignments |= _without_notebook(self.parent)

    def from_filename(self, filename: str, resources: Any = None, **kw: Any) -> tuple[Any, Any]:
        """Convert the notebook in a file."""
        puzzle = _puzzle_of(resources)
        one = _Written(self.parent, resources)
        if os.path.realpath(Path(filename).parent) != os.path.realpath(one.folder):
            stock: tuple[Any, Any] = super().from_filename(filename, resources, **kw)
            return stock
        node = one.clean(self.log) if puzzle is None else self._cleaned(_Notebook(self.parent, resources, puzzle))
        converted: tuple[Any, Any] = self.from_notebook_node(node, resources, **kw)
        return converted

    def _cleaned(self, one: _Notebook) -> Any:
        cells: tuple[Cell, ...] = ()
        answers: tuple[int, ...] = ()
        try:
            found = one.chosen()
            with suppress(CheckerFault):  # the judge, who comes next, will say so
                found = [one.judged()[0]] if len(found) > 1 else found
            cells, answers = found[0].cells, found[0].answers
            for note in found[0].notes:
                self.log.warning("%s: %s", found[0].path, note)
        except Unresolved as problem:
            cells = problem.cells
        return clean_notebook(cells, answers, one.puzzle, one.points, one.released)


class Judge(NbGraderPreprocessor):
    """Writes verdicts into graded cells."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Judge the notebook that was handed in."""
        puzzle = _puzzle_of(resources)
        if puzzle is None:
            return _left_to_people(nb, resources)
        one = _Notebook(self.parent.parent, resources, puzzle)
        if puzzle.id not in one.course.puzzles:
            raise NotGraded(
                f"{settings.NAME} does not name {puzzle.id} among the puzzles of this course: name it there"
            )
        outputs: list[Any] = []
        try:
            counts, verdict = one.judged()
            outputs += [_told(counts.notes)] if counts.notes else []
            outputs += _outputs(shown_with(verdict, one.course.detail(puzzle.id)))
        except (CheckerFault, Unresolved) as fault:
            resources[FAULT] = str(fault)
            self.log.error("%s could not be judged, and is left to be graded by hand: %s", one.folder, fault)
            outputs.append(_told([f"{fault}. So it is graded by hand." if isinstance(fault, Unresolved) else _FAULT]))
        for cell in nb.cells:
            if cell.cell_type == "code":
                marks = cell.metadata.get("nbgrader", {})
                graded = marks.get("grade_id") == check_id(puzzle)
                if graded and marks.get("points") != one.points:
                    raise NotGraded(_OTHER_POINTS.format(one.points, marks.get("points"), puzzle.stem))
                cell.outputs, cell.execution_count = outputs if graded else [], None
        return nb, resources


def _left_to_people(nb: Any, resources: Any) -> tuple[Any, Any]:
    """Return a notebook that is no puzzle, with nothing executed. Raises NotGraded if it has a cell that would have to
    be.
    """
    names = resources["nbgrader"]
    with Gradebook(names["db_url"]) as gradebook:
        notebook = gradebook.find_notebook(names["notebook"], names["assignment"])
        answers = {cell.name for cell in notebook.solution_cells}
        tests = [cell.name for cell in notebook.grade_cells if cell.cell_type == "code" and cell.name not in answers]
    if tests:
        raise NotGraded(
            f"only puzzles of the catalog are executed in this course, and {tests[0]!r} is a cell of autograder tests: "
            "ask for answers that you grade by hand"
        )
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return nb, resources


class NotConfigured(NbGraderPreprocessor):
    """Stands where nbgrader would execute a student's cells while the course's configuration cannot be loaded."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Refuse."""
        raise NotGraded("the course's configuration could not be loaded: see the messages from when nbgrader started")


class LeaveToHand(NbGraderPreprocessor):
    """Takes back scores of nbgrader's own: of a cell without a result, if the checker itself has failed; that of a file
    which could not be read; and the 0 of an instructor's question whose cell is as it was, for the answer may stand in
    another one.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Mark these as graded by hand, and not yet graded if nobody has."""
        puzzle, names = _puzzle_of(resources), resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            notebook = gradebook.find_submission_notebook(names["notebook"], names["assignment"], names["student"])
            for grade in notebook.grades:
                if FAULT in resources or puzzle is None or grade.name != check_id(puzzle):
                    grade.auto_score, grade.needs_manual_grade = None, True
            gradebook.db.commit()
        return nb, resources


class LatePolicy(BasePlugin):
    """The penalty that course.toml asks for."""

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float:
        """Return the points that a late submission loses. `score`: with what was given by hand,
        which stays as it is.
        """
        step, converter = self.parent, self.parent.parent.parent  # the preprocessor, and its exporter's converter
        course = settings.read(Path(converter.coursedir.root))
        notebook = step.gradebook.find_submission_notebook(step.notebook_id, step.assignment_id, student_id)
        due = step.gradebook.find_assignment(step.assignment_id).duedate
        return course.penalty(step.assignment_id, student_id, judged_points(notebook), total_seconds_late, due)


def _outputs(verdict: Verdict) -> list[Any]:
    """Return the report, and the score: nbgrader takes the number that a cell's result shows."""
    shown = new_output("display_data", data={"text/html": html(verdict), "text/plain": plain(report(verdict))})
    return [shown, new_output("execute_result", data={"text/plain": str(float(verdict.earned))})]


def _told(notes: Sequence[str]) -> Any:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return new_output("display_data", data={"text/html": f"<ul>{items}</ul>", "text/plain": "\n".join(notes)})


_OTHER_POINTS = (
    "course.toml gives {} points, the gradebook knows {}. Type: make course; nbgrader generate_assignment {} --force"
)
_FAULT = "The checker itself failed, so there is no score yet. This is not the kernel's fault; it is graded by hand."
