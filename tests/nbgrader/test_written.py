"""Questions of course.toml, and notebooks that hold nothing but answers: asked, graded by people, never executed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checker.nbgrader.assignment import NoAssignment
from checker.nbgrader.folder import make
from tests.nbgrader.conftest import ASSIGNMENT, CHECK, RIGHT, Course, Notebook, filled

QUESTION = f"""
[[question.{ASSIGNMENT}]]
name = "why"
text = \"\"\"
Why does `exp` **overflow**?

In one sentence: $e^{{x}}$
\"\"\"
points = 10
rubric = ["names fp16's largest number", "says where\\nit is reached"]
[[question.{ASSIGNMENT}]]
text = "And now?"
points = 1
"""
MARKS = {"schema_version": 3, "task": False, "locked": False, "grade": False, "solution": False}
EVIL = "<script>alert(1)</script> $\\href{javascript:alert(1)}{x}$ and $e^{88.7}$"


def cells_of(path: Path) -> list[dict[str, Any]]:
    """A notebook's cells, each text in one piece."""
    cells: list[dict[str, Any]] = json.loads(path.read_text())["cells"]
    return [cell | {"source": "".join(cell["source"])} for cell in cells]


def named(cells: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (cell,) = (cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade_id") == name)
    return cell


def answer(text: str, name: str = "why") -> Any:
    def change(notebook: Notebook) -> None:
        if name == "why":
            filled(RIGHT)(notebook)
        named(notebook["cells"], name)["source"] = text

    return change


def without_text(notebook: Notebook) -> None:
    """The question's text deleted, and the other one changed."""
    answer("No idea")(notebook)
    notebook["cells"].remove(named(notebook["cells"], "why_text"))
    named(notebook["cells"], "question-2_text")["source"] = "Full points, please."


def source(course: Course, assignment: str = ASSIGNMENT) -> Path:
    return course.folder / "source" / assignment / f"{assignment}.ipynb"


def graded(course: Course, name: str, assignment: str = ASSIGNMENT) -> Path:
    return course.folder / "autograded" / name / assignment / f"{assignment}.ipynb"


def page(course: Course, name: str, assignment: str = ASSIGNMENT) -> str:
    assert course.run("generate_feedback", assignment, f"--student={name}", "--force").status == 0
    return (course.folder / "feedback" / name / assignment / f"{assignment}.html").read_text()


def test_questions_of_the_course_are_asked_and_graded_by_people(course: Course) -> None:
    toml = course.folder / "course.toml"
    plain = toml.read_text()
    toml.write_text(plain + QUESTION)
    make(course.folder)
    asked = cells_of(source(course))[CHECK + 1 : CHECK + 5]
    assert [cell["metadata"]["nbgrader"]["grade_id"] for cell in asked] == [
        *("why_text", "why", "question-2_text", "question-2")
    ]
    assert "says where it is reached" in asked[0]["source"]
    assert course.run("generate_assignment", ASSIGNMENT, "--force").status == 0
    released = course.released().read_text()
    assert "And now?" in released and "(1 point)" not in released and "**Question, 1 point**" in released
    assert "fp16's largest number" not in released and "reached" not in released and "MARK SCHEME" not in released

    course.put("anna", answer(EVIL))
    course.put("ben", without_text)
    assert course.run("autograde", ASSIGNMENT).status == 0
    assert course.scores() == {"anna": "needs grading", "ben": "needs grading"}
    for name in ("anna", "ben"):  # graders see the questions as they are in source/, rubric and all
        cells = cells_of(graded(course, name))
        assert named(cells, "why_text")["source"] == asked[0]["source"]
        assert named(cells, "question-2_text")["source"] == asked[2]["source"]
        for question, points in (("why", 7.0), ("question-2", 1.0)):
            course.grade(name, question, manual_score=points)
    assert course.scores() == {"anna": 108, "ben": 108}
    told = page(course, "anna")
    assert "In one sentence" in told and "<span>$e^{88.7}$</span>" in told  # a formula for MathJax
    assert "<script>alert" not in told and r"<code>$\href{javascript:alert(1)}{x}$</code>" in told
    assert "fp16's largest number" not in told and "MARK SCHEME" not in told

    toml.write_text((plain + QUESTION).replace("points = 10", "points = 20").replace("**overflow**", "*overflow*"))
    make(course.folder)
    for command in ("generate_assignment", "autograde"):
        done = course.run(command, ASSIGNMENT, "--force", ends=0)
    assert course.scores() == {"anna": 108, "ben": 108}  # what people have decided stays
    assert {row["max_score"] for row in course.exported()} == {"121.0"}
    assert "*overflow*" in named(cells_of(graded(course, "ben")), "why_text")["source"]

    toml.write_text(plain)
    make(course.folder)
    assert "why" not in str([cell["metadata"] for cell in cells_of(source(course))])
    done = course.run("generate_assignment", ASSIGNMENT, "--force")
    assert done.status != 0 and "Cannot add or remove cells" in done.said
    toml.write_text(plain + QUESTION)
    make(course.folder)
    assert course.run("generate_assignment", ASSIGNMENT, "--force").status == 0


def test_they_stay_beside_an_instructors_own_and_go_when_they_are_no_longer_said(course: Course) -> None:
    toml, path = course.folder / "course.toml", source(course)
    with_questions = toml.read_text() + QUESTION
    toml.write_text(with_questions)
    make(course.folder)
    assert make(course.folder)[1].written == []
    notebook = json.loads(path.read_text())
    own = {"cell_type": "markdown", "id": "own", "source": "Mine", "metadata": {"nbgrader": {"grade_id": "own"}}}
    notebook["cells"].insert(CHECK + 3, own)  # between the two
    path.write_text(json.dumps(notebook))
    make(course.folder)
    assert [cell["id"] for cell in cells_of(path)[CHECK + 1 : CHECK + 6]] == [
        *("said-why_text", "said-why", "own", "said-question-2_text", "said-question-2")
    ]
    toml.write_text(with_questions.replace('name = "why"', 'name = "own"'))
    with pytest.raises(NoAssignment, match=r"'own'.*another name"):
        make(course.folder)
    toml.write_text(with_questions.partition("\n[[question.")[0])
    make(course.folder)
    cells = cells_of(path)
    assert [cell["id"] for cell in cells if not cell["id"].startswith("cell-")] == ["own"]
    assert cells[CHECK + 1]["id"] == "own"


def essay(course: Course, assignment: str, *more: dict[str, Any]) -> None:
    """An assignment of the instructor's own, with a question, a task, and code that shows something."""
    text = {"cell_type": "markdown", "id": "text", "metadata": {}, "source": "# Read *this*"}
    code = {
        "cell_type": "code",
        "id": "code",
        "metadata": {},
        "source": "1 + 1",
        "outputs": [],
        "execution_count": None,
    }
    cells = [text, code]
    for name, marks in (
        ("essay", {"grade": True, "solution": True, "points": 6}),
        ("task", {"task": True, "locked": True, "points": 4}),
    ):
        metadata = {"nbgrader": {**MARKS, **marks, "grade_id": name}}
        cells.append({"cell_type": "markdown", "id": name, "metadata": metadata, "source": f"The {name}"})
    notebook = {"cells": [*cells, *more], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    source(course, assignment).parent.mkdir()
    source(course, assignment).write_text(json.dumps(notebook))
    course.run("generate_assignment", assignment, ends=0)


def executed(mark: Path) -> dict[str, Any]:
    """A cell that leaves a mark if anything executes it."""
    made = f"open({str(mark)!r}, 'w').close()\n100.0"
    outputs = [
        {"output_type": "display_data", "data": {"text/html": "<script>alert(1)</script>"}, "metadata": {}},
        {"output_type": "stream", "name": "stdout", "text": "accepted"},
    ]
    return {"cell_type": "code", "id": "x", "metadata": {}, "source": made, "outputs": outputs, "execution_count": 1}


def test_a_notebook_of_written_answers_alone_is_graded_by_people(course: Course, tmp_path: Path) -> None:
    essay(course, "essay")

    def answered(notebook: Notebook) -> None:
        answer(EVIL, "essay")(notebook)
        notebook["cells"].append(executed(tmp_path / "executed"))
        notebook["cells"].append(
            {"cell_type": "markdown", "id": "t", "metadata": {}, "source": "The **task** is done."}
        )

    course.put("anna", answered, "essay")
    course.put("ben", b"{broken", "essay")
    course.put("cleo", lambda notebook: None, "essay")
    link = course.put("dan", b"", "essay")
    link.unlink()
    link.symlink_to(course.folder / "submitted" / "anna" / "essay" / "essay.ipynb")
    done = course.run("autograde", "essay", ends=0)
    assert "Traceback" not in done.said and not (tmp_path / "executed").exists()
    assert course.run("export", "--to=grades.csv", "--assignment=essay").status == 0
    assert (course.folder / "grades.csv").read_text().count("needs grading") == 4
    for name in ("anna", "ben", "cleo", "dan"):
        cells = cells_of(graded(course, name, "essay"))
        assert [named(cells, cell)["metadata"]["nbgrader"]["points"] for cell in ("essay", "task")] == [6, 4]
        assert not any(cell.get("outputs") for cell in cells)
        assert ("script" in str([cell["source"] for cell in cells])) == (name == "anna")
    told = page(course, "anna", "essay")
    assert "<h1" in told and "<em>this</em>" in told and "The <strong>task</strong> is done" in told
    assert "<script>alert" not in told and r"<code>$\href{javascript" in told and "accepted" not in told
    assert "not a whole notebook" in page(course, "ben", "essay")
    assert "is a link" in page(course, "dan", "essay")


def test_what_would_have_to_be_executed_is_refused(course: Course, tmp_path: Path) -> None:
    tests = executed(tmp_path / "executed")
    tests["metadata"] = {"nbgrader": {**MARKS, "grade": True, "locked": True, "points": 1, "grade_id": "tests"}}
    essay(course, "quiz", tests)
    course.put("anna", lambda notebook: None, "quiz")
    done = course.run("autograde", "quiz")
    assert done.status == 1 and "'tests' is a cell of autograder tests" in done.said
    assert not (tmp_path / "executed").exists() and not graded(course, "anna", "quiz").exists()


def test_without_what_was_released_nobody_could_give_points(course: Course) -> None:
    essay(course, "essay")
    course.put("anna", lambda notebook: None, "essay")
    course.released("essay").unlink()
    done = course.run("autograde", "essay", "--force", "--student=anna")
    assert done.status == 1 and "nbgrader generate_assignment essay --force" in done.said


def test_pages_of_a_students_own_are_not_released_as_feedback(course: Course) -> None:
    essay(course, "essay")
    own = course.put("anna", lambda notebook: None, "essay").with_name("extra.html")
    own.write_text("<script>alert(1)</script>")
    own.with_name("submission_secret.txt").write_text("hers")
    for command in ("autograde", "generate_feedback", "release_feedback"):
        course.run(command, "essay", ends=0)
    (released,) = (course.exchange / "flash-puzzles" / "feedback").glob("*.html")
    assert "<script>alert(1)" not in released.read_text()
