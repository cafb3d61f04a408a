"""Each place at which a kernel can differ from the solution has one short paragraph, which asks something."""

from __future__ import annotations

import re

import pytest

from checker.course import ladder
from checker.course.language import CHINESE
from checker.course.translation import phrasebook
from checker.judge.difference.events import Kind
from checker.judge.difference.questions import question, questions
from checker.judge.difference.recordings import recordings

PLACES = {
    (puzzle_id, kernel, event.name if event.kind is Kind.NAME else f"{event.kind.value} {event.name}".strip())
    for puzzle_id in ladder.RUNGS
    for kernel, launches in recordings(puzzle_id).items()
    for launch in launches
    for events in launch.programs.values()
    for event in events
}
EVERY = sorted(set(questions().values()))


def test_each_place_has_a_paragraph_and_none_is_left_over() -> None:
    assert PLACES and sorted(PLACES ^ questions().keys()) == []
    assert question("p3", "online_softmax_kernel", "l") and not question("p3", "online_softmax_kernel", "loop l")


@pytest.mark.parametrize("paragraph", EVERY)
def test_a_paragraph_is_short_and_ends_with_its_one_question(paragraph: str) -> None:
    sentences = re.split(r"(?<=[.?]) (?=[^a-z])", paragraph)
    assert len(paragraph.split()) <= 45 and all(len(sentence.split()) <= 30 for sentence in sentences)
    assert paragraph.endswith("?") and paragraph.count("?") == 1
    assert all(len(re.findall(r"[:;]", sentence)) <= 1 for sentence in sentences)
    assert not re.search(r"tl\.|`|\w = (?!-?[\d.])|=\s*tl", paragraph)


@pytest.mark.parametrize("paragraph", EVERY)
def test_a_paragraph_has_chinese(paragraph: str) -> None:
    assert phrasebook(CHINESE).whole.get(paragraph, "").endswith("？")
