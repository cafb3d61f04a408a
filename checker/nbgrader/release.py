"""A maker of the students' notebook for nbgrader, from a source notebook, without rubrics."""

from __future__ import annotations

from typing import Any

from nbformat.v4 import new_markdown_cell
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import ClearMarkScheme as StockClearMarkScheme
from nbgrader.preprocessors import ClearSolutions as StockClearSolutions
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_locked
from traitlets import List

from checker.course.kernel import GAP
from checker.report.translated import said


class ClearSolutions(StockClearSolutions):
    """As nbgrader's, but a cell with a FILL IN mark of its own gets no `YOUR CODE HERE` as well."""

    def preprocess_cell(self, cell: Any, resources: Any, cell_index: int) -> tuple[Any, Any]:
        """Clear one cell."""
        marked = GAP in cell.source
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if marked:
            stub = set(self.code_stub[resources["language"]].split("\n"))
            cell.source = "\n".join(line for line in cell.source.split("\n") if line.strip() not in stub)
        return cell, resources


class ClearMarkScheme(StockClearMarkScheme):
    """As nbgrader's, which knows rubrics in tasks only, but in locked cells as well: autograding puts both back."""

    display_data_priority: Any = List(
        config=True
    )  # which who makes feedback tells every step, and warns of who has none

    def preprocess_cell(self, cell: Any, resources: Any, cell_index: int) -> tuple[Any, Any]:
        """Take the rubric out of one cell."""
        self.enforce_metadata = not is_locked(cell)
        cleared: tuple[Any, Any] = super().preprocess_cell(cell, resources, cell_index)
        return cleared


class Deadline(NbGraderPreprocessor):
    """Says in the students' notebook until when it is to be handed in, below its first cell."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Add a cell, if the gradebook knows of a deadline."""
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            try:
                due = gradebook.find_assignment(names["assignment"]).duedate
            except MissingEntry:
                due = None
        if due is not None:
            text = f"**Hand in by {due:%A}, {due:%Y-%m-%d}, {due:%H:%M} UTC**, unless you have been given more time."
            nb.cells.insert(1, new_markdown_cell(said(text), id="deadline"))
        return nb, resources
