"""All that a student has handed in, also what nbgrader has not collected: in `submitted/`, and in the exchange."""

from __future__ import annotations

import contextlib
import os
import stat
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from checker.course import ladder
from checker.doctor.exchange import DEFAULT, named
from checker.grading.chosen import Handed, Unresolved, chosen, chosen_in
from checker.grading.found import NothingFound, Work, collected, of_assignment
from checker.grading.grade import CheckerFault, NotInstalled, judged
from checker.grading.overview.student import Attempt
from checker.grading.settings import Settings
from checker.nbgrader.folder import OWN
from checker.nbgrader.students import is_odd


def attempts(course: Settings, student: str) -> Iterator[Attempt]:
    """Yield every attempt of a student, by puzzle, the oldest first; one that nobody has judged yet is judged.

    Raises KeyProblem and NotReady: then nothing can be judged here. nbgrader's exchange names its folders
    STUDENT+ASSIGNMENT+TIME+…; what was collected from it is the newest of these, and is not shown twice.
    """
    for puzzle_id in course.puzzles:
        stem = ladder.stems()[puzzle_id]
        folders = [(when, folder) for name, when, folder in _in_exchange(course, stem) if name == student]
        for when, folder in folders:
            yield _attempt(course, puzzle_id, when, partial(chosen_in, folder, puzzle_id, stem))
        if not folders:
            yield from _collected(course, student, puzzle_id)


def several(course: Settings, assignment: str) -> list[Work]:
    """Return the attempts in the exchange of all who have more than one, if the best counts."""
    of: dict[str, list[Path]] = defaultdict(list)
    for student, _, folder in _in_exchange(course, assignment):
        if course.counts == "best" and not is_odd(student):
            of[student].append(folder)
    many = {student: course.counting(assignment, folders) for student, folders in of.items() if len(folders) > 1}
    every = [(student, of_assignment(folder)) for student, folders in many.items() for folder in folders]
    return [Work(student, ladder.ids()[assignment], paths) for student, paths in every if paths]


def _in_exchange(course: Settings, assignment: str) -> Iterator[tuple[str, str, Path]]:
    """Yield (student, time, folder) of each submission, the oldest first: a folder, never a link to somebody else's."""
    inbound = (named(course.folder / OWN) or Path(DEFAULT)) / course.id / "inbound"
    try:
        names = os.listdir(inbound)
    except OSError:
        return
    every = [(parts, one) for one in names if len(parts := one.rsplit("+", 3)) >= 3 and parts[1] == assignment]
    for parts, one in sorted(every, key=lambda each: each[0][2]):
        if stat.S_ISDIR((inbound / one).lstat().st_mode):
            yield parts[0], parts[2], inbound / one


def _collected(course: Settings, student: str, puzzle_id: str) -> Iterator[Attempt]:
    """Yield what lies in `submitted/`, if nothing came through the exchange."""
    with contextlib.suppress(NothingFound):
        for work in collected(course.folder):
            if (work.student, work.puzzle) == (student, puzzle_id):
                yield _attempt(course, puzzle_id, "as it was collected", partial(chosen, work))


def _attempt(course: Settings, puzzle_id: str, when: str, choose: Callable[[], list[Handed]]) -> Attempt:
    found: list[Handed] = []
    try:
        found = choose()
        return Attempt(puzzle_id, when, *judged(puzzle_id, found, course))
    except (Unresolved, NotInstalled, CheckerFault) as problem:
        return Attempt(puzzle_id, when, found[0] if found else None, None, str(problem))
