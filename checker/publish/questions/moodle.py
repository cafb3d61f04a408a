"""Questions in Moodle's own XML, for *Import questions* in a question bank."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from checker.publish.questions import shown
from checker.publish.questions.bank import Question


def quiz(questions: Sequence[Question]) -> bytes:
    """The file. Moodle shows the name of a question to students here and there, so it says nothing."""
    root = ElementTree.Element("quiz")
    for number, one in enumerate(questions, start=1):
        question = ElementTree.SubElement(root, "question", type="multichoice")
        _text(question, "name", f"{one.puzzle}, {one.kind} {number}")
        _text(question, "questiontext", shown.question(one), format="html")
        _text(question, "generalfeedback", shown.feedback(one), format="html")
        ElementTree.SubElement(question, "single").text = "true" if one.kind == "line" else "false"
        ElementTree.SubElement(question, "shuffleanswers").text = "false"
        ElementTree.SubElement(question, "answernumbering").text = "none" if one.kind == "line" else "abc"
        for choice, fraction in zip(one.choices, fractions(one), strict=True):
            _text(question, "answer", shown.choice(choice), fraction=fraction, format="html")
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def fractions(one: Question) -> list[str]:
    """What each choice counts for, in percent, as Moodle writes it: at most five decimals.

    Of several right ones, each is a part of the whole, and each wrong one takes a part: to tick everything gives 0.
    """
    right = sum(choice.right for choice in one.choices)
    taken = 0.0 if one.kind == "line" else -100 / (len(one.choices) - right)
    return [f"{100 / right if choice.right else taken:.7g}" for choice in one.choices]


def _text(parent: ElementTree.Element, tag: str, text: str, **attributes: str) -> None:
    ElementTree.SubElement(ElementTree.SubElement(parent, tag, attributes), "text").text = text
