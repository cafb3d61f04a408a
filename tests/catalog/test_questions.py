"""The question that a report asks before its hint: one for every misconception, and not the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from checker import catalog
from checker.course import ladder
from checker.course.kernel import GAP
from checker.course.misconception import Misconception
from checker.course.puzzle import Puzzle
from tests.conftest import ROOT

EXPERIMENTS = (  # how a sentence begins that asks nothing, but says what to try
    *("Change", "Compare", "Compute", "Count", "Draw", "Follow", "Launch", "Look", "Make", "Mark", "Predict", "Print"),
    *("Put", "Read", "Replace", "Run", "Say", "Take", "Trace", "Try", "Work", "Write"),
)
LEAST_WORDS = 12  # of an explanation: fewer only say the title again

SET_AT_A_LAUNCH = {"grid", "PUZZLE"}  # beside the parameters
GIVEN = re.compile(r"(\w+)[\])]*\s*(?:[-+*@%&|]|//?|\*\*)?=(?!=)")  # the last name before an equals sign
TL_NAME = re.compile(r"\btl\.\w+")

every_puzzle = pytest.mark.parametrize("puzzle_id", ladder.RUNGS)


def assigned(text: str, parameters: Iterable[str]) -> list[str]:
    """Names that get a value in a text, as variables or as keywords of a call.

    `other=0.0`, `m = m_new` and `l += ...` are lines that a learner has to find. "n = 10" and
    `run(kernel, n=10, grid=3)` only say how a kernel is launched, so parameters are not counted.
    """
    return [name for name in GIVEN.findall(text) if name not in {*parameters, *SET_AT_A_LAUNCH}]


def parameters(puzzle: Puzzle) -> set[str]:
    return {name for kernel in puzzle.kernels for name in kernel.parameters}


def names_met(puzzle_id: str) -> set[str]:
    """The names of `tl` that a learner has read when the stub ends: of this lesson, and of no other."""
    lesson = (ROOT / "puzzles" / f"{ladder.stems()[puzzle_id]}.py").read_text(encoding="utf-8")
    above, gap, _ = lesson.rpartition(GAP)
    assert gap, "a lesson with a stub"
    return set(TL_NAME.findall(above))


def of(puzzle_id: str) -> tuple[Misconception, ...]:
    return catalog.load(puzzle_id).misconceptions


@every_puzzle
def test_every_misconception_asks_or_has_something_tried(puzzle_id: str) -> None:
    for misconception in of(puzzle_id):
        sentences = re.split(r"(?<=[.?])\s+", misconception.question)
        asks = any(s.endswith("?") or (s.endswith(".") and s.split()[0] in EXPERIMENTS) for s in sentences)
        assert asks, (misconception.id, misconception.question)


@every_puzzle
def test_no_question_gives_the_line_away(puzzle_id: str) -> None:
    puzzle = catalog.load(puzzle_id)
    known = names_met(puzzle_id)
    for misconception in puzzle.misconceptions:
        question = misconception.question
        assert not assigned(question, parameters(puzzle)), (misconception.id, question)
        assert set(TL_NAME.findall(question)) <= known, (misconception.id, question)


@every_puzzle
def test_an_explanation_says_more_than_its_title(puzzle_id: str) -> None:
    for misconception in of(puzzle_id):
        assert len(misconception.explanation.split()) >= LEAST_WORDS, (misconception.id, misconception.explanation)


@every_puzzle
def test_different_mistakes_are_asked_about_differently(puzzle_id: str) -> None:
    ids: dict[str, set[str]] = {}
    for misconception in of(puzzle_id):
        ids.setdefault(misconception.question, set()).add(misconception.id)
    assert not {question: shared for question, shared in ids.items() if len(shared) > 1}


@every_puzzle
def test_no_text_has_a_place_left_to_fill(puzzle_id: str) -> None:
    """Texts that several puzzles share are worded for each kernel."""
    for one in of(puzzle_id):
        assert not re.search(r"\{\w+\}", " ".join((one.title, one.explanation, one.hint, one.question))), one.id


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Is m = m_new the last line?", ["m"]),
        ("Is it other=0.0 that you want?", ["other"]),
        ("Does l += tl.sum(x) stand in the loop?", ["l"]),
        ("What does dq[i] = ... do?", ["i"]),
        ("With n = 10 and BLOCK_SIZE=4, is offsets < n, or offsets <= n, or n == 10, or n != 10?", []),
        ("Run `run(kernel, x_ptr=x, n=10, BLOCK_SIZE=4, grid=3)`: what is y?", []),
        ("What does `make trace PUZZLE=3` draw?", []),
    ],
)
def test_a_launch_is_told_from_an_assignment(text: str, names: list[str]) -> None:
    assert assigned(text, {"n", "x_ptr", "BLOCK_SIZE"}) == names
