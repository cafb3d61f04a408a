"""The pages of a viva, for print: the questions, a student a sheet, and the answers. No script, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from checker import catalog
from checker.course.clean import clean
from checker.grading.viva.questions import Own, Question

_LINES, _COLUMNS, _NAME = 400, 300, 200  # of one text; what is longer was not written for a lesson

_HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font-family: sans-serif; line-height: 1.4; margin: 1em 2em; max-width: 60em }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.3; font-size: .85em }}
ul {{ list-style: none; columns: 2; padding: 0 }}
li {{ break-inside: avoid }}
td, th {{ text-align: left; vertical-align: top; padding: .2em 1em .2em 0 }}
td pre {{ margin: 0 }}
.question {{ break-inside: avoid }}
@media print {{ .sheet + .sheet {{ break-before: page }} }}
</style>
</head>
<body>
"""
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
    """The page for the students."""
    return "".join(_questions(puzzle_id, class_, asked)) + "</body>\n</html>\n"


def answers(puzzle_id: str, class_: Sequence[Own], asked: Asked) -> str:
    """The page for whoever asks."""
    return "".join(_answers(puzzle_id, class_, asked)) + "</body>\n</html>\n"


def _questions(puzzle_id: str, class_: Sequence[Own], asked: Asked) -> Iterator[str]:
    title = _title(puzzle_id)
    yield _HEAD.format(title=f"Questions: {title}")
    properties = catalog.load(puzzle_id).properties
    boxes = "".join(f"<li>☐ {escape(one.title)}</li>\n" for one in properties)
    notes = "".join(TRAFFIC.format(title=escape(one.title)) for one in properties if one.traffic)
    for own in class_:
        yield f'<section class="sheet">\n<h1>{_name(own)}</h1>\n<p>{title}</p>\n{_WORDS}{notes}'
        yield f"<pre>{_numbered(own.listing.lines)}</pre>\n"
        for number, one in enumerate(asked[own.identity], start=1):
            yield f'<div class="question">\n<p><b>{number}.</b> If line {one.line} read</p>\n'
            yield f"<pre>{one.line:3}  {_line(one.after)}</pre>\n"
            yield f"<p>which of these would fail?</p>\n<ul>\n{boxes}</ul>\n</div>\n"
        yield "</section>\n"


def _answers(puzzle_id: str, class_: Sequence[Own], asked: Asked) -> Iterator[str]:
    title, titles = _title(puzzle_id), {one.name: one.title for one in catalog.load(puzzle_id).properties}
    yield _HEAD.format(title=f"Answers: {title}")
    yield f"<h1>Answers: {title}</h1>\n<p>The judge has run each changed kernel, as in grading, and found this.</p>\n"
    for own in class_:
        yield f"<h2>{_name(own)}</h2>\n<table>\n"
        yield "<tr><th></th><th>Line</th><th>What would fail</th><th>The judge's first finding</th></tr>\n"
        for number, one in enumerate(asked[own.identity], start=1):
            fails = "<br>".join(escape(titles[name]) for name in one.fails)
            line = f"<pre>{one.line}  {_line(one.after.strip())}</pre>"
            yield f"<tr><td>{number}</td><td>{line}</td><td>{fails}</td><td>{_line(one.finding)}</td></tr>\n"
        yield "</table>\n"


def _title(puzzle_id: str) -> str:
    return escape(f"Puzzle {puzzle_id}: {catalog.load(puzzle_id).title}")


def _numbered(lines: Sequence[str]) -> str:
    shown = [f"{number:3}  {_line(line)}".rstrip() for number, line in enumerate(lines[:_LINES], start=1)]
    more = [f"… and {len(lines) - _LINES} more lines"] if len(lines) > _LINES else []
    return "\n".join([*shown, *more])


def _line(text: str) -> str:
    """One line that a student has typed, or that was made from it."""
    return escape(clean(text, _COLUMNS).replace("\n", " "))


def _name(own: Own) -> str:
    return escape(clean(own.work.student, _NAME).replace("\n", " "))
