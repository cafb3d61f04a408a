"""The kernels that a program launches without defining them: the learner's own, from the files of other puzzles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from checker import catalog
from checker.check.running import program_of, started
from checker.course.ladder import entry
from checker.course.places import ROOT, check_typed, files
from checker.course.status import Misuse
from checker.sandbox.parent import Linked
from checker.submission.definitions import newest
from checker.submission.problem import NotASubmission
from checker.submission.read import Submission, Unreadable


class AnotherFirst(Misuse):
    """The kernels of another puzzle are wanted, and not accepted: a sentence that says what to type first."""

    def __init__(self, puzzle_id: str):
        sentence = f"This runs your kernels of puzzle {puzzle_id}, which are not accepted."
        super().__init__(f"{sentence} First: {check_typed(puzzle_id)}")


def own(puzzle_id: str, root: Path = ROOT) -> Submission:
    """Return what the learner has written for a puzzle: in its file, or in its notebook if the file is as it was.

    Raises AnotherFirst if neither was begun.
    """
    for path in files(puzzle_id, root):
        try:
            submission = newest(path, catalog.load(puzzle_id).kernels)
        except Unreadable:
            continue
        if started(puzzle_id, submission):
            return submission
    raise AnotherFirst(puzzle_id)


def linked(puzzle_id: str, given: Mapping[str, Submission] | None) -> list[Linked]:
    """Return the programs whose kernels a puzzle launches, from `given` or the learner's files. Raises AnotherFirst."""
    programs: list[Linked] = []
    for needed in entry(puzzle_id).launches:
        submission = own(needed) if given is None else given[needed]
        try:
            program, problems = program_of(submission, catalog.load(needed).kernels)
        except (NotASubmission, RecursionError, MemoryError, ValueError):
            raise AnotherFirst(needed) from None
        if problems or any(program.empty(kernel) for kernel in program.kernels):
            raise AnotherFirst(needed)
        programs.append((program.source, list(program.kernels)))
    return programs
