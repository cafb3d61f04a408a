"""Repeats a launch that a GPU gets wrong with other settings: where these are right, its numbers are not to blame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from checker import catalog
from checker.check.conditions import Outcome
from checker.course.case import Case
from checker.course.puzzle import Puzzle
from checker.judge.evidence import Evidence, listed, locator
from checker.judge.general import finding
from checker.judge.judge import judge
from checker.judge.requests import launch_of
from checker.sandbox.parent import Limits, Pass, Sandbox
from checker.sandbox.protocol.device import Device
from checker.sandbox.protocol.results import LaunchResult
from checker.submission.extract import Program
from checker.submission.read import Submission

# Each changes one thing of what Triton chooses by itself: 4 warps, and 3 stages of a loop's pipeline.
OTHERS = ({"num_stages": 1}, {"num_stages": 2}, {"num_warps": 1}, {"num_warps": 2}, {"num_warps": 8})
TIMES = 3  # in a process of its own each: an illegal access ends one
ENOUGH = 2  # other settings that are right

Runs = Sequence[LaunchResult | None]


def explained(puzzle_id: str, outcome: Outcome, limits: Limits) -> Outcome:
    """Return the outcome of a check on a GPU, with its first finding in other words if settings decide.

    The launch of that finding runs again with Triton's own settings and with each of OTHERS. The words change if it is
    wrong in the same way each time, and right with at least ENOUGH others. The finding's id, verdict and points stay.
    """
    findings, program, submission = outcome.verdict.findings, outcome.program, outcome.submission
    wanted = findings[0].where.case_id if findings else None
    case = next((one.case for one in outcome.evidence if one.case.id == wanted), None)
    if case is None or program is None or submission is None:
        return outcome
    puzzle = catalog.load(puzzle_id)
    usual, *others = _runs(puzzle, case, program, limits)
    if not _alike(usual) or _right(puzzle, case, program, submission, usual):
        return outcome
    right = [
        ", ".join(f"{name}={value}" for name, value in options.items())
        for options, runs in zip(OTHERS, others, strict=True)
        if _alike(runs) and _right(puzzle, case, program, submission, runs)
    ]
    if len(right) < ENOUGH:
        return outcome
    version = outcome.verdict.versions.get("triton", "")
    said = finding("settings-decide", findings[0].status, right=listed(right), version=version)
    first = replace(findings[0], title=said.title, explanation=said.explanation, hint=said.hint, question="")
    return replace(outcome, verdict=replace(outcome.verdict, findings=(first, *findings[1:])))


def _runs(puzzle: Puzzle, case: Case, program: Program, limits: Limits) -> list[Runs]:
    """Return TIMES results of the launch with each of the settings; None where its process ended first."""
    launches = [replace(launch_of(case, puzzle), options=options) for options in ({}, *OTHERS)]
    passes: list[Pass] = [[(number, ())] for number in range(len(launches)) for _ in range(TIMES)]
    with Sandbox(limits, Device.CUDA) as sandbox:
        done = sandbox.run(program.source, list(program.kernels), launches, passes).passes
    results = [one.results.get(one.asked[0]) for one in done]
    return [results[first : first + TIMES] for first in range(0, len(results), TIMES)]


def _alike(runs: Runs) -> bool:
    """Return whether all runs were done, and have ended in the same way, with the same bits."""
    done = [one for one in runs if one is not None and not one.left_out]
    ends = [(one.error, {name: values.tobytes() for name, values in one.tensors.items()}) for one in done]
    return len(done) == TIMES and ends.count(ends[0]) == TIMES


def _right(puzzle: Puzzle, case: Case, program: Program, submission: Submission, runs: Runs) -> bool:
    """Return whether the judge finds nothing wrong with the first two runs."""
    return not judge(puzzle, [Evidence(case, *runs[:2])], locator(submission), program.kernels).failed
