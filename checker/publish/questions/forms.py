"""Questions in Moodle's own XML, for *Import questions* in a question bank, and as notebooks to hand out or print."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from xml.etree import ElementTree

from checker import catalog
from checker.course.lesson import new_cell, new_notebook, notebook_json
from checker.publish.questions.bank import Choice, Question

_ASKED = "This kernel was right until one of its lines was changed. Which line is it?"


def quiz(questions: Sequence[Question]) -> bytes:
    """Moodle's file. Moodle shows the name of a question to students here and there, so it says nothing."""
    root = ElementTree.Element("quiz")
    for number, one in enumerate(questions, start=1):
        question = ElementTree.SubElement(root, "question", type="multichoice")
        _text(question, "name", f"{one.puzzle}, line {number}")
        _text(question, "questiontext", _question(one), format="html")
        _text(question, "generalfeedback", _feedback(one), format="html")
        for tag, said in (("single", "true"), ("shuffleanswers", "false"), ("answernumbering", "none")):
            ElementTree.SubElement(question, tag).text = said
        for choice in one.choices:
            _text(question, "answer", _choice(choice), fraction="100" if choice.right else "0", format="html")
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _text(parent: ElementTree.Element, tag: str, text: str, **attributes: str) -> None:
    ElementTree.SubElement(ElementTree.SubElement(parent, tag, attributes), "text").text = text


def handed_out(questions: Sequence[Question]) -> str:
    """The notebook without answers, a question a cell."""
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
    choices = "".join(f"<li>☐ {_choice(choice)}</li>\n" for choice in one.choices)
    return f"<h2>Question {number}</h2>\n{_question(one)}<ul>\n{choices}</ul>\n"


def _answer(one: Question) -> str:
    right = "".join(f"<li>{_choice(choice)}</li>\n" for choice in one.choices if choice.right)
    return f"<h3>Answer</h3>\n<ul>\n{right}</ul>\n{_feedback(one)}<p>The kernel: {escape(one.kernel)}</p>\n"


def _notebook(sources: Sequence[str]) -> str:
    cells = [new_cell("markdown", f"cell-{number}", source) for number, source in enumerate(sources)]
    return notebook_json(new_notebook(cells))


# The parts of a question as HTML, which Moodle and the Markdown of a notebook both take.


def _question(one: Question) -> str:
    """What is asked, and the kernel with numbered lines."""
    listing = "\n".join(f"{number:3}  {escape(line)}".rstrip() for number, line in enumerate(one.lines, start=1))
    return f"<p>{_ASKED}</p>\n<pre>{listing}</pre>\n"


def _choice(one: Choice) -> str:
    return f"Line {one.line}: <code>{escape(one.text)}</code>"


def _feedback(one: Question) -> str:
    """What the mistake is."""
    return f"<p>{escape(one.says)}</p>\n"
