"""A page of HTML for an instructor: no script, nothing fetched, every text as it was typed."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from checker.course.clean import one_line

_COLUMNS = 300  # of a line of a program
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
body {{ font-family: sans-serif; line-height: 1.45; margin: 1em 2em }}
p {{ max-width: 50em }}
.pair {{ display: flex; flex-wrap: wrap; gap: 1em }}
.side {{ flex: 1 1 30em; min-width: 0 }}
h1 {{ font-size: 1.6em }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.3; font-size: .9em }}
mark {{ background: rgba(230, 159, 0, .3); color: inherit; font-weight: bold }}
table {{ border-collapse: collapse }}
th, td {{ text-align: left; padding: .1em 1em .1em 0; vertical-align: top; font-weight: normal }}
th {{ opacity: .75 }}
td.number {{ text-align: right }}
.bar {{ background: #1F6FA8; height: .8em; margin-top: .3em }}
.boxes {{ list-style: none; columns: 2; padding: 0 }}
.whole {{ break-inside: avoid }}
@media print {{ .sheet + .sheet {{ break-before: page }} }}
</style>
</head>
<body>
"""


def document(title: str, parts: Iterable[str]) -> str:
    """The page. `title`: a text, for the browser; `parts`: HTML, in which each `sheet` begins on new paper."""
    return "".join([_HEAD.format(title=escape(title)), *parts, "</body>\n</html>\n"])


def name(student: str) -> str:
    """A student's name as HTML, on one line."""
    return escape(one_line(student))


def code(lines: Iterable[tuple[str, bool]], most: int = 400) -> str:
    """(line, whether it is marked) of a program as HTML; what is longer than `most` was not written for a lesson."""
    shown = []
    for line, marked in lines:
        text = escape(one_line(line, _COLUMNS))
        shown.append(f"<mark>{text}</mark>" if marked else text)
    more = [f"… and {len(shown) - most} more lines"] if len(shown) > most else []
    return f'<pre tabindex="0">{chr(10).join([*shown[:most], *more])}</pre>\n'


def paragraph(text: str) -> str:
    """A text as a paragraph."""
    return f"<p>{escape(text)}</p>\n"


def bars(heads: tuple[str, str, str], rows: Iterable[tuple[str, float, str]]) -> str:
    """A table of (what it is, share of the widest bar, the number in words), each row with a bar."""
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    body = "".join(
        f'<tr><td>{escape(what)}</td><td><div class="bar" style="width:{min(share, 1.0) * 16:.2f}em"></div></td>'
        f'<td class="number">{escape(number)}</td></tr>\n'
        for what, share, number in rows
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
