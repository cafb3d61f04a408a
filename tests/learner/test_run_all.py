"""Run All, in every notebook, untouched and solved: no cell ends in a traceback."""

from __future__ import annotations

import pytest

from checker import catalog
from checker.course import ladder
from checker.course.lesson import notebook_text
from tests.conftest import importable
from tests.learner.conftest import Course, solved, stub_text


@pytest.mark.parametrize("puzzle_id", ladder.RUNGS)
@pytest.mark.parametrize("state", ["untouched", "solved"])
def test_run_all(puzzle_id: str, state: str, course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient, nbformat = importable("nbclient"), importable("nbformat")
    text = stub_text(puzzle_id)
    if state == "solved":
        text = solved(puzzle_id).replace("\ntrain()", "\ntrain(steps=1)")
        for needed in ladder.RUNGS[puzzle_id].launches:
            course.script(needed).write_text(solved(needed))
    if catalog.load(puzzle_id).pytorch:
        importable("torch")
    monkeypatch.setenv("PYTHONPATH", str(course.root))
    book = nbformat.reads(notebook_text(text, catalog.load(puzzle_id)), 4)
    folder = {"metadata": {"path": str(course.root / "notebooks")}}
    nbclient.NotebookClient(book, timeout=600, resources=folder).execute()  # raises what a cell raises
    shown = "".join(str(cell.outputs) for cell in book.cells if cell.cell_type == "code")
    assert ("100/100 points" if state == "solved" else "not started") in shown
    assert "Traceback" not in shown
