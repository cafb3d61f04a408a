"""From a puzzle's number to the verdict on its file: what every command that checks has in common."""

from __future__ import annotations

import os
import traceback
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from checker.course import ladder, targets
from checker.course.clean import cleaned
from checker.course.places import is_own, notebook, script, shown
from checker.course.status import Misuse
from checker.course.verdict import Finding, Status, Verdict
from checker.submission.read import Unreadable, from_file

if TYPE_CHECKING:  # the road is long, and some commands do not walk it
    from checker.check import Outcome, Terms

TRACEBACK_VARIABLE = "CHECKER_TRACEBACK"


def terms_of(key: str | None, device: str, wanted: str, *, unsafe: bool = False) -> Terms:
    """Under which terms to check; `wanted`: targets, none if empty. With a key in a cage, unless `unsafe`."""
    from checker.box.parent import gpu_missing
    from checker.check import Terms

    if device == "cuda" and (reason := gpu_missing()):
        raise Misuse(f"{reason} Without --device cuda, the interpreter checks as strictly.")
    try:
        terms = Terms(key=key, device=device, targets=targets.chosen(wanted) if wanted else ())
    except ValueError as error:
        raise Misuse(str(error)) from error
    if key is None or unsafe:
        return terms
    from checker.box.cage import cage

    try:
        return replace(terms, cage=cage.held())
    except cage.NoCage as reason:
        raise Misuse(
            f"Grading was not started, because nothing would hold a submission. {reason} What to do about it: "
            "python -m checker doctor. Or add --unsafe-no-sandbox: then a submission can read all that you can."
        ) from reason


def checked(number: int, file: Path | None, terms: Terms | None) -> Verdict:
    """The verdict on one puzzle; success with its own file is noted. Raises only Misuse: our fault is a verdict."""
    return outcome_of(number, file, terms).verdict


def outcome_of(number: int, file: Path | None, terms: Terms | None) -> Outcome:
    """The same with what the verdict rests on."""
    from checker.check import Outcome, check, unreadable

    path = file if file is not None else Path(shown(script(number)))
    try:
        try:
            submission = from_file(path)
        except Unreadable as problem:
            if problem.missing:
                raise Misuse(str(problem)) from problem
            return Outcome(unreadable(number, str(path), str(problem)))
        outcome = check(number, submission, terms)
        if outcome.verdict.status is Status.NOT_STARTED and file is None:
            return replace(outcome, verdict=_with_notebook(outcome.verdict, number))
        return replace(outcome, verdict=noted(outcome.verdict, path))
    except Exception as error:
        if isinstance(error, Misuse):
            raise
        return Outcome(fault(number, error))


def noted(verdict: Verdict, path: Path | None) -> Verdict:
    """The verdict with what comes next, if it is accepted; success with the puzzle's own file is written down.

    `path`: what was checked; None if that is not known. Grading neither notes anything nor looks ahead.
    """
    number = verdict.puzzle
    if not verdict.accepted or number is None or verdict.mode != "practice":
        return verdict
    from checker.learner import progress

    try:
        own = path is not None and is_own(path, number)
        reached = progress.solved(number) if own else progress.opened()
    except OSError:  # a folder that cannot be written to is no reason to fail
        reached = progress.opened()
    remarks = [reached.remark] if reached.remark else []
    ahead = reached.progress.having(number, progress.Entry(solved=True)).next_open(number)
    if ahead is None:
        remarks.append("all puzzles are solved.")
    in_notebook = not verdict.file or verdict.file.endswith(".ipynb")
    upcoming = "" if ahead is None else shown((notebook if in_notebook else script)(ahead))
    return replace(verdict, remarks=(*verdict.remarks, *remarks), upcoming=upcoming)


def _with_notebook(verdict: Verdict, number: int) -> Verdict:
    """If only the notebook was edited, say what to type to check it."""
    from checker.check import started

    path = notebook(number)
    try:
        edited = started(number, from_file(path))
    except Unreadable:
        edited = False
    if not edited:
        return verdict
    finding = replace(
        verdict.findings[0],
        explanation="The file is as it was, but your notebook is not. To check the notebook, type:",
        examples=(f"make check PUZZLE={number} FILE={os.path.relpath(path)}",),
    )
    return replace(verdict, findings=(finding,))


def without_puzzle(status: Status, id: str, sentence: str, hint: str) -> Verdict:
    """The verdict when there was nothing to check."""
    return Verdict(None, "", status, (Finding(id, status, sentence, "", hint),))


def fault(number: int, error: Exception) -> Verdict:
    """The verdict when the checker itself has failed."""
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(error)
    sentence = f"{type(error).__name__}: {error}"
    hint = (
        "This is not your kernel's fault, and it costs no points. Check again; if it stays, report it with "
        f"the output of {TRACEBACK_VARIABLE}=1 python -m checker check {number}."
    )
    finding = Finding("checker-fault", Status.CHECKER_FAULT, "The checker itself failed", sentence, hint)
    return cleaned(Verdict(number, ladder.stems()[number], Status.CHECKER_FAULT, (finding,)))
