"""Each place at which a kernel can differ from the solution has one short paragraph, which asks something."""

from __future__ import annotations

import re

from checker.course import ladder
from checker.course.language import CHINESE
from checker.course.translation import phrasebook
from checker.judge.difference.events import Kind
from checker.judge.difference.finding import question, questions
from checker.judge.difference.recordings import recordings

PLACES = {
    (puzzle_id, kernel): {
        event.name if event.kind is Kind.NAME else f"{event.kind.value} {event.name}".strip()
        for launch in launches
        for events in launch.programs.values()
        for event in events
        if event.kind is not Kind.EXACT  # which asks about what comes of it
    }
    for puzzle_id in ladder.RUNGS
    for kernel, launches in recordings(puzzle_id).items()
}
EVERY = sorted({paragraph for own, _ in questions().values() for paragraph in own.values()})


def test_each_place_has_a_paragraph_and_none_is_left_over() -> None:
    assert PLACES.keys() == questions().keys()
    for kernel, (own, _) in questions().items():
        assert not own.keys() - PLACES[kernel], kernel
        assert all(question(*kernel, place) for place in PLACES[kernel]), kernel
    assert question("p3", "online_softmax_kernel", "l") and not question("p3", "online_softmax_kernel", "r")


def test_a_paragraph_is_short_and_ends_with_its_one_question() -> None:
    assert [paragraph for paragraph in EVERY if not _short(paragraph) or not _asks(paragraph)] == []


def _short(paragraph: str) -> bool:
    sentences = re.split(r"(?<=[.?]) (?=[A-Z\d])", paragraph)
    long = [one for one in sentences if len(one.split()) > 25 or len(re.findall("[:;]", one)) > 1]
    return len(paragraph.split()) <= 45 and not long


def _asks(paragraph: str) -> bool:
    return paragraph.endswith("?") and paragraph.count("?") == 1 and "tl." not in paragraph and "`" not in paragraph


def test_a_paragraph_has_chinese() -> None:
    chinese = phrasebook(CHINESE).whole
    assert [paragraph for paragraph in EVERY if not chinese.get(paragraph, "").endswith("？")] == []
