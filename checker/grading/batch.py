"""Many submissions at once: each distinct one is judged once, by whoever is free, and its record says the rest.

Everything that lasts is in the records, so that a batch which was killed continues where it was. What ends a worker is
tried again by another one, and in the end it is a fault that the instructor is told of: never a score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from checker.course.verdict import Verdict
from checker.grading import key, record, settings
from checker.grading.chosen import Unresolved, chosen
from checker.grading.crew import WINDOW, Crew, WorkerLost, here
from checker.grading.found import Work
from checker.grading.grade import CheckerFault, MachineTooBusy, NotInstalled, NotReady, judged, recorded

TRIES = 3  # for what ends its worker
FEW = 300  # submissions that are read here: a worker takes longer to start
# No room on the disk, no key, no sandbox: it would be the same for every submission.
_FOR_ALL = (OSError, settings.SettingsError, key.KeyProblem, NotReady)
_FINAL = (CheckerFault, NotInstalled, Unresolved)  # judged twice in vain, or the same whoever looks


@dataclass(frozen=True)
class Outcome:
    """The result of one piece of work: small, because there are many. The verdict itself is in the record."""

    work: Work
    file: Path | None = None  # the one that counts; None: nobody knows yet
    record: Path | None = None
    records: tuple[Path, ...] = ()  # of all candidates
    sha256: str = ""  # of the text
    known: bool = False  # judged by an earlier batch
    fault: str = ""  # why there is none: it could not be judged
    unresolved: bool = False  # because it cannot be read, or is for another puzzle: not for want of trying

    @property
    def files(self) -> str:
        """The file that counts, or all that may."""
        return " ".join(map(str, self.work.paths if self.file is None else (self.file,)))


def look(work: Work, folder: Path) -> Outcome:
    """Read what somebody has handed in: where its records would be, and whether all are there. Judges nothing.

    Raises Unresolved.
    """
    found, course = chosen(work), settings.read_once(folder)
    judging = record.judging(course)
    records = [record.place(course.records, record.identity(work.puzzle, one.submission, judging)) for one in found]
    best, verdict = recorded(work.puzzle, found, course)
    return Outcome(
        work, best.path, records[found.index(best)], tuple(records), best.submission.sha256, known=verdict is not None
    )


def judge(work: Work, folder: Path) -> None:
    """Judge what somebody has handed in and keep the records. Raises CheckerFault, NotInstalled and Unresolved."""
    judged(work.puzzle, chosen(work), settings.read_once(folder))


def verdict_of(outcome: Outcome, course: settings.Settings) -> Verdict | None:
    """Return the verdict in the course's points; None if there is none: what cannot be read may be
    right all the same.
    """
    verdict = None if outcome.record is None or outcome.fault else record.load(outcome.record)
    return None if verdict is None else replace(course.weighed(verdict), submission_sha256=outcome.sha256)


def grade(works: Sequence[Work], folder: Path, crew: Crew, tell: Callable[[str, int, int], None]) -> Iterator[Outcome]:
    """Look at all, judge the distinct ones that are not known, and say of each what became of it.

    `tell(what, done, of)`: progress.
    """
    settings.read_once.cache_clear()  # here an earlier batch may have read them
    reader = Crew(here) if len(works) <= FEW else crew
    outcomes = _each(look, works, folder, reader, lambda done: tell("reading", done, len(works)))
    first: dict[tuple[Path, ...], Work] = {}
    asked = [one for one in outcomes if isinstance(one, Outcome) and not one.known]
    for outcome in _in_turn(asked):
        first.setdefault(outcome.records, outcome.work)
    distinct = list(first.values())
    answers = _each(judge, distinct, folder, crew, lambda done: tell("judging", done, len(distinct)))
    faults = {records: _fault(answer) for records, answer in zip(first, answers, strict=True) if answer is not None}
    for work, outcome in zip(works, outcomes, strict=True):
        if isinstance(outcome, Outcome):
            if len(outcome.records) > 1 and not outcome.known and outcome.records not in faults:
                outcome = replace(look(work, folder), known=False)  # only now it is known which one counts
            yield replace(outcome, fault=faults.get(outcome.records, ""))
        else:
            yield Outcome(work, fault=_fault(outcome), unresolved=isinstance(outcome, Unresolved))


def _in_turn(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return one of each student, then another of each: whoever hands in a thousand slow ones makes
    nobody else wait.
    """
    before: Counter[str] = Counter()
    turns = []
    for outcome in outcomes:
        turns.append((before[outcome.work.student], outcome))
        before[outcome.work.student] += 1
    return [outcome for _, outcome in sorted(turns, key=itemgetter(0))]


def _tries(problem: Exception) -> int:
    """Return how often something is tried before this is what is said of it."""
    if isinstance(problem, MachineTooBusy):
        return 2
    return 1 if isinstance(problem, _FINAL) else TRIES


def _fault(problem: Exception) -> str:
    if isinstance(problem, WorkerLost):
        return f"the process that judged it ended each time, {TRIES} times"
    return str(problem) if isinstance(problem, _FINAL) else f"{type(problem).__name__}: {problem}"


def _each(
    function: Callable[[Work, Path], Any], works: Sequence[Work], folder: Path, crew: Crew, done: Callable[[int], None]
) -> list[Any]:
    """Return what a function says of each, or the exception; what was lost, or had no time, is tried again after all
    others.

    Then each is alone: where many are under way, one that ends its worker may take others with it.
    """
    answers: list[Any] = [None] * len(works)
    waiting, finished = list(range(len(works))), 0
    for turn in range(TRIES):
        again, calls = [], [(works[number], folder) for number in waiting]
        for position, answer in crew.run(function, calls, 1 if turn else WINDOW):
            number = waiting[position]
            if isinstance(answer, _FOR_ALL):
                raise answer
            answers[number] = answer
            if isinstance(answer, Exception) and turn + 1 < _tries(answer):
                again.append(number)
            else:
                finished += 1
                done(finished)
        waiting = again
    return answers
