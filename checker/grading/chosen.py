"""Which file is the submission, of those that somebody has handed in for a puzzle: one rule for all who grade."""

from __future__ import annotations

import ast
import os
import socket
from dataclasses import replace
from pathlib import Path

from checker import catalog
from checker.check import started
from checker.course import ladder
from checker.course.clean import one_line
from checker.grading.cells import Handed, defines, handed
from checker.grading.found import KINDS, MOST_NAMED, Work, of_assignment, some_of
from checker.submission.extract import NotASubmission, extract


class Unresolved(Exception):
    """What was handed in cannot be told from here: a sentence. It has no score, for it might be right."""


def chosen(work: Work) -> tuple[Path, Handed]:
    """The file that is meant, and what it holds; notes say what is not as expected. Raises Unresolved.

    Files with the same kernels are one. Those that define a kernel go before those that do not, those that were begun
    before stubs, and those that are named after the puzzle before others. If that leaves several, nobody can know.
    """
    stem = ladder.stems()[work.puzzle]
    if work.paths and not any(path.suffix in KINDS for path in work.paths):
        raise Unresolved(f"There is no notebook and no .py file in it, only {some_of([_name(p) for p in work.paths])}")
    distinct: dict[str, tuple[Path, Handed]] = {}
    for path in sorted(work.paths, key=lambda path: (ladder.without_number(path.stem) != stem, path)):
        if not (os.path.islink(path) or os.access(path, os.R_OK)):  # noqa: PTH114 (`handed` says what it thinks of links)
            raise Unresolved(f"{_name(path)} cannot be opened on {socket.gethostname()}")
        one = handed(path, catalog.load(work.puzzle))
        alone = len(work.paths) == 1  # nothing to compare: the usual case, and parsing takes time
        distinct.setdefault("" if alone else _kernels(work.puzzle, path, one), (path, one))
    left = list(distinct.values())
    for goes_first in (_is_answer, _is_begun, _is_well_named):
        if len(left) > 1:
            left = [one for one in left if goes_first(work.puzzle, *one)] or left
    if len(left) > 1:
        names = " and ".join(_name(path) for path, _ in left[:MOST_NAMED])
        raise Unresolved(f"There is more than one file for it, {names}, so it is unclear which one is meant")
    ((path, meant),) = left
    notes = list(meant.notes)
    if ladder.without_number(path.stem) != stem:
        notes.insert(0, f"The file that was judged is called {_name(path)}, and not {stem}{path.suffix}.")
    if others := [_name(other) for other in work.paths if other != path]:
        notes.insert(0, f"{_name(path)} was judged; left out: {', '.join(others[:MOST_NAMED])}.")
    return path, replace(meant, notes=tuple(notes))


def chosen_in(folder: Path, puzzle_id: str, assignment: str) -> tuple[Path, Handed]:
    """The same of a student's folder for one of nbgrader's assignments. Raises Unresolved.

    In the assignment of a puzzle everything is for it; in another one the puzzles' names tell the files apart.
    """
    stem = ladder.stems()[puzzle_id]
    paths = of_assignment(folder) if assignment == stem else ()
    return chosen(Work("", puzzle_id, paths or (folder / f"{stem}.ipynb",)))


def _kernels(puzzle_id: str, path: Path, one: Handed) -> str:
    """What is the same in two files if their kernels are, whatever stands around them."""
    if one.submission is None:
        return str(path)
    try:
        return ast.dump(ast.parse(extract(one.submission, catalog.load(puzzle_id).kernels).source))
    except (NotASubmission, SyntaxError, RecursionError, MemoryError, ValueError):
        return one.submission.text


def _is_answer(puzzle_id: str, path: Path, one: Handed) -> bool:
    text = "" if one.submission is None else one.submission.text
    return any(defines(text, kernel.name) for kernel in catalog.load(puzzle_id).kernels)


def _is_begun(puzzle_id: str, path: Path, one: Handed) -> bool:
    return one.submission is None or started(puzzle_id, one.submission)


def _is_well_named(puzzle_id: str, path: Path, one: Handed) -> bool:
    return ladder.without_number(path.stem) == ladder.stems()[puzzle_id]


def _name(path: Path) -> str:
    """Names of files are the students' to choose."""
    return one_line(path.name)
