"""A page of HTML for an instructor: no script, nothing fetched, every text as it was typed."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from checker.course.clean import one_line

_COLUMNS = 300  # of a line of a program
_HEAD = Path(__file__).with_suffix(".html")


def document(title: str, parts: Iterable[str]) -> str:
    """Return the page. `title`: a text, for the browser; `parts`: HTML, in which each `sheet` begins on new paper."""
    head = _HEAD.read_text(encoding="utf-8").replace("{title}", escape(title))
    return "".join([head, *parts, "</body>\n</html>\n"])


def name(student: str) -> str:
    """Return a student's name as HTML, on one line."""
    return escape(one_line(student))


def typed(line: str) -> str:
    """Return one line of a program, or one that was made from it."""
    return escape(one_line(line, _COLUMNS))


def code(lines: Iterable[tuple[str, bool]], most: int = 400) -> str:
    """(line, whether it is marked) of a program as HTML; what is longer than `most` was not written for a lesson."""
    shown = [f"<mark>{typed(line)}</mark>" if marked else typed(line) for line, marked in lines]
    more = [f"… and {len(shown) - most} more lines"] if len(shown) > most else []
    return f'<pre tabindex="0">{chr(10).join([*shown[:most], *more])}</pre>\n'


def paragraph(text: str) -> str:
    """Return a text as a paragraph."""
    return f"<p>{escape(text)}</p>\n"


def bars(heads: tuple[str, str, str], rows: Iterable[tuple[str, float, str]]) -> str:
    """Return a table of (what it is, share of the widest bar, the number in words), each row with a bar."""
    return table(
        heads,
        (
            f'<td>{escape(what)}</td><td><div class="bar" style="width:{min(share, 1.0) * 16:.2f}em"></div></td>'
            f'<td class="number">{escape(number)}</td>'
            for what, share, number in rows
        ),
    )


def table(heads: Iterable[str], rows: Iterable[str]) -> str:
    """Return a table with what stands above its columns, and HTML for the cells of each row."""
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    body = "".join(f"<tr>{row}</tr>\n" for row in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
