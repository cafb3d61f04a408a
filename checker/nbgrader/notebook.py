"""What nbgrader loads to read a submitted notebook: as untrusted text, of which a clean notebook is made.

Outputs, metadata, attachments and the language of the kernel are not taken over. Nothing of it can break nbgrader's
further steps, or be more than text in an instructor's browser.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter

from checker import catalog
from checker.course import ladder
from checker.course.clean import clean
from checker.course.puzzle import Puzzle
from checker.grading import settings
from checker.grading.cells import Handed
from checker.grading.chosen import Unresolved, chosen_in
from checker.nbgrader.assignment import check_id
from checker.submission.read import CODE_LIMIT, Cell, Unreadable, cells_of

MOST_CELLS = 500
_MARKS = {"schema_version": 3, "task": False, "locked": False, "grade": False, "solution": False}


class CleanNotebook(NotebookExporter):
    """Reads a puzzle's submitted notebook as `clean_notebook` makes it, and everything else as nbconvert does."""

    def from_filename(self, filename: str, resources: Any = None, **kw: Any) -> tuple[Any, Any]:
        """Convert the notebook in a file."""
        puzzle = puzzle_of(resources)
        if puzzle is None or not _below(filename, submitted_folder(self.parent, resources)):
            stock: tuple[Any, Any] = super().from_filename(filename, resources, **kw)
            return stock
        try:
            path, notebook = submission(self.parent, resources, puzzle)
            for note in notebook.notes:
                self.log.warning("%s: %s", path, note)
        except Unresolved as problem:
            notebook = Handed((), None, str(problem), (), ())
        coursedir = self.parent.coursedir
        points = sum(settings.read(Path(coursedir.root)).points_of(puzzle.number).values())
        released = _released(coursedir, resources)
        node = clean_notebook(notebook, puzzle, points, _cells(released), _by_hand(released))
        converted: tuple[Any, Any] = self.from_notebook_node(node, resources, **kw)
        return converted


def puzzle_of(resources: Any) -> Puzzle | None:
    """The puzzle that nbgrader is converting a notebook of, if it is one of the catalog's."""
    numbers = {stem: number for number, stem in ladder.stems().items()}
    number = numbers.get(resources["nbgrader"]["notebook"])
    return None if number is None else catalog.load(number)


def submission(converter: Any, resources: Any, puzzle: Puzzle) -> tuple[Path, Handed]:
    """What this student has handed in for a puzzle, whatever it is called. Raises Unresolved."""
    folder = Path(submitted_folder(converter, resources))
    return chosen_in(folder, puzzle.number, resources["nbgrader"]["assignment"])


def under_one_name(assignment: str, notebooks: list[str], **_: Any) -> None:
    """Before it converts what a student has handed in, nbgrader leaves out what it does not know by name.

    So it gets the one name that it knows, and `submission` finds what is meant.
    """
    if assignment in ladder.stems().values() and notebooks:
        notebooks[:] = [str(Path(notebooks[0]).with_name(f"{assignment}.ipynb"))]


def submitted_folder(converter: Any, resources: Any) -> str:
    """Where nbgrader keeps what this student has handed in."""
    names = resources["nbgrader"]
    coursedir = converter.coursedir
    return str(coursedir.format_path(coursedir.submitted_directory, names["student"], names["assignment"]))


def _below(filename: str, folder: str) -> bool:
    return os.path.realpath(Path(filename).parent) == os.path.realpath(folder)


def _released(coursedir: Any, resources: Any) -> Path:
    names = resources["nbgrader"]
    folder = coursedir.format_path(coursedir.release_directory, ".", names["assignment"])
    return Path(folder) / f"{names['notebook']}.ipynb"


def _cells(released: Path) -> list[Cell]:
    """The cells of the notebook as it was released; none if it is not there any more."""
    try:
        return cells_of(released, released.name)
    except Unreadable:
        return []


def _by_hand(released: Path) -> dict[str, Any]:
    """nbgrader's marks of the questions that an instructor has added and grades, by the names of their cells."""
    try:
        cells = nbformat.read(released, nbformat.NO_CONVERT).cells
    except (OSError, ValueError):
        return {}
    marks = [cell.metadata.get("nbgrader", {}) for cell in cells]
    return {one.grade_id: one for one in marks if (one.get("grade") and one.get("solution")) or one.get("task")}


def clean_notebook(notebook: Handed, puzzle: Puzzle, points: int, released: list[Cell], by_hand: dict[str, Any]) -> Any:
    """A notebook with the texts that were handed in, and with nbgrader's marks where they belong."""
    ours = {cell.text for cell in released}
    handed_in = notebook.cells[:MOST_CELLS]
    cells = [_cell(n, cell, cell.text in ours) for n, cell in enumerate(handed_in)]
    marks = [cell.grade_id for cell in released if any(cell.grade_id == kernel.name for kernel in puzzle.kernels)]
    for n in notebook.answers:
        if n < len(cells) and marks:  # else nbgrader has no place for a comment on it
            mark = handed_in[n].grade_id if handed_in[n].grade_id in marks else marks[0]
            marks.remove(mark)
            cells[n].metadata = {"nbgrader": {**_MARKS, "grade_id": mark, "solution": True}}
    name = check_id(puzzle)
    places = [n for n, cell in enumerate(handed_in) if (cell.kind, cell.grade_id) == ("code", name)]
    place = next((n for n in places if n not in notebook.answers), len(cells))
    if place == len(cells):
        cells.append(_cell(place, next((cell for cell in released if cell.grade_id == name), Cell("code", "")), True))
    graded = {**_MARKS, "grade_id": name, "grade": True, "locked": True, "points": points}
    cells[place].metadata = {"nbgrader": graded}
    for name, marks_of in by_hand.items():
        answer = next((n for n, cell in enumerate(handed_in) if cell.grade_id == name and not cells[n].metadata), None)
        if answer is None:  # taken out: without a cell of that name, nobody could give points
            answer = len(cells)
            cells.append(_cell(answer, next(cell for cell in released if cell.grade_id == name), True))
        cells[answer].metadata = {"nbgrader": dict(marks_of)}
    made = nbformat.v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})
    return nbformat.from_dict(made)


def _cell(number: int, cell: Cell, ours: bool) -> Any:
    text, id = clean(cell.text, CODE_LIMIT), f"cell-{number}"
    if cell.kind == "code":
        return nbformat.v4.new_code_cell(text, id=id)
    if not ours:  # a student's own words: shown as they are typed, for Markdown may hold a script
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        text = f"{fence}text\n{text}\n{fence}"
    return nbformat.v4.new_markdown_cell(text, id=id)
