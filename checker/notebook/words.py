"""Commands as a notebook names them: as calls that its cells have imported."""

from __future__ import annotations

from dataclasses import replace

from checker.course.lesson import as_calls
from checker.course.verdict import Verdict
from checker.report.translated import translated


def of_verdict(verdict: Verdict) -> Verdict:
    """Return a verdict in the words of a notebook."""
    verdict = translated(verdict)
    return replace(verdict, findings=tuple(finding.worded(as_calls) for finding in verdict.findings))
