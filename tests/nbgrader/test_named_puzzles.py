"""The puzzles that a course names, and files handed out before they had IDs, in nbgrader's own commands."""

from __future__ import annotations

import csv
import json
from datetime import datetime
from types import SimpleNamespace

import pytest

from checker.course import ladder
from checker.nbgrader.folder import make
from tests.conftest import importable
from tests.nbgrader.conftest import ASSIGNMENT, CHECK, RIGHT, Course, Notebook, filled

OTHER = "p2_safe_softmax"


def of_before(notebook: Notebook) -> None:
    """The lesson as it was handed out while puzzles were numbers; nbgrader's marks are the same."""
    cell = notebook["cells"][CHECK]
    cell["source"] = "".join(cell["source"]).replace('check("p1")', "check(1)")
    assert cell["source"].endswith("\ncheck(1)")


def right_of_before(notebook: Notebook) -> None:
    of_before(notebook)
    filled(RIGHT)(notebook)


def test_what_was_handed_out_before_puzzles_had_ids_is_graded_as_it_was(course: Course) -> None:
    """With the assignment as it was then, and once more after it was brought up to date."""
    source = course.folder / "source" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    notebook = json.loads(source.read_text())
    of_before(notebook)
    source.write_text(json.dumps(notebook))
    assert course.run("generate_assignment", ASSIGNMENT, "--force").status == 0
    assert "check(1)" in course.released().read_text()
    course.put("anna", filled(RIGHT))
    course.put("ben", filled(RIGHT.replace("numerator / denominator", "numerator")))
    for brought_up_to_date in (False, True):
        if brought_up_to_date:
            make(course.folder)
            assert 'check(\\"p1\\")' in source.read_text()
            assert course.run("generate_assignment", ASSIGNMENT, "--force").status == 0
        course.run("autograde", ASSIGNMENT, "--force", ends=0)
        assert course.scores() == {"anna": 100, "ben": 0}
        assert "100/100 points" in course.report("anna") and "is not the cell for it" not in course.report("anna")
        graded = course.folder / "autograded" / "anna" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        assert len(json.loads(graded.read_text())["cells"]) == len(notebook["cells"])  # the cell was found, not added
    course.put("carl", right_of_before)
    assert course.run("autograde", ASSIGNMENT, "--student=carl").status == 0
    assert course.scores()["carl"] == 100


def test_grades_are_sorted_by_due_date_and_then_as_puzzles_stand_on_the_ladder(monkeypatch: pytest.MonkeyPatch) -> None:
    importable("nbgrader")
    from checker.nbgrader.gradebook import _place

    monkeypatch.setattr(ladder, "RUNGS", {puzzle_id: ladder.RUNGS[puzzle_id] for puzzle_id in ("p2", "p3", "p1")})
    due = {"a_question": None, ASSIGNMENT: None, OTHER: None, "p3_online_softmax": datetime(2030, 5, 10)}
    assignments = [SimpleNamespace(name=name, duedate=when) for name, when in due.items()]
    there = [one.name for one in sorted(assignments, key=_place)]
    assert there == [OTHER, ASSIGNMENT, "a_question", "p3_online_softmax"]


@pytest.fixture
def with_two(course: Course) -> Course:
    """A course with two assignments that students have handed in, of which it names the second one only."""
    assert course.run("generate_assignment", OTHER, "--force").status == 0
    course.put("anna", filled(RIGHT))
    course.put("anna", lambda notebook: None, OTHER)
    toml = course.folder / "course.toml"
    lines = [line for line in toml.read_text().split("\n") if not line.startswith("puzzles =")]
    toml.write_text("\n".join(['puzzles = ["p2"]', *lines]))
    return course


def test_a_puzzle_that_the_course_does_not_name_is_neither_graded_nor_exported(with_two: Course) -> None:
    done = with_two.run("autograde", ASSIGNMENT, "--force")
    assert done.status == 1 and "course.toml does not name p1 among the puzzles" in done.said
    done = with_two.run("autograde", OTHER, ends=0)
    done = with_two.run("export", "--to=grades.csv")
    assert done.status == 0 and f"{ASSIGNMENT} is left out: course.toml does not name p1" in done.said
    with (with_two.folder / "grades.csv").open() as file:
        assert {row["assignment"] for row in csv.DictReader(file)} == {OTHER}
