"""From a notebook that was handed in to the verdict on it, with the course's key."""

from __future__ import annotations

from checker.course.settings import Settings
from checker.grading import key, record
from checker.grading.cells import Handed
from checker.judge.verdict import Verdict
from checker.road import Terms, check, unreadable
from checker.submission.read import Submission

TRIES = 2


class CheckerFault(Exception):
    """The checker itself failed, twice. That is never a score."""


def terms_for_grading(course: Settings) -> Terms:
    """Under which terms a course judges. Raises KeyProblem.

    What this host lacks for grading belongs here, too: it is said once for each submission, and none gets a score.
    """
    return Terms(key=key.read(course.key_path))


def verdict_on(number: int, notebook: Handed, name: str, course: Settings) -> Verdict:
    """The verdict, from the records if it is known, in the course's points. Raises KeyProblem, CheckerFault."""
    if notebook.submission is None:
        return course.weighed(unreadable(number, name, notebook.problem))
    terms = terms_for_grading(course)
    of = record.identity(number, notebook.submission, key.key_id(terms.key or ""), terms.device)
    verdict = record.find(course.records, of)
    if verdict is None:
        verdict = _checked(number, notebook.submission, terms)
        record.keep(course.records, of, verdict)
    return course.weighed(verdict)


def _checked(number: int, submission: Submission, terms: Terms) -> Verdict:
    for left in reversed(range(TRIES)):
        try:
            return check(number, submission, terms)
        except Exception as error:
            if not left:
                raise CheckerFault(f"{type(error).__name__}: {error}") from error
    raise AssertionError("the last try returns or raises")
