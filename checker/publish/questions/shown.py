"""The parts of a question as HTML, which Moodle and the Markdown of a notebook both take."""

from __future__ import annotations

from html import escape

from checker.publish.questions.bank import Choice, Question

_ASKED = "This kernel was right until one of its lines was changed. Which line is it?"


def question(one: Question) -> str:
    """What is asked, and the kernel with numbered lines."""
    listing = "\n".join(f"{number:3}  {escape(line)}".rstrip() for number, line in enumerate(one.lines, start=1))
    return f"<p>{_ASKED}</p>\n<pre>{listing}</pre>\n"


def choice(one: Choice) -> str:
    """An answer to choose."""
    return f"Line {one.line}: <code>{escape(one.text)}</code>"


def feedback(one: Question) -> str:
    """What the mistake is."""
    return f"<p>{escape(one.says)}</p>\n"
