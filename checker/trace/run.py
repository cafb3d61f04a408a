"""The launches that are drawn: run once more in the sandbox, in which nothing but kernels of a checked program run."""

from __future__ import annotations

from checker import catalog
from checker.check import Conditions, Outcome, believed, check, launch
from checker.check.linking import AnotherFirst, own
from checker.course import ladder
from checker.course.case import Case, numbered
from checker.course.places import ROOT
from checker.course.puzzle import Puzzle
from checker.course.status import Misuse
from checker.course.verdict import Verdict
from checker.judge.evidence import locator
from checker.judge.requests import launch_of
from checker.learner import progress
from checker.report.words import leading
from checker.sandbox.host import Host
from checker.sandbox.parent import Limits
from checker.trace.record import blocks_of, recorded
from checker.trace.result import Beside, Recorded, Trace, Wrongness


def cases_of(puzzle: Puzzle) -> list[Case]:
    """Return the launches that are drawn, one for each kernel; drawn from the public key, so always the same."""
    if puzzle.pictured is not None:
        return puzzle.pictured.cases(puzzle.draw())
    about_traffic = {p.name for p in puzzle.properties if p.traffic}
    first: dict[str, Case] = {}
    for case in sorted(puzzle.cases(puzzle.draw()), key=lambda case: about_traffic.isdisjoint(case.proves)):
        first.setdefault(case.kernel, case)
    return [first[kernel.name] for kernel in puzzle.kernels if kernel.name in first]


def traced(outcome: Outcome, host: Host | None = None) -> Trace:
    """Trace a submission that has been judged, right or wrong: its kernels run in the sandbox again."""
    assert outcome.verdict.puzzle is not None
    puzzle = catalog.load(outcome.verdict.puzzle)
    if puzzle.pytorch:
        raise Misuse(
            f"Puzzle {puzzle.id} is written in PyTorch: its report counts numbers, and there are no loads to draw."
        )
    return Trace(
        puzzle=puzzle.id,
        stem=puzzle.stem,
        title=puzzle.title,
        status=leading(outcome.verdict),
        finding=outcome.verdict.findings[0] if outcome.verdict.findings else None,
        launches=launches(puzzle, outcome, host),
        wrong=_wrongness(puzzle, outcome.verdict),
        beside=_beside(puzzle, host) if outcome.program is not None else None,
    )


def launches(puzzle: Puzzle, outcome: Outcome, host: Host | None = None) -> tuple[Recorded, ...]:
    """Return one launch of each kernel that has been started; those that gave no answer are left out."""
    program, submission = outcome.program, outcome.submission
    if program is None or submission is None:
        return ()
    cases = [case for case in cases_of(puzzle) if not program.empty(case.kernel)]
    ran = launch(program, [launch_of(case, puzzle) for case in cases], Limits(), host)
    where = locator(submission)
    return tuple(recorded(puzzle, cases[n], result, where) for n, result in ran.results.items())


def _wrongness(puzzle: Puzzle, verdict: Verdict) -> Wrongness | None:
    """Return the map of the first finding that has one."""
    for finding in verdict.findings:
        picture = finding.error_map
        case = next((case for case in numbered(puzzle.cases(puzzle.draw())) if case.id == finding.where.case_id), None)
        if picture is not None and case is not None:
            blocks = blocks_of(case.tensors[picture.tensor])
            return Wrongness(case.kernel, finding.title, finding.explanation, picture, blocks)
    return None


def _beside(puzzle: Puzzle, host: Host | None = None) -> Beside | None:
    """Return the puzzle to compare with, and its launch if the student has solved it."""
    puzzle_id = puzzle.pictured.beside if puzzle.pictured is not None else None
    if puzzle_id is None or puzzle_id not in ladder.stems():
        return None
    other = catalog.load(puzzle_id)
    try:
        submission = own(puzzle_id, ROOT)
    except AnotherFirst:
        return Beside(other.id, other.title, None)
    if progress.accepted_as(puzzle_id, submission.sha256, ROOT):
        outcome = believed(puzzle_id, submission)
    else:
        outcome = check(puzzle_id, submission, Conditions(targets=(), host=host or Host()))
    seen = launches(other, outcome, host) if outcome.verdict.accepted else ()
    return Beside(other.id, other.title, next((one.pairs for one in seen), None))
