"""Hints come one at a time, the same ones as in the lesson, and are remembered."""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from checker.learner.hints import hints_of, plain
from tests.conftest import ROOT, ran
from tests.learner.conftest import STEMS, Course


def shown(output: str) -> list[int]:
    """The levels of the hints in a report."""
    return [int(level) for level in re.findall(r"hint (\d) of 3", output, re.IGNORECASE)]


@pytest.mark.parametrize("puzzle_id", STEMS, ids=STEMS.values())
def test_every_puzzle_has_three_that_a_terminal_can_show(puzzle_id: str) -> None:
    hints = hints_of(puzzle_id, ROOT)
    assert [hint.level for hint in hints] == [1, 2, 3]
    for hint in hints:
        text = plain(hint.text)
        assert hint.title and len(text) > 40
        assert not set(text) & set("$\\"), "a terminal shows no formulas"
        assert text.count("`") % 2 == 0


def test_the_notebook_has_the_same(course: Course) -> None:
    there = {puzzle_id: hints_of(puzzle_id, course.root) for puzzle_id in STEMS}
    for puzzle_id in STEMS:
        course.script(puzzle_id).write_text("# the lesson is gone\n")
    assert there == {puzzle_id: hints_of(puzzle_id, course.root) for puzzle_id in STEMS}


def test_one_more_each_time_and_then_no_more(course: Course) -> None:
    texts = [plain(hint.text).split("\n")[0][:30] for hint in hints_of("p4", course.root)]
    for level in (1, 2, 3):
        done = course.run("hint", "4")
        assert (done.returncode, shown(done.stdout)) == (0, [level])
        assert [text in done.stdout for text in texts] == [n == level for n in (1, 2, 3)]
        assert ("make hint PUZZLE=p4" in done.stdout) == (level < 3)
        assert ("opens after success" in done.stdout) == (level == 3)
        assert course.progress == f"puzzle p4: not solved, {level} hint{'s' if level > 1 else ''} seen\n"
    done = course.run("hint", "4")
    assert (done.returncode, shown(done.stdout)) == (0, [])
    assert "seen all 3 hints" in done.stdout and "make solution PUZZLE=p4" in done.stdout
    assert not any(text in done.stdout for text in texts)


def test_again_shows_those_seen_and_changes_nothing(course: Course) -> None:
    assert shown(course.run("hint", "2", "--again").stdout) == []
    course.run("hint", "2")
    course.run("hint", "2")
    before = course.progress
    assert shown(course.run("hint", "2", "--again").stdout) == [1, 2]
    assert course.progress == before
    assert shown(course.run("hint", "2").stdout) == [3]
    assert shown(course.run("hint", "3").stdout) == [1]  # another puzzle begins at the beginning


def test_success_opens_the_solution_in_words_too(course: Course) -> None:
    (course.root / "progress.txt").write_text("puzzle p1: solved, 2 hints seen\n")
    assert "The solution is open" in course.run("hint", "1").stdout


def test_two_who_ask_at_the_same_time_get_two_hints(course: Course) -> None:
    with ThreadPoolExecutor() as pool:
        outputs = pool.map(lambda _: course.run("hint", "6").stdout, range(3))
    assert sorted(level for output in outputs for level in shown(output)) == [1, 2, 3]


def test_more_hints_than_there_are_is_all_of_them(course: Course) -> None:
    (course.root / "progress.txt").write_text("puzzle p1: not solved, 999 hints seen\n")
    assert shown(course.run("hint", "1", "--again").stdout) == [1, 2, 3]
    assert "3 of 3" in course.run("progress").stdout


def test_without_a_lesson_it_says_so(course: Course) -> None:
    course.script("p1").unlink()
    course.notebook("p1").write_text("{}")
    done = course.run("hint", "1")
    assert (done.returncode, "Puzzle p1 has no hints" in done.stdout) == (0, True)


@pytest.mark.parametrize("puzzle_id", ["p2", "p7"])
def test_forty_columns_are_enough(puzzle_id: str, course: Course) -> None:
    for _ in range(3):
        lines = course.run("hint", puzzle_id, COLUMNS="40").stdout.split("\n")
        assert all(len(line.rstrip()) <= 40 for line in lines)


def test_outside_of_a_notebook_too(course: Course) -> None:
    """In a plain Python there is no notebook, and the hint is shown all the same."""
    code = (
        "from checker.notebook import hint; print(hint(1)); print(hint(1, again=True)); print(hint(9)); print(hint([]))"
    )
    done = ran(sys.executable, "-c", code, cwd=course.root, ends=0, env=course.environment())
    assert shown(done.stdout) == [1, 1] and "There is no puzzle 9" in done.stdout
    assert course.progress == "puzzle p1: not solved, 1 hint seen\n"
