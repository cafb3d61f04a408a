"""A report teaches in steps: a finding that has a question comes with its hint only when it is seen again."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from checker.course.places import ROOT
from checker.course.verdict import Verdict
from checker.learner.progress import Progress, changed


def in_steps(verdict: Verdict, root: Path = ROOT) -> Verdict:
    """The verdict with the hints withheld of what is seen for the first time.

    Only the first finding is written down: the others wait until it is their turn. Where it cannot be written down,
    nothing is withheld.
    """
    puzzle_id = verdict.puzzle
    if puzzle_id is None or not any(finding.question for finding in verdict.findings):
        return verdict
    first = verdict.findings[0]
    found = {first.id} if first.question else set()
    known: Collection[str] = ()

    def noted(progress: Progress) -> Progress:
        nonlocal known
        was = progress.of(puzzle_id)
        known = was.asked | was.told
        told = was.told | (found & known)
        return progress.having(puzzle_id, replace(was, asked=(was.asked | found) - told, told=told))

    try:
        remark = changed(noted, root).remark
    except OSError:
        return verdict
    return replace(
        verdict,
        findings=tuple(replace(f, withheld=bool(f.question) and f.id not in known) for f in verdict.findings),
        remarks=(*verdict.remarks, *filter(None, [remark])),
    )
