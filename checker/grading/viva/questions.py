"""Questions to a student about a kernel, with the judge's own answers.

Lines of the kernel are changed until three of the changes make good questions. What the changed kernel does is found
out as in grading, in the cage, with inputs drawn from the course's key: here nobody's code is run either.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from checker import catalog
from checker.check import program_of
from checker.course.verdict import Status, Verdict
from checker.grading import settings
from checker.grading.chosen import Unresolved, chosen
from checker.grading.found import Work
from checker.grading.grade import checked, recorded, terms_for_grading
from checker.grading.viva.lines import Change, Listing, changes, listing
from checker.submission.extract import Program
from checker.submission.problem import NotASubmission
from checker.submission.read import Submission

WANTED = 3  # questions
MOST = 16  # changed kernels that are judged for them

# Nothing was computed in these that a property could be told from.
_NOTHING_SEEN = frozenset(
    {
        *(Status.INVALID, Status.FORBIDDEN, Status.NOT_STARTED, Status.DOES_NOT_COMPILE, Status.OUTPUT_FLOOD),
        *(Status.OUT_OF_MEMORY, Status.TIME_LIMIT, Status.NO_OUTPUT, Status.MALFORMED_OUTPUT),
    }
)


@dataclass(frozen=True)
class Question:
    """If this line of the listing read like that, which properties would fail?"""

    line: int
    after: str
    fails: tuple[str, ...]  # names of properties, as the catalog orders them
    finding: str  # the title of the judge's first finding


@dataclass(frozen=True)
class Own:
    """An accepted kernel, as a viva shows it. Whoever has the same one has the same `identity`."""

    work: Work
    identity: str
    submission: Submission
    listing: Listing


def accepted(work: Work, course: settings.Settings) -> Own | bool | None:
    """Return what the records say of somebody's work: the kernel if it is accepted, False if it is not, None if
    nothing.

    Nothing is judged. Raises KeyProblem.
    """
    try:
        handed, verdict = recorded(work.puzzle, chosen(work), course)
    except Unresolved:
        return None
    if verdict is None or not verdict.accepted:
        return None if verdict is None else False
    submission = handed.submission
    shown = listing(submission.text, _program(work.puzzle, submission))
    digest = hashlib.sha256("\n".join((work.puzzle, *shown.lines)).encode("utf-8", "surrogatepass"))
    return Own(work, digest.hexdigest(), submission, shown)


def questions(own: Own, folder: Path) -> tuple[Question, ...]:
    """At most WANTED questions on a kernel, by line; the same ones each time. Raises CheckerFault.

    Good ones tell properties apart. What breaks everything is asked only if there are not enough of these.
    """
    puzzle, conditions = catalog.load(own.work.puzzle), terms_for_grading(settings.read(folder))
    good: list[Question] = []
    spare: list[Question] = []
    judged = 0
    for change in _changes(own):
        if judged == MOST or len(good) == WANTED:
            break
        line = own.listing.number[change.line]
        changed = _changed(own.submission, change)
        if line in _lines(good) or not _runs(puzzle.id, changed):
            continue
        judged += 1
        verdict = checked(puzzle.id, changed, conditions)
        fails = tuple(one.name for one in verdict.properties if not one.passed)
        if not _tells(verdict, fails):
            continue
        question = Question(line, change.after, fails, verdict.findings[0].title)
        tells_apart = len(fails) < len(puzzle.properties)
        if tells_apart and fails not in [one.fails for one in good]:
            good.append(question)
        elif tells_apart or verdict.status is not Status.CRASHED:
            spare.append(question)
    for question in sorted(spare, key=lambda one: len(one.fails) == len(puzzle.properties)):
        if len(good) < WANTED and question.line not in _lines(good):
            good.append(question)
    return tuple(sorted(good, key=lambda one: one.line))


def _tells(verdict: Verdict, fails: tuple[str, ...]) -> bool:
    """Return whether something is wrong with a kernel that can be told from its line."""
    if verdict.status in _NOTHING_SEEN or not fails or not verdict.findings:
        return False
    wrong = verdict.status in (Status.WRONG, Status.PARTLY_RIGHT)
    return wrong or any(finding.named for finding in verdict.findings)


def _lines(questions: Iterable[Question]) -> set[int]:
    return {one.line for one in questions}


def _changes(own: Own) -> Iterator[Change]:
    """Changes of all kernels in turn, in an order that is drawn from the text that is changed."""
    draw = random.Random(own.identity)
    kernels = _program(own.work.puzzle, own.submission).kernels.values()
    for turn in zip_longest(*(changes(own.submission.text, kernel, draw) for kernel in kernels)):
        yield from (change for change in turn if change is not None)


def _changed(submission: Submission, change: Change) -> Submission:
    """Return the submission with a line changed, in the same cells."""
    lines, chunks = change.made_in(submission.text).split("\n"), []
    for chunk in submission.chunks:
        length = chunk.text.count("\n") + 1
        chunks.append(replace(chunk, text="\n".join(lines[:length])))
        lines = lines[length:]
    return replace(submission, chunks=tuple(chunks))


def _program(puzzle_id: str, submission: Submission) -> Program:
    return program_of(submission, catalog.load(puzzle_id).kernels, linted=False)[0]


def _runs(puzzle_id: str, submission: Submission) -> bool:
    """Return whether the judge would run a submission at all."""
    try:
        return not program_of(submission, catalog.load(puzzle_id).kernels)[1]
    except NotASubmission:
        return False
