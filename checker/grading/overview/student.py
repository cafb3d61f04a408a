"""One student's work, for office hours: every attempt with its verdict, and what changed since the one before."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from checker import catalog
from checker.course.clean import clean, one_line
from checker.course.verdict import Verdict
from checker.grading.chosen import Handed, kernels_of
from checker.grading.document import code, document, name, paragraph
from checker.report.html import html as report


@dataclass(frozen=True)
class Attempt:
    """Something that was handed in for a puzzle, and what the judge says of it."""

    puzzle: str  # its ID
    when: str  # a time in words, or what there is instead
    handed: Handed | None
    verdict: Verdict | None
    problem: str = ""  # why there is no verdict


def html(student: str, attempts: Iterable[Attempt]) -> str:
    """Return the page. Attempts of one puzzle follow one another, the oldest first."""
    return document(
        f"Office hours: {one_line(student)}", [f"<h1>Office hours: {name(student)}</h1>\n", *_parts(list(attempts))]
    )


def _parts(attempts: Sequence[Attempt]) -> Iterator[str]:
    before: Attempt | None = None
    for one in attempts:
        if before is None or before.puzzle != one.puzzle:
            before = None
            yield f"<h2>{escape(catalog.load(one.puzzle).heading)}</h2>\n"
        yield f"<h3>{name(one.when)}</h3>\n"
        if one.verdict is None:
            yield paragraph(f"No verdict: {clean(one.problem, 1000)}.")
        else:
            yield report(one.verdict)
        if before is None:
            yield "<h4>The kernels</h4>\n" + code((line, False) for line in _kernels(one))
        else:
            yield "<h4>What changed</h4>\n" + _changes(_kernels(before), _kernels(one))
        before = one


def _kernels(attempt: Attempt) -> list[str]:
    """Return the lines of what was handed in that are not blank."""
    if attempt.handed is None:
        return []
    text = kernels_of(catalog.load(attempt.puzzle), attempt.handed.submission)
    return [line for line in text.split("\n") if line.strip()]


def _changes(old: Sequence[str], new: Sequence[str]) -> str:
    """Return a diff: what is gone after a minus, what is new marked after a plus."""
    lines = [line for line in difflib.unified_diff(old, new, lineterm="", n=2) if line[:3] not in ("---", "+++")]
    if not lines:
        return paragraph("Nothing in the kernels.")
    return code((line, line.startswith("+")) for line in lines)
