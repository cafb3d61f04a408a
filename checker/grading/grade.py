"""Grading of one file that was handed in, with the course's key."""

from __future__ import annotations

import atexit
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from checker.check import Conditions, check
from checker.course import ladder
from checker.course.verdict import Verdict
from checker.grading import key, record
from checker.grading.chosen import Handed
from checker.grading.settings import Settings
from checker.sandbox.cage.cage import Cage, NoCage, held
from checker.sandbox.exchange import TooBusy
from checker.sandbox.host import Host
from checker.sandbox.parent import pytorch_missing
from checker.submission.read import Submission

TRIES = 2


class CheckerFault(Exception):
    """The checker itself failed, twice. That is never a score."""


class MachineTooBusy(CheckerFault):
    """The machine did not get that far; when it has less to do, it may."""


class NotReady(Exception):
    """Something is missing here without which nothing is graded: a sentence for the instructor."""


class NotInstalled(Exception):
    """A puzzle needs what is not installed here, so it is not graded; others are. A sentence without its end."""


def terms_for_grading(course: Settings) -> Conditions:
    """Return the conditions of a course: on the interpreter, which is everywhere, and whose verdict is that of a GPU.

    Raises KeyProblem and NotReady: then no submission gets a score.
    """
    secret = key.read(course.key_path)
    try:
        cage = held() if course.caged else None
    except NoCage as reason:
        raise NotReady(
            f"Nothing was graded, because no sandbox works here. {reason} python -m checker doctor says "
            "what to do about it. Or, if you trust everybody who hands in, write sandbox = 'none' in course.toml."
        ) from reason
    return Conditions(key=secret, host=Host() if cage is None else _host(cage))


@cache
def _host(cage: Cage) -> Host:
    """Return one for all that this process grades."""
    host = Host(cage, kept=True)
    atexit.register(host.close)
    return host


def judged(puzzle_id: str, found: Sequence[Handed], course: Settings) -> tuple[Handed, Verdict]:
    """Return the candidate that counts, and its verdict in the course's points; what is on record is not judged again.

    Raises KeyProblem, NotReady, NotInstalled, CheckerFault: no score then.
    """
    return _best([(one, course.weighed(_verdict_on(puzzle_id, one.submission, course))) for one in found])


def recorded(puzzle_id: str, found: Sequence[Handed], course: Settings) -> tuple[Handed, Verdict | None]:
    """Return the same without judging: no verdict if one of them has none on record. Raises KeyProblem."""
    known = []
    for one in found:
        verdict = record.known(puzzle_id, one.submission, course)
        if verdict is None:
            return found[0], None
        known.append((one, course.weighed(verdict)))
    return _best(known)


def _best(every: Sequence[tuple[Handed, Verdict]]) -> tuple[Handed, Verdict]:
    """Return the one with the most points, of these the first."""
    return max(every, key=lambda one: one[1].rank)


def _verdict_on(puzzle_id: str, submission: Submission, course: Settings) -> Verdict:
    of = record.identity(puzzle_id, submission, record.judging(course))
    path = record.place(course.records, of)
    verdict = record.load(path)
    if verdict is None:
        # Under its puzzle's name: others who hand in the same text get its record, with the name in it.
        alike = replace(submission, name=f"{ladder.stems()[puzzle_id]}{Path(submission.name).suffix}")
        verdict = checked(puzzle_id, alike, terms_for_grading(course))
        record.keep(path, of, verdict)
    return record.with_lines(verdict, submission)


def checked(puzzle_id: str, submission: Submission, conditions: Conditions) -> Verdict:
    """Return the verdict, which nobody keeps. Raises NotInstalled, MachineTooBusy, CheckerFault."""
    if missing := not_installed([puzzle_id]):
        raise NotInstalled(missing)
    for left in reversed(range(TRIES)):
        try:
            return check(puzzle_id, submission, conditions).verdict
        except TooBusy as busy:
            raise MachineTooBusy(f"This machine is too busy. {busy}") from busy
        except Exception as error:
            if not left:
                raise CheckerFault(f"{type(error).__name__}: {error}") from error
    raise AssertionError("the last try returns or raises")


def not_installed(puzzles: Iterable[str]) -> str:
    """Return which of some puzzles cannot be judged for want of an install, and what does it; nothing if all can."""
    in_pytorch = [puzzle_id for puzzle_id in puzzles if ladder.RUNGS[puzzle_id].pytorch]
    if in_pytorch and pytorch_missing():
        named = " and ".join(in_pytorch)
        return f"PyTorch is not installed here, which is needed for {named}: `make torch` installs it"
    return ""
