"""Candidates in all that somebody has handed in for a puzzle: one rule for all who grade.

nbgrader's marks and the names of files are the student's to edit, so they decide little. Everything is read as for
`make check FILE=…`: every code cell, and nothing is executed. Every kernel that was begun is a candidate, in whichever
cell or file it is, and the best one counts: see `checker.submission.definitions`.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from checker import catalog
from checker.check.running import of_another, started
from checker.course import ladder
from checker.course.clean import one_line
from checker.course.puzzle import Puzzle
from checker.grading.found import KINDS, MOST_NAMED, Work, of_assignment, some_of
from checker.submission.definitions import MOST, UNREADABLE_CODE, among, program_text
from checker.submission.extract import extract
from checker.submission.read import Cell, Submission, Unreadable, cells_of, defines, from_file


@dataclass(frozen=True)
class Handed:
    """A candidate: a file as it was handed in, and one definition in it of each kernel."""

    path: Path
    cells: tuple[Cell, ...]  # of the notebook; a script has one
    submission: Submission
    answers: tuple[int, ...]  # positions of the cells that define the kernels
    notes: tuple[str, ...]  # for the instructor: what is not as it was released


class Unresolved(Exception):
    """Nobody can judge what was handed in, and it might be right: a sentence. `cells`: of the notebook, if known."""

    def __init__(self, sentence: str, cells: tuple[Cell, ...] = ()):
        super().__init__(sentence)
        self.cells = cells


def chosen(work: Work) -> list[Handed]:
    """Return the candidates, at most MOST; their notes say what is not as expected. Raises Unresolved.

    Candidates with the same program are one. Files that define a kernel go before those that do not, those that were
    begun before stubs, and those that are named after the puzzle before others; of each, its newest candidate first.
    """
    puzzle, stem = catalog.load(work.puzzle), ladder.stems()[work.puzzle]
    if work.paths and not any(path.suffix in KINDS for path in work.paths):
        names = some_of([_name(path) for path in work.paths])
        raise Unresolved(f"There is no notebook, .py file or draft of puzzle {work.puzzle} in it, only {names}")
    files, unread = [], []
    for path in sorted(work.paths, key=lambda path: (ladder.without_number(path.stem) != stem, path)):
        try:
            files.append(handed(path, puzzle))
        except Unresolved as problem:
            unread.append(problem)
    if len(files) > 1 or unread:
        files = [some for some in files if some[0].answers] or files
        begun = [some for some in files if some[0].answers and started(puzzle.id, some[0].submission)]
        if unread and not begun:
            raise unread[0]
        files = begun or files[:1]
    distinct: dict[str, Handed] = {}
    in_turn = [one for turn in zip_longest(*files) for one in turn if one is not None]
    for one in in_turn:
        distinct.setdefault(program_text(one.submission, puzzle.kernels) if in_turn[1:] else "", one)
    found = list(distinct.values())[:MOST]
    if not found[0].answers and (other := of_another(puzzle.id, found[0].submission.text)):
        meant = f"{other[1]}, the kernel of puzzle {other[0]}, and none of puzzle {puzzle.id}"
        raise Unresolved(f"{_name(found[0].path)} defines {meant}", found[0].cells)
    return [replace(one, notes=(*_about_files(work, one, stem), *one.notes)) for one in found]


def chosen_in(folder: Path, puzzle_id: str, assignment: str) -> list[Handed]:
    """Return the same of a student's folder for one of nbgrader's assignments. Raises Unresolved.

    In the assignment of a puzzle everything is for it; in another one the puzzles' names tell the files apart.
    """
    stem = ladder.stems()[puzzle_id]
    paths = of_assignment(folder) if assignment == stem else ()
    return chosen(Work("", puzzle_id, paths or (folder / f"{stem}.ipynb",)))


def handed(path: Path, puzzle: Puzzle) -> list[Handed]:
    """Return the candidates in a notebook or a script. Raises Unresolved."""
    # A link to another student's work, or to a file of the instructor's. Path.is_symlink raises where none may look.
    if os.path.islink(path):  # noqa: PTH114
        raise Unresolved(f"{_name(path)} is a link, not a file")
    if not os.access(path, os.R_OK):
        raise Unresolved(f"{_name(path)} cannot be opened on {socket.gethostname()}")
    cells: tuple[Cell, ...] = ()
    try:
        if path.suffix != ".ipynb":
            submission = from_file(path, path.name)
            begins = any(defines(submission.text, kernel.name) for kernel in puzzle.kernels)
            return [Handed(path, (Cell("code", submission.text),), submission, (0,) if begins else (), ())]
        cells = tuple(cells_of(path, path.name))
        found = among(cells, puzzle.kernels, path.name)
    except Unreadable as problem:
        raise Unresolved(str(problem).rstrip("."), cells) from problem
    marks = {kernel.name for kernel in puzzle.kernels}
    some = []
    for one in found:
        answers = tuple(dict.fromkeys(one.cells.values()))
        notes = one.notes
        notes += [f"No cell defines {name}." for name in sorted(marks - one.cells.keys())]
        if strange := [n for n in answers if cells[n].grade_id not in marks]:
            notes.append(f"Not in the cell for it, but in cell {', '.join(str(n + 1) for n in strange)}.")
        if one.imports_added:
            notes.append("The cell with the imports is not there; they were added.")
        some.append(Handed(path, cells, one.submission, answers, tuple(notes)))
    return some


def kernels_of(puzzle: Puzzle, submission: Submission) -> str:
    """Return the kernels and their helpers, at their own lines; all of the code if they cannot be
    told from the rest.
    """
    try:
        return extract(submission, puzzle.kernels).source
    except UNREADABLE_CODE:
        return submission.text


def _about_files(work: Work, one: Handed, stem: str) -> Iterator[str]:
    if others := [_name(other) for other in work.paths if other != one.path]:
        yield f"{_name(one.path)} counts; also handed in: {', '.join(others[:MOST_NAMED])}."
    if ladder.without_number(one.path.stem) != stem:
        yield f"The file that counts is called {_name(one.path)}, and not {stem}{one.path.suffix}."


def _name(path: Path) -> str:
    """Names of files are the students' to choose."""
    return one_line(path.name)
