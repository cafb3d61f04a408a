"""Shared steps of every command that checks: from a puzzle's ID to the verdict on its file."""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from checker import catalog
from checker.check import Conditions, Outcome, believed, check, device_of, started, unreadable
from checker.check.linking import AnotherFirst, own
from checker.course import ladder
from checker.course.clean import cleaned
from checker.course.places import (
    INSTALLED,
    ROOT,
    check_typed,
    files,
    holds_course,
    is_own,
    shown,
    spoken_notebook,
    spoken_script,
    walk_through,
)
from checker.course.status import TRACEBACK_VARIABLE, Misuse
from checker.course.verdict import Finding, Status, Verdict
from checker.learner import progress, record
from checker.learner.progress import Entry, Opened
from checker.report.words import MOST_FINDINGS, typed
from checker.sandbox.exchange import TooBusy
from checker.sandbox.parent import pytorch_missing
from checker.sandbox.processes import TooLittle
from checker.submission.definitions import Candidate, candidates, newest
from checker.submission.read import Submission, Unreadable


def checked(puzzle_id: str, file: Path | None, conditions: Conditions | None) -> Verdict:
    """Return the verdict on one puzzle, as a learner gets it. Raises only Misuse: our fault is a verdict."""
    return outcome_of(puzzle_id, file, conditions).verdict


def outcome_of(puzzle_id: str, file: Path | None, conditions: Conditions | None, *, believing: bool = False) -> Outcome:
    """Return the same with what the verdict rests on. `believing`: what was accepted before is not run again."""
    conditions = conditions or Conditions()
    own = Path(shown(spoken_script(puzzle_id)))
    path = file if file is not None else own
    try:
        with contextlib.nullcontext() if believing else conditions.host.begun(device_of(puzzle_id, conditions)):
            try:
                found = candidates(path, catalog.load(puzzle_id).kernels)
            except Unreadable as problem:
                if problem.missing:
                    nowhere = file is None and INSTALLED and not holds_course(ROOT)
                    first = " Make a folder with the course first: flash-puzzles init flash-puzzles." if nowhere else ""
                    raise Misuse(f"{problem}{first}") from problem
                return Outcome(unreadable(puzzle_id, str(path), str(problem)))
            for one in found if believing else ():
                if _accepted_before(puzzle_id, one.submission):
                    return believed(puzzle_id, one.submission)
            outcome = best(puzzle_id, found, conditions)
        if outcome.verdict.status is Status.NOT_STARTED and file is None:
            return replace(outcome, verdict=_elsewhere(outcome.verdict, puzzle_id))
        verdict = replace(outcome.verdict, whole=f"{check_typed(puzzle_id, '' if path == own else path)} --full")
        return replace(outcome, verdict=for_learner(verdict, path, told=not believing))
    except Misuse:
        raise
    except Exception as error:
        return Outcome(fault(puzzle_id, error))


def best(puzzle_id: str, found: Sequence[Candidate], conditions: Conditions | None) -> Outcome:
    """Return the best outcome of some candidates, of equal ones the first; it says which one that is."""
    outcomes: list[Outcome] = []
    for one in found:
        outcome = check(puzzle_id, one.submission, conditions)
        verdict = replace(outcome.verdict, remarks=(*outcome.verdict.remarks, *one.notes))
        outcomes.append(replace(outcome, verdict=verdict))
        if outcome.verdict.accepted:
            break
    return max(outcomes, key=lambda outcome: outcome.verdict.rank)


def all_checked(conditions: Conditions | None, *, in_notebook: bool) -> tuple[list[Verdict], str]:
    """Return the verdicts on all puzzles, and a sentence if some are left out. Raises only Misuse.

    Of a puzzle's file and its notebook, the one that was begun is checked; of both, the one of the kind that asks.
    """
    walled = conditions is None or conditions.host.walled
    missing = pytorch_missing() if walled else "Puzzles in PyTorch are checked on Linux only, without LIGHT=1."
    left_out = [id for id in ladder.ORDER if ladder.RUNGS[id].pytorch and missing]
    asked = {id: _begun(id, in_notebook=in_notebook) for id in ladder.ORDER if id not in left_out}
    verdicts = twice([partial(_one_of_all, id, path, conditions) for id, path in asked.items()])
    return verdicts, f"Left out: {', '.join(left_out)}. {missing}" if left_out else ""


def twice(asked: Sequence[Callable[[], Verdict]]) -> list[Verdict]:
    """Return what all of them say; those that this machine was too busy for once more, after the others."""
    verdicts = [ask() for ask in asked]
    return [ask() if v.status is Status.TOO_BUSY else v for ask, v in zip(asked, verdicts, strict=True)]


def _begun(puzzle_id: str, *, in_notebook: bool) -> Path | None:
    """Return which of a puzzle's files is not the stub any more."""
    for path in sorted(files(puzzle_id), key=lambda path: (path.suffix == ".ipynb") != in_notebook):
        with contextlib.suppress(Unreadable):
            if started(puzzle_id, newest(path, catalog.load(puzzle_id).kernels)):
                return Path(shown(path))
    return None


def _one_of_all(puzzle_id: str, path: Path | None, conditions: Conditions | None) -> Verdict:
    """Return the verdict on one of all puzzles; also if it runs kernels of another one that are not accepted."""
    try:
        return checked(puzzle_id, path, conditions)
    except AnotherFirst as misuse:
        return replace(misused(str(misuse)), puzzle=puzzle_id, title=ladder.RUNGS[puzzle_id].title)


def _accepted_before(puzzle_id: str, submission: Submission) -> bool:
    """Return whether this very text was accepted last, and the texts of all puzzles whose kernels it launches were."""
    texts = [(puzzle_id, submission), *((needed, own(needed)) for needed in ladder.RUNGS[puzzle_id].launches)]
    return all(progress.accepted_as(one, text.sha256) for one, text in texts)


def for_learner(verdict: Verdict, path: Path | None, *, told: bool = True) -> Verdict:
    """Return the verdict as a learner gets it, and what was reached written down; in grading, it stays as it is.

    `path`: what was checked, if that is known. Only a puzzle's own file or notebook counts. `told`: not if only a trace
    is shown: the report's hint is still to come. Raises AnotherFirst if the puzzle runs kernels that are not accepted.
    """
    if verdict.puzzle is None or verdict.mode != "practice":
        return verdict
    if verdict.runs:
        _insist_on_accepted(verdict.puzzle, verdict.accepted)
    own = path is not None and is_own(path, verdict.puzzle)
    if own:
        record.noted(verdict)
    if not verdict.accepted:
        return _in_steps(verdict, verdict.puzzle) if own and told else verdict
    found = None
    if own:
        with contextlib.suppress(OSError):  # a folder that cannot be written to is no reason to fail
            found = progress.solved(verdict.puzzle, verdict.submission_sha256)
    return _looking_ahead(verdict, verdict.puzzle, found or progress.opened())


def _insist_on_accepted(puzzle_id: str, works: bool) -> None:
    """Raise AnotherFirst unless all kernels of other puzzles that a puzzle launches are accepted.

    `works`: the puzzle is accepted with them; then it is enough that they once were, and nothing is checked again.
    """
    for needed in ladder.RUNGS[puzzle_id].launches:
        if works and progress.opened().progress.of(needed).solved:
            continue
        submission = own(needed)
        known = _accepted_before(needed, submission)
        if not known and not check(needed, submission, Conditions(targets=())).verdict.accepted:
            raise AnotherFirst(needed)


def _in_steps(verdict: Verdict, puzzle_id: str) -> Verdict:
    """Return the verdict with the hints withheld of what is seen for the first time, how to get them, and how to see it
    run.

    Only the first finding is written down: the others wait until it is their turn. Where it cannot be written down,
    nothing is withheld.
    """
    in_notebook = not verdict.file.endswith(".py")
    if any(finding.where.case_id is not None for finding in verdict.findings):
        verdict = replace(verdict, stepping=typed("step", puzzle_id, in_notebook=in_notebook))
    if not any(finding.question and finding.hint for finding in verdict.findings):
        return verdict
    first = verdict.findings[0]
    found = {first.id} if first.question and first.hint else set()
    known: frozenset[str] = frozenset()

    def seen(was: Entry) -> Entry:
        nonlocal known
        known = was.asked | was.told
        told = was.told | (found & known)
        return replace(was, asked=(was.asked | found) - told, told=told)

    try:
        remark = progress.noted(puzzle_id, seen).remark
    except OSError:
        return verdict
    findings = tuple(replace(f, withheld=bool(f.question and f.hint) and f.id not in known) for f in verdict.findings)
    asking = ""
    if any(finding.withheld for finding in findings[:MOST_FINDINGS]):
        asking = typed("hint", puzzle_id, in_notebook=in_notebook)
    return replace(verdict, findings=findings, remarks=(*verdict.remarks, *filter(None, [remark])), asking=asking)


def _looking_ahead(verdict: Verdict, puzzle_id: str, found: Opened) -> Verdict:
    """Return a verdict of success with what comes next, where the learner has got as far as this.

    If the solution is open to them and this copy of the course explains it, with how to read that.
    """
    remarks = [found.remark] if found.remark else []
    ahead = found.progress.having(puzzle_id, Entry(solved=True)).next_open(puzzle_id)
    if ahead is None:
        remarks.append("all puzzles are solved.")
    in_notebook = not verdict.file or verdict.file.endswith(".ipynb")
    upcoming = "" if ahead is None else shown((spoken_notebook if in_notebook else spoken_script)(ahead))
    explained = ""
    if found.progress.of(puzzle_id).solved and walk_through(puzzle_id).exists():
        explained = typed("solution", puzzle_id, in_notebook=not verdict.file)
    return replace(verdict, remarks=(*verdict.remarks, *remarks), walk_through=explained, upcoming=upcoming)


def held_back(asked: Collection[str], verdict: Verdict) -> Finding | None:
    """Return what is still wrong of that which was only asked about. Looked at again, it comes with its hint."""
    return next((finding for finding in verdict.findings if finding.id in asked), None)


def _elsewhere(verdict: Verdict, puzzle_id: str) -> Verdict:
    """If only the notebook was edited, or a file in another language, say what to type to check that."""
    path = _begun(puzzle_id, in_notebook=True)
    if path is None:
        return verdict
    if path.suffix == ".ipynb":
        explanation = "The file is as it was, but your notebook is not. To check the notebook, type:"
    else:
        explanation = "The file is as it was, but the one in another language is not. To check that, type:"
    command = typed("check", puzzle_id, file=path)
    return replace(verdict, findings=(replace(verdict.findings[0], explanation=explanation, examples=(command,)),))


def misused(sentence: str, hint: str = "") -> Verdict:
    """Return the verdict when there was nothing to check."""
    return Verdict(None, "", Status.MISUSED, (Finding("misused", Status.MISUSED, sentence, "", hint),))


def fault(puzzle_id: str | None, error: Exception) -> Verdict:
    """Return the verdict when the checker itself has failed, or the machine has let it do too little."""
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(error)
    if isinstance(error, TooBusy):
        hint = "This is not your code's fault, and it costs no points. Check again when the machine has less to do."
        finding = Finding("too-busy", Status.TOO_BUSY, "This machine is too busy", str(error), hint)
    elif isinstance(error, TooLittle):
        hint = "This is not your code's fault, and it costs no points."
        finding = Finding("checker-fault", Status.CHECKER_FAULT, "There is too little to check with", str(error), hint)
    else:
        command = f"check {puzzle_id}" if puzzle_id else "verify FILE"
        hint = (
            "This is not your kernel's fault, and it costs no points. Check again; if it happens again, report it "
            f"with the output of {TRACEBACK_VARIABLE}=1 python -m checker {command}."
        )
        sentence = f"{type(error).__name__}: {error}"
        finding = Finding("checker-fault", Status.CHECKER_FAULT, "The checker itself failed", sentence, hint)
    return cleaned(Verdict(puzzle_id, ladder.stems()[puzzle_id] if puzzle_id else "", finding.status, (finding,)))
