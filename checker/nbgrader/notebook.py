"""A clean notebook of what was handed in, for nbgrader's further steps and for an instructor's browser.

Outputs, metadata, attachments and the language of the kernel are not taken over: a lesson's figures are those that were
released. Nothing of it can break nbgrader's further steps, or be more in a browser than words and formulas.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from checker.course import places
from checker.course.clean import clean
from checker.course.language import LANGUAGES
from checker.course.puzzle import Puzzle
from checker.nbgrader.assignment import check_id
from checker.nbgrader.markdown import LONGEST, inert
from checker.submission.read import CODE_LIMIT, Cell

MOST_CELLS = 500
_MARKS = {"schema_version": 3, "task": False, "locked": False, "grade": False, "solution": False}


@dataclass(frozen=True)
class _Released:
    """A cell as students got it, with nbgrader's marks."""

    cell: Cell
    marks: dict[str, Any]
    attachments: dict[str, Any]


def clean_notebook(
    handed_in: Sequence[Cell], answers: Sequence[int], puzzle: Puzzle, points: int, released: Path
) -> Any:
    """Return a notebook with the texts that were handed in, and with nbgrader's marks where they belong.

    `answers`: positions of the cells that define the kernels.
    `released`: the notebook as students got it. If it is not there any more, nothing but the check is marked.
    """
    ours: list[_Released] = []
    with contextlib.suppress(OSError, ValueError):
        ours = _read(released)
    named = _named(ours)
    handed_in = handed_in[:MOST_CELLS]
    cells = _cells(handed_in, [*ours, *_in_other_languages(puzzle)])
    kernels = [kernel.name for kernel in puzzle.kernels if kernel.name in named]
    for n in answers:
        if n < len(cells) and kernels:  # else nbgrader has no place for a comment on it
            mark = handed_in[n].grade_id if handed_in[n].grade_id in kernels else kernels[0]
            kernels.remove(mark)
            cells[n].metadata = {"nbgrader": {**_MARKS, "grade_id": mark, "solution": True}}
    check = check_id(puzzle)
    wanted = {check: {**_MARKS, "grade_id": check, "grade": True, "locked": True, "points": points}}
    texts = {check: Cell("code", "")} | {name: one.cell for name, one in named.items()}
    wanted |= _wanted(named)
    # A text cell in the name of the check is none: there is no output in which a report could stand.
    taken = {n for n, cell in enumerate(handed_in) if cell.grade_id == check and cell.kind != "code"}
    return _marked(cells, handed_in, wanted, texts, taken.union(answers))


def _in_other_languages(puzzle: Puzzle) -> Iterator[_Released]:
    """Yield the cells of the same lesson in other languages, which students may hand in as well."""
    for language in LANGUAGES:
        with contextlib.suppress(OSError, ValueError):
            yield from _read(places.notebook(puzzle.id, language=language))


def written_notebook(handed_in: Sequence[Cell], problem: str, released: Path) -> Any:
    """Return the same of a notebook that is no puzzle, and that people grade. `problem`: why it could not be read, if
    so.

    `released`: as students got it. Raises OSError or ValueError if it cannot be read.
    """
    ours = _read(released)
    named = _named(ours)
    handed_in = [*([Cell("markdown", problem)] if problem else []), *handed_in[:MOST_CELLS]]
    texts = {name: one.cell for name, one in named.items()}
    return _marked(_cells(handed_in, ours), handed_in, _wanted(named), texts, ())


def _named(ours: Sequence[_Released]) -> dict[str, _Released]:
    return {one.marks["grade_id"]: one for one in ours if "grade_id" in one.marks}


def _cells(handed_in: Sequence[Cell], ours: Sequence[_Released]) -> list[Any]:
    """Cells without any marks; those that were released so are ours."""
    attached, left, made = {one.cell.text: one.attachments for one in ours}, LONGEST, []
    for n, cell in enumerate(handed_in):
        if cell.kind == "code" or cell.text in attached:
            made.append(_cell(n, cell.kind, clean(cell.text, CODE_LIMIT)))
            if pictures := attached.get(cell.text):
                made[-1].attachments = pictures
        else:
            made.append(_cell(n, cell.kind, own_words(cell.text, left)))
            left -= len(cell.text)
    return made


def _wanted(named: Mapping[str, _Released]) -> dict[str, dict[str, Any]]:
    """Marks by name, of the cells that people grade and of those that nbgrader puts back as they were in `source/`."""
    wanted = {}
    for name, one in named.items():
        marks = one.marks
        grade, solution = marks.get("grade"), marks.get("solution")
        by_hand = (grade and solution) or marks.get("task")
        put_back = marks.get("locked") and not grade and not solution
        if by_hand or put_back:
            wanted[name] = dict(marks)
    return wanted


def _marked(
    cells: list[Any],
    handed_in: Sequence[Cell],
    wanted: Mapping[str, dict[str, Any]],
    texts: Mapping[str, Cell],
    taken: Container[int],
) -> Any:
    """Return a notebook in which each wanted mark is on one cell: that of its name, unless it is
    taken, or a new one.
    """
    for name, marks in wanted.items():
        free = (n for n, cell in enumerate(handed_in) if cell.grade_id == name and n not in taken)
        place = next(free, len(cells))
        if place == len(cells):  # taken out: without a cell of that name, nobody could give points
            cells.append(_cell(place, texts[name].kind, texts[name].text))
        cells[place].metadata = {"nbgrader": marks}
    made = nbformat.v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})
    return nbformat.from_dict(made)


def _read(path: Path) -> list[_Released]:
    """Return the cells of a notebook that was released. Raises OSError or ValueError."""
    cells = nbformat.read(path, nbformat.NO_CONVERT).cells
    return [
        _Released(Cell(one.cell_type, one.source), one.metadata.get("nbgrader", {}), one.get("attachments", {}))
        for one in cells
    ]


def _cell(number: int, kind: str, text: str) -> Any:
    of_kind = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
    return of_kind(text, id=f"cell-{number}")


def own_words(text: str, most: int = LONGEST) -> str:
    """Return a student's own words, whose Markdown may hold a script: rendered without harm, or as typed if they are
    long.
    """
    if len(text) <= most:
        return inert(clean(text, CODE_LIMIT))
    text = clean(text, CODE_LIMIT)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"
