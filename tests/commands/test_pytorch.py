"""Puzzles that are written in PyTorch, where there is none, and where commands have nothing to do for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.course import ladder
from checker.course.places import solution
from tests.conftest import ROOT, Started, typed

IN_PYTORCH = [rung.id for rung in ladder.RUNGS.values() if rung.pytorch]


def test_without_pytorch_they_say_what_installs_it(without_pytorch: Started, tmp_path: Path) -> None:
    done = without_pytorch("checker", "check", "a2")
    assert done.returncode == 2 and "make torch" in done.stdout
    (tmp_path / "mine.py").write_text("def attention(q, k, v): ...")
    done = without_pytorch("checker", "own", str(tmp_path / "mine.py"))
    assert done.returncode == 2 and "make torch" in done.stdout
    assert without_pytorch("checker", "check", "w1", "--file", str(solution("w1")), "--no-compile").returncode == 0


def test_without_pytorch_all_puzzles_are_the_others(without_pytorch: Started) -> None:
    done = without_pytorch("checker", "check", "--no-compile")
    assert done.stderr.startswith(f"Left out: {', '.join(IN_PYTORCH)}.") and "make torch" in done.stderr
    listed = [line.split()[0] for line in done.stdout.splitlines() if line[:1].isalpha()]
    assert [word for word in listed if word in ladder.RUNGS] == [id for id in ladder.ORDER if id not in IN_PYTORCH]


@pytest.mark.parametrize("puzzle_id", [one for one in IN_PYTORCH if not ladder.RUNGS[one].launches])
@pytest.mark.parametrize(
    ("verb", "sentence"), [("trace", "no loads to draw"), ("bench", "not timed"), ("compiled", "no kernel to compile")]
)
def test_what_there_is_not_for_them_is_said(puzzle_id: str, verb: str, sentence: str, tmp_path: Path) -> None:
    into = () if verb == "compiled" else ("--into", str(tmp_path / "drawn"))
    done = typed(verb, puzzle_id, "--file", str(solution(puzzle_id)), *into, cwd=ROOT)
    assert done.returncode == 2 and sentence in done.stderr
    assert not (tmp_path / "drawn").exists()
