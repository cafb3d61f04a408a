"""A notebook of a lesson in another language is handed in as the English one is."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker import catalog
from checker.course import places
from checker.course.language import CHINESE
from tests.conftest import installed

installed("nbgrader")

from checker.grading.chosen import handed  # noqa: E402
from checker.nbgrader.notebook import clean_notebook  # noqa: E402


@pytest.mark.parametrize("language", ["en", CHINESE])
def test_its_lesson_is_shown_as_it_was_written_and_its_check_has_the_mark(language: str) -> None:
    puzzle, path = catalog.load("p1"), places.notebook("p1", language=language)
    (one,) = handed(path, puzzle)
    made = clean_notebook(one.cells, one.answers, puzzle, 100, places.notebook("p1"))
    texts = [cell.source for cell in made.cells if cell.cell_type == "markdown"]
    assert any(text.startswith("<details>") or "\n<details>" in text for text in texts)
    assert not any("&#60;" in text for text in texts)
    marks = [cell.metadata.nbgrader for cell in made.cells if "nbgrader" in cell.metadata]
    assert {mark.grade_id: mark.grade for mark in marks} == {
        "check-p1_naive_softmax": True,
        "naive_softmax_kernel": False,
    }
    words = Path(path).read_text(encoding="utf-8")
    assert ("思路" in words) == (language == CHINESE)
