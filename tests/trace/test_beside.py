"""The other puzzle that a trace is compared with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checker import catalog
from checker.course import ladder
from checker.trace import run, words
from tests.conftest import ROOT
from tests.kernels import named
from tests.trace.traces import STEMS


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A student's folder, with nothing in it yet."""
    for folder in ("puzzles", "notebooks"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr(run, "ROOT", tmp_path)
    return tmp_path


def beside(puzzle_id: str) -> Any:
    return run._beside(catalog.load(puzzle_id))


def test_a_solved_neighbour_stands_beside(course: Path) -> None:
    for puzzle_id, other, order in (("p5", "p6", words.ROW_BY_ROW), ("p6", "p5", words.COLUMN_BY_COLUMN)):
        text = (ROOT / "solutions" / f"{STEMS[other]}.py").read_text()
        (course / "puzzles" / f"{STEMS[other]}.py").write_text(text)
        found = beside(puzzle_id)
        assert (found.puzzle, words.order(found.pairs)) == (other, order)
        assert order in words.of_beside(found)
    assert beside("p7") is None


def test_a_neighbour_in_a_notebook_stands_beside(course: Path) -> None:
    cell = {"cell_type": "code", "source": (ROOT / "solutions" / f"{STEMS['p6']}.py").read_text()}
    (course / "puzzles" / f"{STEMS['p6']}.py").write_text((ROOT / "puzzles" / f"{STEMS['p6']}.py").read_text())
    (course / "notebooks" / f"{ladder.numbered('p6')}.ipynb").write_text(json.dumps({"cells": [cell]}))
    assert beside("p5").pairs is not None


def test_a_neighbour_that_is_wrong_or_missing_is_an_invitation(course: Path) -> None:
    assert beside("p5").pairs is None
    (course / "puzzles" / f"{STEMS['p6']}.py").write_text(named("p6_blocks_not_skipped").text)
    assert beside("p5").pairs is None
    assert "Solve puzzle p6" in words.of_beside(beside("p5"))
