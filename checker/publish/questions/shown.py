"""The parts of a question as HTML, which Moodle and the Markdown of a notebook both take."""

from __future__ import annotations

from html import escape

from checker import catalog
from checker.grading.viva.page import TRAFFIC
from checker.publish.questions.bank import Choice, Question

_ASKED = {
    "line": "This kernel was right until one of its lines was changed. Which line is it?",
    "property": "This kernel has one mistake. Tick every property that it fails.",
}


def question(one: Question) -> str:
    """What is asked, and the kernel with numbered lines."""
    listing = "\n".join(f"{number:3}  {escape(line)}".rstrip() for number, line in enumerate(one.lines, start=1))
    notes = [
        TRAFFIC.format(title=escape(its.title))
        for its in catalog.load(one.puzzle).properties
        if one.kind == "property" and its.traffic
    ]
    return f"<p>{_ASKED[one.kind]}</p>\n{''.join(notes)}<pre>{listing}</pre>\n"


def choice(one: Choice) -> str:
    """An answer to choose."""
    return f"Line {one.line}: <code>{escape(one.text)}</code>" if one.line else escape(one.text)


def feedback(one: Question) -> str:
    """What the mistake is, and what the judge says first."""
    finding = f"<p>The judge says: {escape(one.finding)}</p>\n" if one.finding else ""
    return f"<p>{escape(one.says)}</p>\n{finding}"
