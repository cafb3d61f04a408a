"""Find the bug: kernels with one mistake in them, a guess, and a fix in one edit."""

from __future__ import annotations

import re
import shutil

import pytest

from checker import catalog
from checker.check import Conditions, check
from checker.course import ladder
from checker.course.edits import changes
from checker.course.language import CHINESE, speaking
from checker.course.paragraphs import in_language
from checker.learner.bugs import Bug, bugs_of, museum
from checker.submission.read import from_cells
from tests.conftest import ROOT, lending
from tests.learner.conftest import Course, solution_text

EVERY = [bug for puzzle_id in ladder.RUNGS for bug in bugs_of(puzzle_id)]


def named(bug: Bug) -> str:
    return f"{bug.puzzle}_{bug.number}"


@pytest.mark.finished
@pytest.mark.parametrize("puzzle_id", ladder.RUNGS)
def test_a_puzzle_has_six_and_no_two_are_the_same(puzzle_id: str) -> None:
    bugs = bugs_of(puzzle_id)
    assert len({bug.text for bug in bugs}) == len(bugs) >= 6
    assert [bug.number for bug in bugs] == list(range(1, len(bugs) + 1))
    for bug in bugs:
        assert len(changes(bug.text, bug.text.partition("\n")[0] + "\n" + solution_text(puzzle_id))) >= 1


@pytest.mark.parametrize("bug", EVERY, ids=named)
def test_it_breaks_a_property(bug: Bug) -> None:
    submission = from_cells([("code", bug.text)], bug.path().name, numbered=False)
    verdict = check(bug.puzzle, submission, lending(Conditions(targets=()))).verdict
    assert not verdict.accepted and verdict.findings
    assert not all(p.passed for p in verdict.properties)


def test_the_museum_has_a_report_for_each_piece_in_both_languages() -> None:
    pieces = museum()
    assert len(pieces) >= 24 and {one.puzzle for one in pieces} == {*(f"p{n}" for n in range(2, 8)), "b1", "b2", "b3"}
    codes = [bug.text.partition("\n")[2] for bug in [*EVERY, *pieces]]
    assert len(set(codes)) == len(codes)
    for one in pieces:
        assert re.search(
            r"^\[[\w./-]+#\d+\]\(https://github\.com/\S+/\d+\),\s20\d\d-\d\d-\d\d\.\s", one.story, re.MULTILINE
        )
        with speaking(CHINESE):
            assert "（英文）" not in in_language(one.story)


def test_lines_that_differ_and_the_neighbours_of_those_that_are_gone() -> None:
    assert changes("a\nb\nc", "a\nB\nc") == [range(2, 3)]
    assert changes("a\nb\nc", "a\nb\nx\ny\nc") == [range(3, 5)]
    assert changes("a\nb\nc", "a\nc") == [range(2, 4)] or changes("a\nb\nc", "a\nc") == [range(1, 3)]
    assert changes("a\nb\nc", "a\nb\nc") == []
    assert len(changes("a\nb\nc\nd", "A\nb\nC\nd")) == 2


@pytest.fixture
def hunting(course: Course) -> Course:
    """A course with all that bugs are made of, whose puzzle p3 is solved."""
    (course.root / "tests" / "wrong").mkdir(parents=True)
    for path in {*(ROOT / "tests" / "wrong").glob("*.diff")} - {ROOT / "tests" / "wrong" / "p1.diff"}:
        shutil.copy(path, course.root / "tests" / "wrong")
    (course.root / "progress.txt").write_text("puzzle p3: solved 2026-01-01 10:00\n")
    return course


def test_a_hunt(hunting: Course) -> None:
    [bug] = [bug for bug in bugs_of("p3") if bug.number == 1]
    file = hunting.root / "bugs" / "p3_bug_1.py"
    shown = hunting.run("bug", "3")
    assert (shown.returncode, file.read_text()) == (0, bug.text)
    assert f"bug 1 of {bug.total}" in shown.stdout
    assert all(p.title in shown.stdout for p in catalog.load("p3").properties)

    [line] = bug.lines
    wrong = hunting.run("bug", "3", "--line", str(line - 1), "--fails", "far-rows values")
    assert "✗ Line" in wrong.stdout and "✓ values" in wrong.stdout and "✗ far-rows" in wrong.stdout
    right = hunting.run("bug", "3", "--line", str(line))
    assert (right.returncode, "✓ Line" in right.stdout) == (0, True)
    assert "values: failed with: every kind of row" in right.stdout
    assert "traffic: counted once the results are right" in right.stdout
    finding = next(m for m in catalog.load("p3").misconceptions if m.id == "denominator-not-rescaled")
    assert finding.title in right.stdout and finding.hint[:20] not in right.stdout

    file.write_text(bug.text.replace(":\n", ":  # mine\n\n"))
    assert "is as it was" in hunting.run("bug", "3", "--fix").stdout
    code = solution_text("p3").partition('"""\n')[2]
    head = bug.text.partition("\n")[0] + "\n"
    file.write_text(head.replace("mistake", "blunder") + code)
    twice = hunting.run("bug", "3", "--fix")
    assert (twice.returncode, "changed 2 places" in twice.stdout) == (1, True)
    file.write_text(head + code.replace("m - shift", "shift - m"))
    refused = hunting.run("bug", "3", "--fix")
    assert (refused.returncode, "Find out:" in refused.stdout, "Try:" in refused.stdout) == (1, True, False)
    file.write_text(f"{head}{code}\n# mine\n")
    fixed = hunting.run("bug", "3", "--fix")
    assert (fixed.returncode, "✓ fixed" in fixed.stdout) == (0, True)
    assert hunting.progress == "puzzle p3: solved 2026-01-01 10:00, 1 bug fixed\n"
    assert f"bug 2 of {bug.total}" in hunting.run("bug", "3").stdout


def test_a_piece_of_the_museum_tells_its_story_once_it_is_fixed(hunting: Course) -> None:
    piece = next(one for one in museum() if one.puzzle == "p3")
    number = ("bug", "--museum", str(piece.number))
    assert f"piece {piece.number} of {piece.total}, of puzzle p3" in hunting.run(*number).stdout
    told = hunting.run(*number, "--line", str(piece.lines[0])).stdout
    report = piece.story.partition("[")[2].partition("]")[0]
    assert "✓ Line" in told and report not in told
    head = piece.text.partition("\n")[0] + "\n"
    (hunting.root / "bugs" / f"museum_{piece.number}.py").write_text(head + solution_text("p3").partition('"""\n')[2])
    fixed = hunting.run(*number, "--fix")
    assert fixed.returncode == 0 and report in fixed.stdout and f"make bug MUSEUM={piece.number + 1}" in fixed.stdout
    assert f"solved 2026-01-01 10:00, fixed in the museum {piece.name}\n" in hunting.progress
    for again in ((), ("--line", str(piece.lines[0]))):
        told = hunting.run(*number, *again).stdout
        assert report in told and "You have fixed it." in told and "Now fix it" not in told
    _, *others = (one.name for one in museum() if one.puzzle == "p3")
    (hunting.root / "progress.txt").write_text(f"puzzle p3: solved, fixed in the museum {others[-1]}\n")
    assert f"make bug MUSEUM={piece.number + 1}" in hunting.run(*number, "--fix").stdout
    (hunting.root / "progress.txt").write_text(f"puzzle p3: solved, fixed in the museum {' '.join(others)}\n")
    assert "make bug" not in hunting.run(*number, "--fix").stdout  # all others are locked
    assert f"Bugs fixed: 0, and {1 + len(others)} in the museum." in hunting.run("progress").stdout


def test_what_the_learner_has_begun_is_kept(hunting: Course) -> None:
    hunting.run("bug", "3", "--number", "2")
    file = hunting.root / "bugs" / "p3_bug_2.py"
    file.write_text("# mine\n")
    assert "# mine" in hunting.run("bug", "3", "--number", "2").stdout
    assert file.read_text() == "# mine\n"


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["2"], 1, "Bugs open once puzzle p2 is solved"),
        (["3", "--number", "99"], 2, "there is no bug 99"),
        (["--museum", "1"], 1, "Bugs open once puzzle p2 is solved"),
        (["--museum", "0"], 2, "there is no bug 0"),
        (["3", "--fails", "speed"], 2, "no property speed"),
        (["3", "--line", "x"], 2, "--line"),
        (["3", "--fix"], 2, "make bug PUZZLE=p3"),
        (["p1"], 2, "has no bugs of puzzle p1"),
        ([], 2, "Say which puzzle"),
    ],
)
def test_what_cannot_be_gets_a_sentence(hunting: Course, arguments: list[str], status: int, words: str) -> None:
    done = hunting.run("bug", *arguments)
    assert (done.returncode, words in done.stdout + done.stderr) == (status, True), done


def test_all_bugs_fixed(hunting: Course) -> None:
    total = len(bugs_of("p3"))
    (hunting.root / "progress.txt").write_text(f"puzzle p3: solved, {total} bugs fixed\n")
    assert f"fixed all {total} bugs" in hunting.run("bug", "3").stdout
    assert not (hunting.root / "bugs").exists()
