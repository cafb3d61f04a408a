"""The class on one page. It names nobody unless it is asked to: what a class got wrong is about the lesson."""

from __future__ import annotations

import tokenize
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from checker import catalog
from checker.course.clean import clean
from checker.course.verdict import Finding
from checker.grading.chosen import Unresolved, chosen, kernels_of
from checker.grading.document import bars, code, document, name, paragraph, table
from checker.grading.found import Work
from checker.grading.grade import recorded
from checker.grading.overview.tally import TENTHS, Sentence, Tally, label
from checker.grading.settings import Settings
from checker.submission.read import without_comments

MOST_FINDINGS = 10
_LINES = 120  # of an example

_WORDS = """\
<p>What the judge found in the attempt of each student that counts. Shares are of those who have begun and were judged.
A kernel counts once for each finding that it has. The kernels shown are examples: comments are left out, and nobody is
named.</p>
"""


def html(tallies: Iterable[Tally], course: Settings, names: bool) -> str:
    """Return the page. `names`: whether it says who has not begun, and whose work has no verdict or
    was refused unread.
    """
    return document("The class", ["<h1>The class</h1>\n", *_parts(list(tallies), course, names)])


def _parts(tallies: Sequence[Tally], course: Settings, names: bool) -> Iterator[str]:
    yield _WORDS
    yield table(("", "handed in", "not begun", "all points", "most often not proven"), map(_in_short, tallies))
    for tally in tallies:
        yield f'<h2 id="{tally.puzzle}">{escape(catalog.load(tally.puzzle).heading)}</h2>\n'
        yield paragraph(_handed_in(tally))
        yield from _who(tally, names)
        if tally.begun:
            yield "<h3>Points</h3>\n" + _points(tally)
            yield "<h3>Properties</h3>\n" + _properties(tally)
        if tally.findings:
            yield "<h3>Findings</h3>\n"
            for found, count in tally.findings.most_common(MOST_FINDINGS):
                yield from _finding(tally, found, count, course)


def _in_short(tally: Tally) -> str:
    rarest = next(tally.rates(), None) if tally.begun else None
    missing = "" if rarest is None or rarest[2] == tally.begun else rarest[1]
    counts = (tally.handed_in, len(tally.not_begun), tally.points[TENTHS])
    numbers = "".join(f'<td class="number">{count}</td>' for count in counts)
    link = f'<a href="#{tally.puzzle}">{escape(catalog.load(tally.puzzle).heading)}</a>'
    return f"<td>{link}</td>{numbers}<td>{escape(missing)}</td>"


def _handed_in(tally: Tally) -> str:
    sentences = [f"Of {tally.students} students, {tally.handed_in} have handed in."]
    if tally.not_begun:
        sentences.append(f"Not begun: {len(tally.not_begun)}, with those who handed in an empty stub.")
    if tally.not_judged:
        sentences.append(f"Not judged yet: {tally.not_judged}. Type make grade, and make this page again.")
    if tally.no_verdict:
        sentences.append(f"Cannot be graded as they are: {len(tally.no_verdict)}.")
    if tally.forbidden:
        sentences.append(f"Refused unread by the judge, for what a kernel may not use: {len(tally.forbidden)}.")
    if tally.published:
        sentences.append(
            f"Equal to this course's published solution, but for names, layout and comments: {tally.published}. A "
            "short kernel that follows the lesson may well be."
        )
    return " ".join(sentences)


def _who(tally: Tally, names: bool) -> Iterator[str]:
    """Lists of names, if they are asked for; why something cannot be graded names its files."""
    if not names:
        return
    reasons = [f"{name(student)} ({escape(clean(why, 300))})" for student, why in tally.no_verdict]
    lists = (
        ("Not begun", [name(one) for one in tally.not_begun]),
        ("Cannot be graded", reasons),
        ("Refused by the lint", [name(one) for one in tally.forbidden]),
    )
    for what, who in lists:
        if who:
            yield f"<p><b>{what}:</b> {', '.join(who)}.</p>\n"


def _points(tally: Tally) -> str:
    most = max(tally.points.values())
    return bars(
        ("share of the points", "", "students"),
        ((label(n), tally.points[n] / most, str(tally.points[n])) for n in reversed(range(TENTHS + 1))),
    )


def _properties(tally: Tally) -> str:
    return bars(
        ("property", "proven", ""),
        ((title, count / tally.begun, f"{100 * count / tally.begun:.0f} %") for _, title, count in tally.rates()),
    )


def _finding(tally: Tally, found: Sentence, count: int, course: Settings) -> Iterator[str]:
    shown = [one for work in tally.examples[found].values() if (one := _example(work, found, course)) is not None]
    if not shown:
        return
    finding = shown[0][0]
    yield f"<h4>{count} of {tally.begun}: {escape(finding.title)} [{escape(finding.id)}]</h4>\n"
    yield paragraph(" ".join(one for one in (finding.explanation, finding.hint) if one))
    sides = "".join(f'<div class="side">{kernel}</div>\n' for _, kernel in shown if kernel)
    yield f'<div class="pair">\n{sides}</div>\n'


def _example(work: Work, found: Sentence, course: Settings) -> tuple[Finding, str] | None:
    """Return a finding in somebody's kernel, and the kernel; None if the file has changed since it was counted."""
    try:
        handed, verdict = recorded(work.puzzle, chosen(work), course)
    except Unresolved:
        return None
    finding = next((one for one in verdict.findings if (one.id, one.title) == found), None) if verdict else None
    if finding is None:
        return None
    text, where = kernels_of(catalog.load(work.puzzle), handed.submission), (finding.where.cell, finding.where.line)
    lines = range(1, 2 + text.count("\n"))
    marked = next((number for number in lines if handed.submission.place(number) == where), None)
    bare = enumerate(_without_comments(text).split("\n"), start=1)
    return finding, code(((line, number == marked) for number, line in bare if line.strip()), _LINES)


def _without_comments(text: str) -> str:
    """Comments and docstrings may say whose a kernel is; nothing is left of what Python cannot read."""
    try:
        return without_comments(text)
    except (tokenize.TokenError, SyntaxError):
        return ""
