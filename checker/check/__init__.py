"""The road from a submission to a verdict; commands, notebooks, graders and tests all take it."""

from __future__ import annotations

from dataclasses import replace

from checker import catalog
from checker.check.conditions import Conditions, Outcome, device_of
from checker.check.running import launch, program_of, sandbox_of, started
from checker.course.clean import cleaned
from checker.course.ladder import entry
from checker.course.verdict import Finding, Status, Verdict
from checker.sandbox.parent import gpu_missing
from checker.submission.read import Submission

__all__ = ["Conditions", "Outcome", "believed", "check", "device_of", "launch", "program_of", "started", "unreadable"]


def check(puzzle_id: str, submission: Submission, conditions: Conditions | None = None) -> Outcome:
    """Check a submission for a puzzle. Whatever it does, there is a verdict; a fault of ours raises."""
    conditions = conditions or Conditions()
    if conditions.on_gpu:
        return _checked(puzzle_id, submission, _for_gpu(conditions))
    outcome = _checked(puzzle_id, submission, conditions)
    if (
        conditions.device == "auto"
        and not entry(puzzle_id).pytorch
        and conditions.host.cage is None
        and outcome.verdict.accepted
        and not gpu_missing()
    ):
        from checker.check.settings import explained

        for_gpu = _for_gpu(conditions)
        on_gpu = _checked(puzzle_id, submission, for_gpu)
        return _joined(
            outcome.verdict, on_gpu if on_gpu.verdict.accepted else explained(puzzle_id, on_gpu, for_gpu.limits)
        )
    return outcome


def _joined(first: Verdict, on_gpu: Outcome) -> Outcome:
    """Return what a check on both devices gives: the GPU's outcome, with what only the interpreter can tell."""
    accepted = () if on_gpu.verdict.accepted else ("the interpreter accepts this kernel, and the GPU does not.",)
    verdict = replace(
        on_gpu.verdict,
        runs=(*first.runs, *on_gpu.verdict.runs),
        compiled=first.compiled,
        remarks=(*accepted, *first.remarks),
        versions=on_gpu.verdict.versions | first.versions,
    )
    return replace(on_gpu, verdict=verdict)


def _for_gpu(conditions: Conditions) -> Conditions:
    """Return the same conditions with what a GPU needs: every shape is compiled anew, every thread prints."""
    limits = replace(
        conditions.limits,
        wall_seconds=conditions.limits.gpu_seconds,
        cpu_seconds=3600,
        output_bytes=conditions.limits.gpu_output_bytes,
    )
    return replace(conditions, device="cuda", limits=limits)


def _checked(puzzle_id: str, submission: Submission, conditions: Conditions) -> Outcome:
    with sandbox_of(
        conditions.limits, conditions.host, device_of(puzzle_id, conditions)
    ) as sandbox:  # imports Triton, and so do we meanwhile
        from checker.check.steps import Check

        return Check(catalog.load(puzzle_id), submission, conditions).run(sandbox)


def believed(puzzle_id: str, submission: Submission) -> Outcome:
    """Return the outcome of a text that was accepted before: nothing is run. Raises what `program_of` raises."""
    from checker.check.steps import Check

    puzzle = catalog.load(puzzle_id)
    program, _ = program_of(submission, puzzle.kernels)
    verdict = replace(Check(puzzle, submission, Conditions()).unjudged, status=Status.ACCEPTED)
    return Outcome(cleaned(verdict), submission, program)


def unreadable(puzzle_id: str, name: str, sentence: str) -> Verdict:
    """Return the verdict on a file that could not be read as a submission."""
    finding = Finding("unreadable", Status.INVALID, "The file cannot be read", sentence, "")
    puzzle = catalog.load(puzzle_id)
    return cleaned(Verdict(puzzle_id, puzzle.title, Status.INVALID, (finding,), puzzle.unproven, file=name))
