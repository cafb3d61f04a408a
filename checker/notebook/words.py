"""What is typed at a terminal, as a notebook says it: as a call that its cells have imported."""

from __future__ import annotations

import re
from dataclasses import replace

from checker.course.verdict import Finding, Verdict
from checker.learner.solution import typed

_TYPED = re.compile(r"\bmake (check|hint|predict|solution|step|trace) PUZZLE=(\w+)\b(?! \w+=)")


def as_calls(text: str) -> str:
    """A text that names calls instead of commands: `trace("p5")`, for `make trace PUZZLE=p5`."""
    return _TYPED.sub(lambda match: typed(match[1], match[2], in_notebook=True), text)


def of_finding(finding: Finding) -> Finding:
    """A finding in the words of a notebook."""
    return replace(
        finding,
        explanation=as_calls(finding.explanation),
        question=as_calls(finding.question),
        hint=as_calls(finding.hint),
    )


def of_verdict(verdict: Verdict) -> Verdict:
    """A verdict in the words of a notebook."""
    return replace(verdict, findings=tuple(map(of_finding, verdict.findings)))
