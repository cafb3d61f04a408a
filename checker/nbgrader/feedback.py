"""Writers of feedback for nbgrader, and its release through nbgrader's exchange.

nbgrader writes 0 points where nobody has given any yet. Its pages begin with the lesson, and load MathJax from
elsewhere. It stops for all at the first folder that lacks a file. And where a student looks for feedback, it seeks what
has the name of a notebook that was handed in, but it released what has the name of the one that was handed out.
"""

from __future__ import annotations

import copy
import math
import re
import shutil
from glob import glob
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from jinja2 import pass_context
from latex2mathml.converter import convert
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors import Preprocessor
from nbgrader.api import Gradebook
from nbgrader.exchange.default import ExchangeReleaseFeedback
from nbgrader.preprocessors import GetGrades
from nbgrader.utils import notebook_hash

from checker.course import ladder
from checker.grading import settings
from checker.report.translated import said

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


class Unfolding(Preprocessor):
    """Shows a triangle next to what unfolds: the styles of nbgrader's pages hide it."""

    def preprocess_cell(self, cell: Any, resources: Any, cell_index: int) -> tuple[Any, Any]:
        """Mark up one cell."""
        if cell.cell_type == "markdown":
            cell.source = cell.source.replace("<summary>", '<summary style="display:list-item">')
        return cell, resources


class FeedbackPage(HTMLExporter):
    """As nbgrader's, but the reports stand at the top, and nothing is loaded from elsewhere."""

    def from_notebook_node(self, nb: Any, resources: Any = None, **kw: Any) -> tuple[str, Any]:
        """Make a page of a notebook."""
        nb, reports = copy.deepcopy(nb), []
        for cell in nb.cells:
            if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade"):
                reports += [one.data["text/html"] for one in cell.outputs if "text/html" in one.get("data", {})]
                cell.outputs = []
        page, resources = super().from_notebook_node(nb, resources, **kw)
        page = re.sub(r"<!-- Load mathjax -->.*?<!-- End of mathjax configuration -->", "", page, flags=re.DOTALL)
        course, now = settings.read(Path(self.parent.coursedir.root)), resources["nbgrader"]
        with Gradebook(now["db_url"]) as book:
            told = below(course, book.find_submission(now["assignment"], now["student"]))
        reports += [f"<p>{escape(paragraph)}</p>" for paragraph in told]
        page = page.replace(_BODY, f'<div class="panel-body">{"".join(reports)}</div>{_BODY}', 1)
        return re.sub(r"Score: nan / [\d.]+", "no score yet", page), resources

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """Make HTML of a cell's Markdown."""
        attachments = context.get("cell", {}).get("attachments", {})
        rendered: str = MarkdownWithMath(renderer=_Formulas(escape=False, attachments=attachments)).render(source)
        return rendered


def below(course: settings.Settings, submission: Any) -> list[str]:
    """Return the paragraphs below the reports: which attempt it is about, the student's deadline, what being late
    costs, and regrades.
    """
    told, when, due = [], submission.timestamp, submission.assignment.duedate
    if when:
        told.append(said(f"This page is about what you handed in on {when:%Y-%m-%d at %H:%M} UTC."))
    if due:
        more = course.more_time(submission.assignment.name, submission.student_id, due)
        told.append(said(f"Your deadline was {due + more:%Y-%m-%d at %H:%M} UTC."))
        late = submission.total_seconds_late - more.total_seconds()
        if lost := course.late.percent(late):
            days = course.late.days(late)
            told.append(said(f"Days late, each that has begun counted: {days}. This costs {lost:g} % of the points."))
    return [*told, course.regrade or said(_REGRADE)]


_REGRADE = "To ask for a regrade, tell your instructor which points you mean, and why."
_BODY = '<div class="panel-body">'  # what stands below the head of nbgrader's page


class _Formulas(IPythonRenderer):
    """Formulas as MathML, which browsers show by themselves; as they were typed, where that cannot be."""

    def block_math(self, body: str) -> str:
        return _mathml(body, "block") or super().block_math(body)

    def inline_math(self, body: str) -> str:
        return _mathml(body, "inline") or super().inline_math(body)


def _mathml(formula: str, display: str) -> str:
    """Return a formula as MathML; nothing if it is none, or has more in it than signs: it may be a student's."""
    try:
        tree = ElementTree.fromstring(convert(formula, display=display))
    except Exception:  # of many kinds, some its own
        return ""
    for one in tree.iter():
        tag = one.tag.rpartition("}")[2]
        if tag not in _SIGNS or one.attrib.keys() - _ATTRIBUTES:
            return ""
        one.tag, one.text = tag, one.text and one.text.replace("\\_", "_")
    return ElementTree.tostring(tree, encoding="unicode")


_SIGNS = {
    "math",
    "mi",
    "mn",
    "mo",
    "mtext",
    "mspace",
    "mrow",
    "mfrac",
    "msqrt",
    "mroot",
    "mstyle",
    "mtable",
    "mtr",
    "mtd",
}
_SIGNS |= {"msub", "msup", "msubsup", "munder", "mover", "munderover"}
_ATTRIBUTES = {"accent", "columnalign", "display", "fence", "form", "mathvariant", "stretchy", "width"}


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
