"""A puzzle as nbgrader's source notebook: the student's notebook, with the solution in regions that nbgrader clears.

It is in the language that is spoken, where that has the lesson.

What nbgrader then releases is, cell by cell, the notebook in `notebooks/`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from checker import catalog
from checker.course.kernel import GAP
from checker.course.language import spoken
from checker.course.lesson import emptied, new_cell, notebook_json, span
from checker.course.localised import notebook_in
from checker.course.puzzle import Puzzle
from checker.grading.settings import Question
from checker.report.translated import said

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
BEGIN_RUBRIC, END_RUBRIC = "=== BEGIN MARK SCHEME ===", "=== END MARK SCHEME ==="
ANSWER = "YOUR ANSWER HERE"  # what nbgrader writes into every answer that it releases
SAID = "said-"  # begins the ids of cells that course.toml asks for


class NoAssignment(Exception):
    """A puzzle's files do not make an assignment: a sentence for the course's author."""


def check_id(puzzle: Puzzle) -> str:
    """nbgrader's name for the cell that is graded."""
    return f"check-{puzzle.stem}"


def source_notebook(root: Path, puzzle_id: str, points: int, questions: Sequence[Question] = ()) -> str:
    """Return the JSON of the notebook that belongs in `source/`; questions stand below the cell that checks.

    Raises NoAssignment.
    """
    puzzle = catalog.load(puzzle_id)
    stub = emptied((root / "puzzles" / f"{puzzle.stem}.py").read_text(encoding="utf-8"), puzzle)
    path = root / "solutions" / f"{puzzle.stem}.py"
    try:
        solution = path.read_text(encoding="utf-8")
    except OSError as error:
        raise NoAssignment(f"{path} cannot be read: {error.strerror}. nbgrader's source notebooks need it.") from error
    notebook: dict[str, Any] = json.loads(notebook_in(spoken(), stub, puzzle, root))
    place = None  # of the first cell below the one that checks
    for number, cell in enumerate(notebook["cells"], start=1):
        marks = cell["metadata"].get("nbgrader", {})
        if marks.get("solution"):
            for kernel in puzzle.kernels:
                if f"def {kernel.name}(" in cell["source"]:
                    cell["source"] = solved(cell["source"], solution, kernel.name)
        if marks.get("grade"):
            marks["points"] = points
            place = number
    if place is None:
        raise NoAssignment(
            f'puzzles/{puzzle.stem}.py has no cell that ends with check("{puzzle_id}"): nothing can be graded.'
        )
    notebook["cells"][place:place] = [cell for question in questions for cell in _asked(question)]
    return notebook_json(notebook)


def _asked(question: Question) -> Iterator[dict[str, Any]]:
    """Yield the cells of a question: its text, which nbgrader locks, and the answer. nbgrader takes the rubric out."""
    points = f"{question.points} point{'s' * (question.points != 1)}"
    text = f"**{said(f'Question, {points}')}**\n\n{question.text.strip()}"
    if question.rubric:
        lines = "\n".join(f"* {' '.join(line.split())}" for line in question.rubric)
        text += f"\n\n{BEGIN_RUBRIC}\n\n{lines}\n\n{END_RUBRIC}"
    common = {"schema_version": 3, "task": False}
    for name, source, marks in (
        (f"{question.name}_text", text, {"grade": False, "solution": False, "locked": True}),
        (question.name, ANSWER, {"grade": True, "solution": True, "locked": False, "points": question.points}),
    ):
        metadata = {"nbgrader": {"grade_id": name, **marks, **common}}
        yield new_cell("markdown", f"{SAID}{name}", source, metadata)


def with_questions(notebook: str, old: str) -> str:
    """Return a source notebook with the cells that the instructor has added to the one before, each after the same
    cell.

    Cells of ours are called cell-0, cell-1, …, and those of course.toml's questions said-…; what bears another name, or
    another mark of nbgrader's, is not ours. Raises NoAssignment if two cells then have one mark.
    """
    try:
        before = [cell for cell in json.loads(old)["cells"] if isinstance(cell, dict)]
    except (ValueError, KeyError, TypeError):
        before = []
    made = json.loads(notebook)
    cells: list[dict[str, Any]] = made["cells"]
    ours = {_mark(cell) for cell in cells}
    place = 0
    for cell in before:
        name = str(cell.get("id", ""))
        same = next((n for n, other in enumerate(cells) if name and other.get("id") == name), None)
        if name.startswith(SAID) or (_mark(cell) in ours and (not name or re.fullmatch(r"cell-\d+", name))):
            place = place if same is None else same + 1
            continue
        text = cell.get("source", "")
        own = cell | {"source": "".join(text) if isinstance(text, list) else text}
        if same is not None:  # a cell of ours that was made a question
            cells[same], place = own, same + 1
        else:
            cells.insert(place, own)
            place += 1
    marks = [_mark(cell) for cell in cells]
    said = [_mark(cell) for cell in cells if str(cell.get("id")).startswith(SAID)]
    if twice := [mark for mark in said if marks.count(mark) > 1]:
        raise NoAssignment(
            f"Two cells of one notebook would be called {twice[0]!r}: a question of course.toml's, and one that was "
            "there before. Give the question another name."
        )
    return notebook_json(made)


def _mark(cell: dict[str, Any]) -> str | None:
    """Return the name by which nbgrader knows a cell."""
    marks: dict[str, Any] = cell.get("metadata", {}).get("nbgrader", {})
    return marks.get("grade_id")


def solved(cell: str, solution: str, kernel: str) -> str:
    """Return a stub's cell with what the solution adds to it, each addition in a region of its own. Raises
    NoAssignment.
    """
    lines, added = cell.split("\n"), solution.split("\n")
    where, there = span(lines, kernel), span(added, kernel)
    if where is None or there is None:
        raise NoAssignment(f"{kernel} is not defined once in the stub and once in the solution.")
    head = _head(lines, where)  # the solution's may break its lines elsewhere
    rest = [added[n] for n in there[_head(added, there) :]]
    merged = lines[: where[head]]
    for line in (lines[n] for n in where[head:]):
        if GAP not in line and _code(line):
            position = next((n for n, other in enumerate(rest) if _code(other) == _code(line)), None)
            if position is None:
                raise NoAssignment(f"The solution of {kernel} lacks the stub's line: {line.strip()}")
            merged += _region(rest[:position])
            rest = rest[position + 1 :]
        merged.append(line)
    return "\n".join([*merged, *_region(rest), *lines[where.stop :]])


def _head(lines: Sequence[str], where: range) -> int:
    """Return how many lines of a function stand before its body."""
    return next((n for n, number in enumerate(where, start=1) if _code(lines[number]).endswith("):")), 0)


def _code(line: str) -> str:
    """Return a line without the comment that ends it."""
    return re.sub(r"(^|\s+)#.*", "", line).rstrip()


def _region(lines: Iterable[str]) -> list[str]:
    """Lines between nbgrader's marks; nothing if they are all blank."""
    text = "\n".join(lines).strip("\n")
    if not text.strip():
        return []
    depth = text[: len(text) - len(text.lstrip())]
    return [depth + BEGIN, *text.split("\n"), depth + END]
