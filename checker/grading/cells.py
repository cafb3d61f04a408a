"""A submitted file as text: which cells count, which of them is the answer, and what was changed around it.

nbgrader's marks are the student's to edit, so they decide one thing only: which of several definitions of a kernel is
meant. Everything else is as for `make check FILE=…`: every code cell is read, and nothing is executed.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from checker.course.puzzle import Puzzle
from checker.submission.extract import NotASubmission, extract
from checker.submission.language import PYTORCH, language_of
from checker.submission.nodes import parsed
from checker.submission.read import Cell, Chunk, Submission, Unreadable, blanked, cells_of, from_cells, from_file

_IMPORT = re.compile(r"^(?:import|from)\s+(?:triton|torch)\b", re.MULTILINE)


@dataclass(frozen=True)
class Handed:
    """A notebook as it was handed in, or a file, which has one cell."""

    cells: tuple[Cell, ...]
    submission: Submission | None  # None if it is unreadable
    problem: str  # why it is unreadable
    answers: tuple[int, ...]  # positions of the cells that define the kernels
    notes: tuple[str, ...]  # for the instructor: what is not as it was released


def handed(path: Path, puzzle: Puzzle) -> Handed:
    """Read a notebook or a file. Whatever is wrong with it is said in what is returned."""
    # A link to another student's work, or to a file of the instructor's. Path.is_symlink raises where none may look.
    if os.path.islink(path):  # noqa: PTH114
        return _unreadable((), f"{path.name} is a link, not a file.")
    cells: tuple[Cell, ...] = ()
    try:
        if path.suffix != ".ipynb":
            submission = from_file(path, path.name)
            return Handed((Cell("code", submission.text),), submission, "", (0,), ())
        cells = tuple(cells_of(path, path.name))
        return _chosen(cells, puzzle, path.name)
    except Unreadable as problem:
        return _unreadable(cells, str(problem))


def _unreadable(cells: tuple[Cell, ...], problem: str) -> Handed:
    return Handed(cells, None, problem, (), ("The file could not be read.",))


def _chosen(cells: tuple[Cell, ...], puzzle: Puzzle, name: str) -> Handed:
    """Of each kernel one definition, if it is clear which one is meant; else the judge sees all of them."""
    submission = from_cells([(cell.kind, cell.text) for cell in cells], name)
    texts = [""] * len(cells)
    for chunk in submission.chunks:
        texts[(chunk.cell or 1) - 1] = chunk.text
    answers, notes = [], []
    marks = {kernel.name for kernel in puzzle.kernels}
    for kernel in puzzle.kernels:
        defining = [n for n, text in enumerate(texts) if defines(text, kernel.name)]
        marked = [n for n in defining if cells[n].grade_id in marks]
        meant = marked or defining
        if not defining:
            notes.append(f"No cell defines {kernel.name}.")
            continue
        if not marked:
            notes.append(f"{kernel.name} is defined in cell {_numbers(defining)}, which is not the cell for it.")
        if len({texts[n].strip() for n in meant}) > 1:
            notes.append(f"{kernel.name} is defined in cells {_numbers(meant)}, in different ways.")
            continue
        answers.append(meant[-1])
        others = [n for n in defining if n != meant[-1]]
        for n in others:
            texts[n] = _without(texts[n], kernel.name)
        if others:
            notes.append(
                f"{kernel.name} is defined in cells {_numbers(defining)}; the one in cell {meant[-1] + 1} was judged."
            )
    chunks = tuple(replace(chunk, text=texts[(chunk.cell or 1) - 1]) for chunk in submission.chunks)
    language = language_of(puzzle.kernels)
    if answers and not any(_IMPORT.search(text) for text in texts):  # that cell is the course's, and not the answer
        lines = [language.line] if language is PYTORCH else ["import triton", language.line]
        chunks = (Chunk("\n".join(lines)), *chunks)
        notes.append("The cell with the imports is not there; they were added.")
    return Handed(cells, replace(submission, chunks=chunks), "", tuple(dict.fromkeys(answers)), tuple(notes))


def kernels_of(puzzle: Puzzle, submission: Submission) -> str:
    """The kernels and their helpers, at their own lines; all of the code if they cannot be told from the rest."""
    try:
        return extract(submission, puzzle.kernels).source
    except (NotASubmission, RecursionError, MemoryError, ValueError):
        return submission.text


def defines(text: str, kernel: str) -> bool:
    """Whether a text has the first line of a kernel, at the margin."""
    return re.search(rf"^def {kernel}\b", text, re.MULTILINE) is not None


def _numbers(positions: Sequence[int]) -> str:
    return ", ".join(str(n + 1) for n in positions)


def _without(text: str, kernel: str) -> str:
    """A cell without a kernel's definition, or without anything if Python cannot read it; lines keep their numbers."""
    if (tree := parsed(text)) is None:
        return "\n" * text.count("\n")
    return blanked(text, [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == kernel])
