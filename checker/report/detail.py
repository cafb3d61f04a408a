"""Levels of detail for students: a verdict with less in it, of which every report is a function as before."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from checker.course.verdict import Finding, Status, Verdict

Detail = Literal["full", "finding", "points"]
FULL: Detail = "full"
# Not about what a kernel does: that a file cannot be read, or is still the stub, is told whole.
_OF_THE_FILE = frozenset({Status.INVALID, Status.NOT_STARTED})


def shown_with(verdict: Verdict, detail: Detail) -> Verdict:
    """Return what a student gets: all of it; the names and places of mistakes; or properties and points alone.

    Status, score and what is recorded for machines (hash, versions, sandbox) stay.
    """
    if detail == FULL:
        return verdict
    without_advice = replace(verdict, remarks=(), printed=(), asking="", stepping="", walk_through="", upcoming="")
    if detail == "finding":
        return replace(without_advice, findings=tuple(map(_named, verdict.findings)))
    return replace(
        without_advice,
        findings=tuple(finding for finding in verdict.findings if finding.status in _OF_THE_FILE),
        properties=tuple(replace(one, detail="", case="") for one in verdict.properties),
        runs=tuple(replace(run, traffic=(), held=()) for run in verdict.runs),
        compiled=(),
    )


def _named(finding: Finding) -> Finding:
    """Return a finding's name and place, without the reason, the values and the fix."""
    if finding.status in _OF_THE_FILE:
        return finding
    return replace(finding, explanation="", question="", hint="", examples=(), differs=None, error_map=None)
