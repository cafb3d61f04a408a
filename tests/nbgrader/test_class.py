"""A class hands in, and is graded: nbgrader from the source notebooks to the exported grades."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from checker.course import ladder
from checker.course.places import notebook
from checker.grading import grade
from tests.nbgrader.conftest import ASSIGNMENT, CHECK, KERNEL, RIGHT, ROOT, Course, Notebook, copied, filled

PADDED = (ROOT / "tests" / "wrong" / "p1_padding_loaded_as_zero.py").read_text().partition("\n\n\n")[2]
HELPER = "@triton.jit\ndef shifted(x):\n    return x - tl.max(x, axis=0)\n"
WITH_HELPER = RIGHT.replace("tl.exp(x.to(tl.float32))", "tl.exp(shifted(x.to(tl.float32)))")


def with_helper_and_warnings(notebook: Notebook) -> None:
    """Right, with a helper in a cell of its own, and with everything that makes stock autograding give nothing."""
    filled(WITH_HELPER)(notebook)
    noisy = "import warnings, sys\nwarnings.warn('beware')\nprint('!', file=sys.stderr)\n1 / 0"
    for position, source in ((KERNEL, HELPER), (KERNEL + 2, noisy)):
        cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}
        notebook["cells"].insert(position, cell | {"id": f"own-{position}"})


def mischievous(trace: Path) -> dict[str, str]:
    source = f"open({str(trace)!r}, 'w').write('executed')\nraise SystemExit"
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None, "id": "x"}


@pytest.fixture(scope="module")
def graded_class(shared_course: Course) -> Course:
    """The class has handed in, through the exchange, and was graded."""
    trace = shared_course.homes / "executed"
    shared_course.hand_in("anna", filled(RIGHT))
    shared_course.hand_in("ben", filled(PADDED))
    shared_course.hand_in("cleo", lambda notebook: None)
    shared_course.hand_in("dan", with_helper_and_warnings)
    shared_course.hand_in("emil", lambda notebook: notebook["cells"].insert(0, mischievous(trace)))
    shared_course.hand_in("fay", lambda notebook: notebook["cells"].__delitem__(slice(KERNEL, CHECK + 1)))
    assert shared_course.run("collect", ASSIGNMENT).status == 0
    shared_course.run("autograde", ASSIGNMENT, ends=0)
    assert not trace.exists()
    return shared_course


@pytest.fixture
def graded(graded_class: Course, tmp_path: Path) -> Iterator[Course]:
    """A copy of it for each test."""
    with copied(graded_class.folder.parent, tmp_path) as one:
        yield one


@pytest.mark.parametrize("puzzle_id", ladder.graded(), ids=[ladder.stems()[one] for one in ladder.graded()])
def test_what_is_released_is_the_students_notebook(course: Course, puzzle_id: str) -> None:
    """Cell by cell, but for what a hosted notebook has above; only metadata differ, by what nbgrader adds."""
    stem = ladder.stems()[puzzle_id]
    course.run("generate_assignment", stem, "--force", ends=0)
    released = json.loads(course.released(stem).read_text())["cells"]
    _, _, *ours = json.loads(notebook(puzzle_id).read_text())["cells"]
    keys = ("cell_type", "id", "source")
    same = [{key: "".join(cell[key]) for key in keys} for cell in released]
    if "FILL IN" in str(ours):  # a learner may have filled in the one in the folder
        assert same == [{key: "".join(cell[key]) for key in keys} for cell in ours]
    assert [path.name for path in course.released(stem).parent.iterdir()] == [f"{stem}.ipynb"]
    source = json.loads((course.folder / "source" / stem / f"{stem}.ipynb").read_text())["cells"]
    assert "BEGIN SOLUTION" in str(source) and "SOLUTION" not in str(released)


def test_everybody_gets_what_the_work_is_worth(graded: Course) -> None:
    scores = graded.scores()
    assert scores == {"anna": 100, "ben": 65, "cleo": 0, "dan": 100, "emil": 0, "fay": 0}


def test_the_report_is_in_the_graded_cell(graded: Course) -> None:
    assert "✗ rows of any length" in graded.report("ben")
    assert "[sums-padded-lanes]" in graded.report("ben")
    assert "No cell defines naive_softmax_kernel." in graded.report("fay")
    assert "not started" in graded.report("cleo")


def test_feedback_shows_the_report_and_nothing_hidden(graded: Course) -> None:
    assert graded.run("generate_feedback", ASSIGNMENT, "--force").status == 0
    page = (graded.folder / "feedback" / "ben" / ASSIGNMENT / f"{ASSIGNMENT}.html").read_text()
    assert "The padding is counted in the sum" in page
    assert "65/100 points" in page
    key = next((graded.folder.parent / "config").rglob("*.key")).read_text().strip()
    every = [path for path in graded.folder.rglob("*") if path.is_file() and "source" not in path.parts]
    assert len(every) > 20
    assert not [path for path in every if key.encode() in path.read_bytes()]
    students = [path for path in every if {"release", "feedback"} & set(path.parts)]
    assert not [path for path in students if str(graded.folder) in path.read_text()]


def test_a_second_run_judges_nothing_again(graded: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grade, "check", lambda *_: pytest.fail("judged again"))
    before = graded.report("ben")
    assert graded.run("autograde", ASSIGNMENT, "--force").status == 0
    assert graded.report("ben") == before


def test_records_name_nobody(graded: Course) -> None:
    records = list((graded.folder / "records").rglob("*.json"))
    assert len(records) == 6
    names = ("anna", "ben", "cleo", "dan", "emil", "fay", str(graded.folder))
    assert not [path for path in records if any(name in path.read_text() for name in names)]


def test_new_points_need_no_new_run(graded: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grade, "check", lambda *_: pytest.fail("judged again"))
    from checker.nbgrader.folder import make

    text = (graded.folder / "course.toml").read_text()
    graded.settings('"full-block" = 25', '"full-block" = 40')
    done = graded.run("autograde", ASSIGNMENT, "--force")
    assert done.status == 1 and "generate_assignment p1_naive_softmax --force" in done.said  # not half of it
    make(graded.folder)
    assert graded.run("generate_assignment", ASSIGNMENT, "--force").status == 0
    assert graded.run("autograde", ASSIGNMENT, "--force").status == 0
    assert graded.scores()["ben"] == 80
    assert graded.grade("anna")["max_score"] == 115
    (graded.folder / "course.toml").write_text(text)
    make(graded.folder)
    assert graded.run("generate_assignment", ASSIGNMENT, "--force").status == 0
    assert graded.run("autograde", ASSIGNMENT, "--force").status == 0


def test_what_a_human_decides_stays(graded: Course) -> None:
    graded.grade("ben", manual_score=60.0, extra_credit=5.0)
    assert graded.run("autograde", ASSIGNMENT, "--force").status == 0
    assert graded.scores()["ben"] == 65
    assert graded.grade("ben")["auto_score"] == 65
    graded.grade("ben", manual_score=None, extra_credit=None)


def test_a_fault_of_the_checker_is_no_score(graded: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried again once; then a human must grade, and the others are graded all the same."""
    tries = []

    def broken(*_: object) -> None:
        tries.append(1)
        raise RuntimeError("the disk is full")

    graded.put("gus", filled(RIGHT.replace("numerator", "top")))
    graded.put("hal", filled(RIGHT))
    with monkeypatch.context() as patch:
        patch.setattr(grade, "check", broken)
        done = graded.run("autograde", ASSIGNMENT)
    assert done.status == 0 and "the disk is full" in done.said
    assert len(tries) == 2
    assert graded.scores()["hal"] == 100
    grades = graded.grade("gus")
    assert grades["auto_score"] is None and grades["needs_manual_grade"]
    assert "not the kernel's fault" in graded.report("gus")
    assert graded.run("autograde", ASSIGNMENT, "--force").status == 0
    assert graded.grade("gus")["auto_score"] == 100 and not graded.grade("gus")["needs_manual_grade"]


def test_without_the_key_nothing_is_graded(graded: Course) -> None:
    before, secret = graded.scores(), next((graded.folder.parent / "config").rglob("*.key"))
    secret.chmod(0o644)
    done = graded.run("autograde", ASSIGNMENT, "--force")
    assert done.status == 1 and "can be read by others than its owner (mode 644)" in done.said
    secret.chmod(0o600)
    assert graded.grade("ben")["auto_score"] == 65
    assert graded.run("autograde", ASSIGNMENT).status == 0
    assert graded.scores() == before


def test_a_file_that_was_renamed_is_graded_and_told(graded: Course) -> None:
    """`make grade` and Gradescope do the same: `tests/grading/test_chosen.py`."""
    path = graded.put("ivy", filled(RIGHT))
    path.rename(path.with_name("p1_naive_softmax-Copy1.ipynb"))
    both = graded.put("zoe", filled(PADDED))  # under its name, beside a right one under another
    shutil.copy(path.with_name("p1_naive_softmax-Copy1.ipynb"), both.parent)
    done = graded.run("autograde", ASSIGNMENT)
    assert done.status == 0 and "is called p1_naive_softmax-Copy1.ipynb" in done.said
    assert (graded.scores()["ivy"], graded.scores()["zoe"]) == (100, 100)
    assert "p1_naive_softmax-Copy1.ipynb counts; also handed in: p1_naive_softmax.ipynb." in graded.report("zoe")


def test_what_is_for_another_puzzle_waits(graded: Course) -> None:
    """It might be the wrong file of right work; the best of what is for this one counts."""
    path = graded.put("kai", filled((ROOT / "solutions" / "p3_online_softmax.py").read_text()))
    assert graded.run("autograde", ASSIGNMENT).status == 0
    assert graded.scores()["kai"] == "needs grading"
    assert "the kernel of puzzle p3, and none of puzzle p1. So it is graded by hand." in graded.report("kai")
    for name, text in (("one.py", PADDED), ("two.py", RIGHT)):
        path.with_name(name).write_text(f"import triton\nimport triton.language as tl\n\n\n{text}")
    assert graded.run("autograde", ASSIGNMENT, "--student=kai", "--force").status == 0
    assert graded.scores()["kai"] == 100
    assert "two.py counts; also handed in: one.py, p1_naive_softmax.ipynb." in graded.report("kai")


def test_what_nobody_has_graded_has_no_score(graded: Course) -> None:
    """Not autograded yet, not found by nbgrader, nothing handed in; and the students of a roster are all there."""
    graded.put("lea", filled(RIGHT))
    graded.put("lou", b"").rename(graded.folder / "submitted" / "lou" / ASSIGNMENT / "p1_naive_softmax.py")
    (graded.folder / "roster.csv").write_text('id,last_name\nlea,\nmoe,"Moe, the = late"\n')
    assert graded.run("db", "student", "import", "roster.csv").status == 0
    assert [graded.scores()[name] for name in ("lea", "lou", "moe")] == ["needs grading"] * 2 + ["not handed in"]
    rows = {row["student_id"]: row for row in graded.exported()}
    assert rows["moe"]["last_name"] == "Moe, the = late" and rows["moe"]["score"] == rows["lea"]["score"] == ""
    assert rows["moe"]["max_score"] == rows["anna"]["max_score"] == "100.0"
    assert graded.run("autograde", ASSIGNMENT).status == 0
    assert graded.scores()["lea"] == 100
    graded.put("lea", filled(PADDED))  # over the one that was graded, as `zip_collect --force` does
    assert graded.scores()["lea"] == "needs grading"
    assert graded.run("autograde", ASSIGNMENT, "--student=lea", "--force").status == 0
    assert graded.scores()["lea"] == 65


def test_without_its_configuration_nothing_is_graded(graded: Course) -> None:
    """A mistake of the instructor's is told, and neither executes a cell nor changes a grade."""
    before, own = graded.scores(), graded.folder / "own_config.py"
    text = own.read_text()
    own.write_text(text + "\n1 / 0\n")
    done = graded.run("autograde", ASSIGNMENT, "--force", ends=1)
    assert "ZeroDivisionError" in done.said and "configuration could not be loaded" in done.said
    assert not (graded.homes / "executed").exists()
    own.write_text(text)
    assert graded.grade("ben")["auto_score"] == 65
    assert graded.scores()["ben"] == "needs grading"  # nbgrader has removed what it had graded
    assert graded.run("autograde", ASSIGNMENT).status == 0
    assert graded.scores() == before


def test_validate_tells_right_from_wrong(graded: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    done = graded.run("validate", str(graded.folder / "source" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"))
    assert "Success!" in done.said
    done = graded.run("validate", str(graded.released()))
    assert "VALIDATION FAILED ON 1 CELL(S)!" in done.said and "not started" in done.said
