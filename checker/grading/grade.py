"""From a notebook that was handed in to the verdict on it, with the course's key."""

from __future__ import annotations

import atexit
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from checker.box.cage.cage import Cage, NoCage, held
from checker.box.warm import Warm
from checker.check import Terms, check, unreadable
from checker.course import ladder
from checker.course.verdict import Verdict
from checker.grading import key, record
from checker.grading.cells import Handed
from checker.grading.settings import Settings
from checker.submission.read import Submission

DEVICE = "interpreter"  # its verdict is that of a GPU, and it is everywhere
TRIES = 2


class CheckerFault(Exception):
    """The checker itself failed, twice. That is never a score."""


class NoSandbox(Exception):
    """Nothing here would hold a submission: a sentence for the instructor."""


def terms_for_grading(course: Settings) -> Terms:
    """Under which terms a course judges. Raises KeyProblem and NoSandbox: then no submission gets a score."""
    secret = key.read(course.key_path)
    try:
        cage = held() if course.caged else None
    except NoCage as reason:
        raise NoSandbox(
            f"Nothing was graded, because nothing would hold a submission. {reason} What to do about it: "
            "python -m checker doctor. Or, if you trust everybody who hands in, sandbox = 'none' in course.toml."
        ) from reason
    return Terms(key=secret, device=DEVICE, cage=cage, warm=None if cage is None else _warm(cage))


@cache
def _warm(cage: Cage) -> Warm:
    """One for all that this process grades."""
    warm = Warm(cage)
    atexit.register(warm.close)
    return warm


def verdict_on(number: int, notebook: Handed, name: str, course: Settings) -> Verdict:
    """The verdict, from the records if it is known, in the course's points.

    Raises KeyProblem, NoSandbox, CheckerFault: no score then.
    """
    if notebook.submission is None:
        return course.weighed(unreadable(number, name, notebook.problem))
    of = identity(number, notebook.submission, course)
    path = record.place(course.records, of)
    verdict = record.load(path)
    if verdict is None:
        verdict = _checked(number, _called_alike(number, notebook.submission), terms_for_grading(course))
        record.keep(path, of, verdict)
    return course.weighed(verdict)


def _called_alike(number: int, submission: Submission) -> Submission:
    """A submission under its puzzle's name: others who hand in the same text get its record, with the name in it."""
    return replace(submission, name=f"{ladder.stems()[number]}{Path(submission.name).suffix}")


def identity(number: int, submission: Submission, course: Settings) -> dict[str, Any]:
    """What a result is the result of. Raises KeyProblem."""
    return record.identity(number, submission, key.key_id(key.read(course.key_path)), DEVICE, course.caged)


def _checked(number: int, submission: Submission, terms: Terms) -> Verdict:
    for left in reversed(range(TRIES)):
        try:
            return check(number, submission, terms).verdict
        except Exception as error:
            if not left:
                raise CheckerFault(f"{type(error).__name__}: {error}") from error
    raise AssertionError("the last try returns or raises")
