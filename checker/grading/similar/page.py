"""Pairs side by side, as one page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from checker import catalog
from checker.grading.document import code, document, name
from checker.grading.similar.fingerprints import GRAM
from checker.grading.similar.pairs import Found, Pair, Side

_WORDS = """\
<p>These are pairs of submissions that share passages which few others in the class have, and which are in neither the
stub, the lesson nor the solution. Names, layout, comments and the spelling of numbers do not count.</p>
<p><b>This is no finding about anybody.</b> A short kernel that follows a lesson leaves few choices, and two people
can write the same lines independently, from the same lecture, the same page or the same tutor, or because they were
allowed to work together. What is shown here is a reason to read both, and perhaps to ask both how their kernel works;
it cannot say who wrote what, and it should decide nothing alone. That a pair is not here proves nothing either.</p>
"""


def html(classes: Sequence[Found], counted: int, unread: int) -> str:
    """Return the page. `counted`: submissions that were compared; `unread`: that could not be read."""
    return document("Passages in common", ["<h1>Passages in common</h1>\n", *_parts(classes, counted, unread)])


def _parts(classes: Sequence[Found], counted: int, unread: int) -> Iterator[str]:
    yield _WORDS
    left_out = f" Left out, because they cannot be read: {unread}." if unread else ""
    yield f"<p>Submissions compared: {counted}. Pairs to look at: {sum(one.total for one in classes)}.{left_out}</p>\n"
    for one in classes:
        if one.pairs:
            yield f"<h2>{escape(catalog.load(one.puzzle).heading)}</h2>\n"
        if one.total > len(one.pairs):
            yield f"<p>Of {one.total} pairs, the {len(one.pairs)} with most in common.</p>\n"
        for pair in one.pairs:
            yield from _pair(pair)


def _pair(pair: Pair) -> Iterator[str]:
    yield f"<h3>{name(pair.left.student)} and {name(pair.right.student)}</h3>\n"
    yield (
        f"<p>In common: {pair.shared} of {pair.of} passages of {GRAM} words or signs that at most {pair.few} students "
        "have; the lines in which these stand are marked.</p>\n"
    )
    if pair.others:
        others = ", ".join(map(name, pair.others))
        yield f"<p>One of the two, whatever the names in it, was also handed in by {others}.</p>\n"
    yield f'<div class="pair">\n{_side(pair.left)}{_side(pair.right)}</div>\n'


def _side(side: Side) -> str:
    lines = ((line, number in side.marked) for number, line in enumerate(side.lines) if line.strip())
    return f'<div class="side"><b>{name(side.student)}</b>{code(lines)}</div>\n'
