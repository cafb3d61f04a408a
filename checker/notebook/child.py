"""The process that judges for a notebook: whatever the notebook's own process has come to believe, it does not.

A setting of NumPy's, a patched module or another folder there would change the judge too, if it ran there.
Reads one JSON request from standard input, writes one JSON object to standard output.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

from checker.check import Outcome, Terms
from checker.check import check as walk
from checker.course import ladder
from checker.course.ladder import number_of
from checker.course.status import Misuse
from checker.course.verdict import Verdict
from checker.learner.practice import fault, looking_ahead, misused, recorded
from checker.notebook.cells import submission_of
from checker.report.screen import plain
from checker.submission.read import Unreadable


def main() -> None:
    """Serve one request and exit."""
    request = json.loads(sys.stdin.read())
    json.dump(_served(request), sys.stdout)


def _served(request: dict[str, Any]) -> dict[str, Any]:
    try:
        number = number_of(request["puzzle"])
    except Misuse as misuse:
        return _misused(misuse)
    try:
        submission = submission_of(request["cells"])
        if request["verb"] == "trace":
            return _drawn(walk(number, submission, Terms(targets=())))
        outcome = walk(number, submission, Terms(device=request["device"]))
        verdict = outcome.verdict
        if request["place"] is not None:
            verdict = looking_ahead(verdict, recorded(verdict, _file(number, Path(request["place"]))))
        if request["verb"] == "bench" and verdict.accepted:
            return _timed(outcome, request["every"])
        return _shown(verdict)
    except Unreadable as problem:
        return _misused(problem)
    except Exception as error:
        return _shown(fault(number, error))


def _file(number: int, place: Path) -> Path:
    """The notebook's file. If only its folder is known, it is taken to be the puzzle's own."""
    return place / f"{ladder.stems()[number]}.ipynb" if place.is_dir() else place


def _timed(outcome: Outcome, every: bool) -> dict[str, Any]:
    from checker.bench import command

    try:
        result = command.result_of(outcome, command.Extent(every), lambda _: None)
    except (command.BenchmarkFailed, command.NoBenchmark) as problem:
        return _misused(problem)
    from checker.bench import chart, table

    return {"png": base64.b64encode(chart.png(result)).decode(), "text": plain(table.report(result))}


def _drawn(outcome: Outcome) -> dict[str, Any]:
    """One picture of all kernels; or the report, if there is nothing to draw."""
    from checker.trace import words
    from checker.trace.run import traced

    seen = traced(outcome)
    if seen.empty:
        return _shown(outcome.verdict)
    text = "\n".join(words.summary(seen))
    try:
        from checker.trace import chart

        return {"text": text, "png": base64.b64encode(chart.png(seen)).decode("ascii")}
    except ImportError as error:
        return {"text": f"{text}\n\nNothing was drawn: {error.name} is missing."}


def _misused(problem: Exception) -> dict[str, Any]:
    return _shown(misused(str(problem)))


def _shown(verdict: Verdict) -> dict[str, Any]:
    from checker.report.html import html
    from checker.report.terminal import report

    return {"html": html(verdict), "text": plain(report(verdict)), "accepted": verdict.accepted}
