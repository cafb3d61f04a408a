"""A clean notebook of what was handed in, for nbgrader's further steps and for an instructor's browser.

Outputs, metadata, attachments and the language of the kernel are not taken over. Nothing of it can break nbgrader's
further steps, or be more than text in a browser.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat

from checker.course.clean import clean
from checker.course.puzzle import Puzzle
from checker.grading.cells import Handed
from checker.nbgrader.assignment import check_id
from checker.submission.read import CODE_LIMIT, Cell

MOST_CELLS = 500
_MARKS = {"schema_version": 3, "task": False, "locked": False, "grade": False, "solution": False}


def clean_notebook(notebook: Handed, puzzle: Puzzle, points: int, released: Path) -> Any:
    """A notebook with the texts that were handed in, and with nbgrader's marks where they belong.

    `released`: the notebook as students got it. If it is not there any more, nothing but the check is marked.
    """
    ours = _released(released)
    named = {marks["grade_id"]: (cell, marks) for cell, marks in ours if "grade_id" in marks}
    handed_in = notebook.cells[:MOST_CELLS]
    cells = [_cell(n, cell, any(cell.text == other.text for other, _ in ours)) for n, cell in enumerate(handed_in)]
    kernels = [kernel.name for kernel in puzzle.kernels if kernel.name in named]
    for n in notebook.answers:
        if n < len(cells) and kernels:  # else nbgrader has no place for a comment on it
            mark = handed_in[n].grade_id if handed_in[n].grade_id in kernels else kernels[0]
            kernels.remove(mark)
            cells[n].metadata = {"nbgrader": {**_MARKS, "grade_id": mark, "solution": True}}
    check = check_id(puzzle)
    wanted = {check: {**_MARKS, "grade_id": check, "grade": True, "locked": True, "points": points}}
    wanted |= {name: dict(marks) for name, (_, marks) in named.items() if _by_hand(marks)}
    for name, marks in wanted.items():
        free = [n for n, cell in enumerate(handed_in) if cell.grade_id == name and n not in notebook.answers]
        place = next((n for n in free if name != check or handed_in[n].kind == "code"), len(cells))
        if place == len(cells):  # taken out: without a cell of that name, nobody could give points
            cells.append(_cell(place, named[name][0] if name in named else Cell("code", ""), True))
        cells[place].metadata = {"nbgrader": marks}
    made = nbformat.v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})
    return nbformat.from_dict(made)


def _released(path: Path) -> list[tuple[Cell, dict[str, Any]]]:
    """(cell, nbgrader's marks of it) of a notebook; nothing if it cannot be read."""
    try:
        cells = nbformat.read(path, nbformat.NO_CONVERT).cells
    except (OSError, ValueError):
        return []
    return [(Cell(cell.cell_type, cell.source), cell.metadata.get("nbgrader", {})) for cell in cells]


def _by_hand(marks: dict[str, Any]) -> bool:
    """Whether these are the marks of a question that an instructor has added and grades."""
    return bool((marks.get("grade") and marks.get("solution")) or marks.get("task"))


def _cell(number: int, cell: Cell, ours: bool) -> Any:
    text, id = clean(cell.text, CODE_LIMIT), f"cell-{number}"
    if cell.kind == "code":
        return nbformat.v4.new_code_cell(text, id=id)
    if not ours:  # a student's own words: shown as they are typed, for Markdown may hold a script
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        text = f"{fence}text\n{text}\n{fence}"
    return nbformat.v4.new_markdown_cell(text, id=id)
