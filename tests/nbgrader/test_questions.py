"""A question that an instructor adds to a lesson, and grades by hand."""

from __future__ import annotations

import json

from checker.nbgrader.folder import make
from tests.nbgrader.conftest import ASSIGNMENT, KERNEL, RIGHT, Course, Notebook, filled

MARKS = {"grade": True, "grade_id": "why", "locked": False, "points": 10, "schema_version": 3, "solution": True}
QUESTION = {
    "cell_type": "markdown",
    "id": "why",
    "metadata": {"nbgrader": {**MARKS, "task": False}},
    "source": "Why does exp overflow?",
}


def answered(notebook: Notebook) -> None:
    filled(RIGHT)(notebook)
    (cell,) = (cell for cell in notebook["cells"] if cell.get("id") == "why")
    cell["source"] = "Because <script>alert(1)</script> of 88.7."


def unanswered(notebook: Notebook) -> None:
    filled(RIGHT)(notebook)
    notebook["cells"] = [cell for cell in notebook["cells"] if cell.get("id") != "why"]


def test_it_is_asked_graded_by_hand_and_kept(course: Course) -> None:
    path = course.folder / "source" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    notebook = json.loads(path.read_text())
    notebook["cells"].insert(KERNEL + 1, QUESTION)
    path.write_text(json.dumps(notebook))
    assert course.run("generate_assignment", ASSIGNMENT, "--force").status == 0
    course.put("anna", answered)
    course.put("ben", unanswered)
    assert course.run("autograde", ASSIGNMENT).status == 0
    assert course.scores() == {"anna": "needs grading", "ben": "needs grading"}  # ben's answer may stand elsewhere
    for name in ("anna", "ben"):
        graded = json.loads((course.folder / "autograded" / name / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_text())
        (cell,) = (c for c in graded["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == "why")
        assert cell["metadata"]["nbgrader"]["points"] == 10  # so that formgrader asks for them
        assert ("88&#46;7" in str(cell["source"])) == (name == "anna")
        course.grade(name, "why", manual_score=7.0)
    assert course.scores() == {"anna": 107, "ben": 107}
    course.settings('"full-block" = 25', '"full-block" = 40')
    make(course.folder)
    for command in ("generate_assignment", "autograde"):
        course.run(command, ASSIGNMENT, "--force", ends=0)
    assert course.scores() == {"anna": 122, "ben": 122}
    assert {row["max_score"] for row in course.exported()} == {"125.0"}
