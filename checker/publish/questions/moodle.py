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
        _text(question, "name", f"{one.puzzle}, line {number}")
        _text(question, "questiontext", shown.question(one), format="html")
        _text(question, "generalfeedback", shown.feedback(one), format="html")
        ElementTree.SubElement(question, "single").text = "true"
        ElementTree.SubElement(question, "shuffleanswers").text = "false"
        ElementTree.SubElement(question, "answernumbering").text = "none"
        for choice in one.choices:
            _text(question, "answer", shown.choice(choice), fraction="100" if choice.right else "0", format="html")
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _text(parent: ElementTree.Element, tag: str, text: str, **attributes: str) -> None:
    ElementTree.SubElement(ElementTree.SubElement(parent, tag, attributes), "text").text = text
