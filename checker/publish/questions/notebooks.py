"""Questions as notebooks: one to hand out or print, a question a cell, and one with the answers as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from checker import catalog
from checker.course.lesson import notebook_json
from checker.publish.questions import shown
from checker.publish.questions.bank import Question


def handed_out(questions: Sequence[Question]) -> str:
    """The notebook without answers."""
    return _notebook([_title(questions[0], "questions"), *map(_asked, range(1, len(questions) + 1), questions)])


def with_answers(questions: Sequence[Question]) -> str:
    """The same questions, and below each a cell with its answers."""
    cells = [_title(questions[0], "questions and answers")]
    for number, one in enumerate(questions, start=1):
        cells += [_asked(number, one), _answer(one)]
    return _notebook(cells)


def _title(one: Question, what: str) -> str:
    return f"<h1>{escape(f'{catalog.load(one.puzzle).heading}, {what}')}</h1>\n"


def _asked(number: int, one: Question) -> str:
    choices = "".join(f"<li>☐ {shown.choice(choice)}</li>\n" for choice in one.choices)
    return f"<h2>Question {number}</h2>\n{shown.question(one)}<ul>\n{choices}</ul>\n"


def _answer(one: Question) -> str:
    right = "".join(f"<li>{shown.choice(choice)}</li>\n" for choice in one.choices if choice.right)
    return f"<h3>Answer</h3>\n<ul>\n{right}</ul>\n{shown.feedback(one)}<p>The kernel: {escape(one.kernel)}</p>\n"


def _notebook(cells: Iterable[str]) -> str:
    made = [
        {"cell_type": "markdown", "id": f"cell-{number}", "metadata": {}, "source": source}
        for number, source in enumerate(cells)
    ]
    metadata = {"language_info": {"name": "python"}}
    return notebook_json({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})
