"""What nbgrader loads to write feedback, and to release it through its exchange.

nbgrader writes 0 points where nobody has given any yet. It stops for all at the first folder that lacks a file. And
where a student looks for feedback, it seeks what has the name of a notebook that was handed in, but it released what
has the name of the one that was handed out.
"""

from __future__ import annotations

import math
import re
import shutil
from glob import glob
from pathlib import Path
from typing import Any

from nbconvert.exporters import HTMLExporter
from nbgrader.exchange.default import ExchangeReleaseFeedback
from nbgrader.preprocessors import GetGrades
from nbgrader.utils import notebook_hash

from checker.course import ladder

SECRET = "submission_secret.txt"  # by which a student, and nobody else, finds what is his
MOST_NAMES = 20  # of one student's notebooks, each of which gets a copy


class GradesSoFar(GetGrades):
    """As nbgrader's, but what nobody has graded yet has no number for a score."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Save the grades in the notebook."""
        nb, resources = super().preprocess(nb, resources)
        if any(math.isnan(cell.metadata.get("nbgrader", {}).get("score") or 0.0) for cell in nb.cells):
            resources["nbgrader"]["score"] = math.nan
        return nb, resources

    def _get_score(self, cell: Any, resources: Any) -> None:
        super()._get_score(cell, resources)
        marks = cell.metadata["nbgrader"]
        grade = self.gradebook.find_grade(marks["grade_id"], self.notebook_id, self.assignment_id, self.student_id)
        if grade.auto_score is None and grade.manual_score is None:
            marks["score"] = math.nan


class FeedbackPage(HTMLExporter):
    """As nbgrader's, which knows of numbers only."""

    def from_notebook_node(self, nb: Any, resources: Any = None, **kw: Any) -> tuple[str, Any]:
        """Make a page of a notebook."""
        page, resources = super().from_notebook_node(nb, resources, **kw)
        return re.sub(r"Score: nan / [\d.]+", "no score yet", page), resources


class ReleaseFeedback(ExchangeReleaseFeedback):
    """Release what `generate_feedback` has made; whose feedback cannot be released is named."""

    def start(self) -> None:
        """Begin anew with those who are `left_out`."""
        self.left_out: list[str] = []
        super().start()

    def copy_files(self) -> None:
        """Copy each student's feedback into the exchange."""
        course = self.coursedir
        named = course.format_path(course.feedback_directory, "(?P<student>[^/]+)", course.assignment_id, escape=True)
        for folder in sorted(glob(self.src_path)):  # noqa: PTH207 (an absolute pattern)
            match = re.fullmatch(named, folder)
            if match is None or (student := match["student"]) in course.student_id_exclude.split(","):
                continue
            try:
                released = self._release(Path(folder), student)
            except (OSError, ValueError) as problem:
                self.left_out.append(student)
                self.log.error("The feedback of %s was not released: %s", student, problem)
            else:
                self.log.info("Releasing feedback for student '%s': %s", student, ", ".join(released))

    def _release(self, folder: Path, student: str) -> list[str]:
        """Release what is in a student's folder; the names under which. Raises OSError, ValueError."""
        if not (folder / SECRET).exists():
            raise ValueError(f"it has no {SECRET}, as nbgrader submits it. Hand over what is in {folder}")
        secret = (folder / SECRET).read_text()  # as the student's nbgrader reads it
        if not secret:
            raise ValueError(f"{folder / SECRET} is empty")
        pages = self._pages(folder, student)
        for name, page in pages.items():
            place = Path(self.dest_path, f"{notebook_hash(secret=secret, notebook_id=name)}.html")
            shutil.copy(page, place.with_suffix(".tmp"))
            place.with_suffix(".tmp").replace(place)
        return list(pages)

    def _pages(self, folder: Path, student: str) -> dict[str, Path]:
        """Pages by the names of the notebooks that the student has handed in; in a puzzle's assignment there is one."""
        course = self.coursedir
        if (stem := course.assignment_id) not in ladder.ids():
            released = Path(course.format_path(course.release_directory, ".", stem)).glob("*.ipynb")
            pages = [folder / f"{path.stem}.html" for path in sorted(released)]  # anything else is the student's own
            return {page.stem: page for page in pages if page.exists()}
        handed_in = Path(course.format_path(course.submitted_directory, student, stem)).glob("*.ipynb")
        names = sorted({path.stem for path in handed_in if path.stem.isprintable()})
        return dict.fromkeys([stem, *names[:MOST_NAMES]], folder / f"{stem}.html")
