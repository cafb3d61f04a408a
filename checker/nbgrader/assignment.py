"""A puzzle as nbgrader's source notebook: the student's notebook, with the solution in regions that nbgrader clears.

What nbgrader then releases is, cell by cell, the notebook in `notebooks/`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from checker import catalog
from checker.course.lesson import GAP, emptied, notebook_text, span
from checker.course.puzzle import Puzzle

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"


class NoAssignment(Exception):
    """A puzzle's files do not make an assignment: a sentence for the course's author."""


def check_id(puzzle: Puzzle) -> str:
    """nbgrader's name for the cell that is graded."""
    return f"check-{puzzle.stem}"


def source_notebook(root: Path, puzzle_id: str, points: int) -> str:
    """The JSON of the notebook that belongs in `source/`. Raises NoAssignment."""
    puzzle = catalog.load(puzzle_id)
    stub = emptied((root / "puzzles" / f"{puzzle.stem}.py").read_text(encoding="utf-8"), puzzle)
    path = root / "solutions" / f"{puzzle.stem}.py"
    try:
        solution = path.read_text(encoding="utf-8")
    except OSError as error:
        raise NoAssignment(f"{path} cannot be read: {error.strerror}. nbgrader's source notebooks need it.") from error
    notebook: dict[str, Any] = json.loads(notebook_text(stub, puzzle))
    for cell in notebook["cells"]:
        marks = cell["metadata"].get("nbgrader", {})
        if marks.get("solution"):
            for kernel in puzzle.kernels:
                if f"def {kernel.name}(" in cell["source"]:
                    cell["source"] = solved(cell["source"], solution, kernel.name)
        if marks.get("grade"):
            marks["points"] = points
    if not any(cell["metadata"].get("nbgrader", {}).get("grade") for cell in notebook["cells"]):
        raise NoAssignment(
            f'puzzles/{puzzle.stem}.py has no cell that ends with check("{puzzle_id}"): nothing can be graded.'
        )
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def with_questions(notebook: str, old: str) -> str:
    """A source notebook with the cells that the instructor has added to the one before, each after the same cell.

    Cells of ours are called cell-0, cell-1, …; what bears another name, or another mark of nbgrader's, is not ours.
    """
    try:
        before = [cell for cell in json.loads(old)["cells"] if isinstance(cell, dict)]
    except (ValueError, KeyError, TypeError):
        return notebook
    made = json.loads(notebook)
    cells: list[dict[str, Any]] = made["cells"]
    ours = {_mark(cell) for cell in cells}
    place = 0
    for cell in before:
        name = str(cell.get("id", ""))
        same = next((n for n, other in enumerate(cells) if other["id"] == name), None)
        if _mark(cell) in ours and (not name or re.fullmatch(r"cell-\d+", name)):
            place = place if same is None else same + 1
            continue
        text = cell.get("source", "")
        own = cell | {"source": "".join(text) if isinstance(text, list) else text}
        if same is not None:  # a cell of ours that was made a question
            cells[same], place = own, same + 1
        else:
            cells.insert(place, own)
            place += 1
    return json.dumps(made, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _mark(cell: dict[str, Any]) -> str | None:
    """The name by which nbgrader knows a cell."""
    marks: dict[str, Any] = cell.get("metadata", {}).get("nbgrader", {})
    return marks.get("grade_id")


def solved(cell: str, solution: str, kernel: str) -> str:
    """A stub's cell with what the solution adds to it, each addition in a region of its own. Raises NoAssignment."""
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
    """How many lines of a function stand before its body."""
    return next((n for n, number in enumerate(where, start=1) if _code(lines[number]).endswith("):")), 0)


def _code(line: str) -> str:
    """A line without the comment that ends it."""
    return re.sub(r"(^|\s+)#.*", "", line).rstrip()


def _region(lines: Iterable[str]) -> list[str]:
    """Lines between nbgrader's marks; nothing if they are all blank."""
    text = "\n".join(lines).strip("\n")
    if not text.strip():
        return []
    depth = text[: len(text) - len(text.lstrip())]
    return [depth + BEGIN, *text.split("\n"), depth + END]
