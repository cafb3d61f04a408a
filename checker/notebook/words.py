"""What is typed at a terminal, as a notebook says it: as a call that its cells have imported."""

from __future__ import annotations

import re
from dataclasses import replace

from checker.course.verdict import Verdict
from checker.report.said import translated
from checker.report.words import typed

_TYPED = re.compile(r"(?:\bmake (check|hint|predict|solution|step|trace) PUZZLE=|\./(check) )(\w+)\b(?! \w+=| --)")


def as_calls(text: str) -> str:
    """A text that names calls instead of commands: `trace("p5")`, for `make trace PUZZLE=p5`."""
    return _TYPED.sub(lambda match: typed(match[1] or match[2], match[3], in_notebook=True), text)


def of_verdict(verdict: Verdict) -> Verdict:
    """A verdict in the words of a notebook."""
    verdict = translated(verdict)
    return replace(verdict, findings=tuple(finding.worded(as_calls) for finding in verdict.findings))
