"""The pages of a viva, for print: the questions, a student a sheet, and the answers. No script, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from checker import catalog
from checker.grading.document import code, document, name, typed
from checker.grading.viva.questions import Own, Question

_WORDS = """\
<p>This is your own kernel, which is right. Each question changes one line of it and leaves the others as they are.
Tick what would fail then, and be ready to say why.</p>
"""
TRAFFIC = """\
<p>Memory traffic is counted only where results are right. So “{title}” fails as well if the results that it
is counted for are wrong.</p>
"""

Asked = Mapping[str, tuple[Question, ...]]  # by the identity of a kernel


def questions(puzzle_id: str, class_: Sequence[Own], asked: Asked) -> str:
    """Return the page for the students."""
    return document(f"Questions: {catalog.load(puzzle_id).heading}", _questions(puzzle_id, class_, asked))


def answers(puzzle_id: str, class_: Sequence[Own], asked: Asked) -> str:
    """The page for whoever asks."""
    return document(f"Answers: {catalog.load(puzzle_id).heading}", _answers(puzzle_id, class_, asked))


def _questions(puzzle_id: str, class_: Sequence[Own], asked: Asked) -> Iterator[str]:
    title = escape(catalog.load(puzzle_id).heading)
    properties = catalog.load(puzzle_id).properties
    sandboxes = "".join(f"<li>☐ {escape(one.title)}</li>\n" for one in properties)
    notes = "".join(TRAFFIC.format(title=escape(one.title)) for one in properties if one.traffic)
    for own in class_:
        yield f'<section class="sheet">\n<h1>{name(own.work.student)}</h1>\n<p>{title}</p>\n{_WORDS}{notes}'
        lines = enumerate(own.listing.lines, start=1)
        yield code((f"{number:3}  {line}".rstrip(), False) for number, line in lines)
        for number, one in enumerate(asked[own.identity], start=1):
            yield f'<div class="whole">\n<p><b>{number}.</b> If line {one.line} read</p>\n'
            yield f"<pre>{one.line:3}  {typed(one.after)}</pre>\n"
            yield f'<p>which of these would fail?</p>\n<ul class="sandboxes">\n{sandboxes}</ul>\n</div>\n'
        yield "</section>\n"


def _answers(puzzle_id: str, class_: Sequence[Own], asked: Asked) -> Iterator[str]:
    title, titles = (
        escape(catalog.load(puzzle_id).heading),
        {one.name: one.title for one in catalog.load(puzzle_id).properties},
    )
    yield f"<h1>Answers: {title}</h1>\n<p>The judge has run each changed kernel, as in grading, and found this.</p>\n"
    for own in class_:
        yield f"<h2>{name(own.work.student)}</h2>\n<table>\n"
        yield "<tr><th></th><th>Line</th><th>What would fail</th><th>The judge's first finding</th></tr>\n"
        for number, one in enumerate(asked[own.identity], start=1):
            fails = "<br>".join(escape(titles[name]) for name in one.fails)
            line = f"<pre>{one.line}  {typed(one.after.strip())}</pre>"
            yield f"<tr><td>{number}</td><td>{line}</td><td>{fails}</td><td>{typed(one.finding)}</td></tr>\n"
        yield "</table>\n"
