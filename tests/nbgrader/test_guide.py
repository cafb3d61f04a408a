"""The instructors' guide, typed as a new instructor would: in a shell, in a copy of the repository."""

from __future__ import annotations

import csv
import os
import re
import shutil
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from checker.grading import settings
from tests.conftest import ROOT, cage_or_skip, importable, need, ran

GUIDE = (ROOT / "docs" / "instructors.md").read_text()
REFERENCE = (ROOT / "docs" / "grading.md").read_text()
TYPED = re.findall(r"^```sh\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)  # as they stand there, one after the other
MOST_WORDS = 777
FRESH = "GUIDE_IN_A_FRESH_ENVIRONMENT"  # a variable: it downloads 200 MB, so the weekly workflow sets it


def said(part: str) -> str:
    found = re.search(rf"<!-- {part} -->\n *```\w+\n(.*?)```\n *<!-- /{part} -->", REFERENCE, re.DOTALL)
    assert found, part
    return textwrap.dedent(found[1]).strip()


def grades(clone: Path) -> list[dict[str, str]]:
    with (clone / "course" / "grades.csv").open() as file:
        return list(csv.DictReader(file))


def test_four_commands_lead_to_grades_and_the_page_is_short() -> None:
    needed = [one for one in TYPED if one.startswith("make") and not one.startswith("make extension")]
    assert [one.split()[1] for one in needed] == ["course", "handout", "round", "grades"]
    assert len(GUIDE.split()) <= MOST_WORDS and max(map(len, GUIDE.split("\n"))) <= 90


def test_every_command_of_ours_exists() -> None:
    makefiles = "".join((ROOT / name).read_text() for name in ("Makefile", "instructor.mk"))
    targets = re.findall(r"^([a-z-]+):.*##", makefiles, re.MULTILINE)
    assert set(re.findall(r"`make ([a-z-]+)", GUIDE + REFERENCE)) <= set(targets)


def test_what_course_toml_may_say_can_be_said(tmp_path: Path) -> None:
    (tmp_path / "course.toml").write_text(said("feedback") + "\n" + said("question"))
    course = settings.read(tmp_path)
    assert (course.detail("p1"), course.detail("p5")) == ("finding", "points")
    (question,) = course.questions("p2")
    assert (question.name, question.points, len(question.rubric)) == ("why-three-passes", 10, 2)
    (tmp_path / "course.toml").write_text(uncommented(settings.template("x")))  # the template's own example
    assert settings.read(tmp_path).questions("p2")[0].name == "why-three-passes"


def uncommented(template: str) -> str:
    """A template whose example of a question holds."""
    return re.sub(r"^# (\[\[question|name|text|points|rubric)", r"\1", template, flags=re.MULTILINE)


@pytest.mark.parametrize("fresh", [False, True], ids=["here", "fresh"])
def test_they_lead_to_grades(fresh: bool, tmp_path: Path) -> None:
    """The student hands in the solution; and the one who wrote it gets all points."""
    if fresh and FRESH not in os.environ:
        pytest.skip(f"{FRESH} is not set")
    importable("nbgrader")
    need("make")
    need("bash")
    cage_or_skip().close()
    clone, student, exchange = tmp_path / "clone", tmp_path / "student", tmp_path / "exchange"
    clone.mkdir()
    student.mkdir()
    for name in ("checker", "puzzles", "solutions", "notebooks", "locks", "docs"):
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (
        "Makefile",
        "instructor.mk",
        "pyproject.toml",
        "constraints.txt",
        "README.md",
        "LICENSE",
        "MANIFEST.in",
    ):
        shutil.copy(ROOT / name, clone)
    jupyter = tmp_path / "jupyter"
    jupyter.mkdir()
    variables = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VENV", "VIRTUAL_ENV")}
    variables |= {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    variables |= {"JUPYTER_CONFIG_DIR": str(jupyter), "JUPYTER_DATA_DIR": str(tmp_path / "data")}
    if fresh:
        ours = f"{sys.prefix}/bin"
        variables["PATH"] = os.pathsep.join(one for one in variables["PATH"].split(os.pathsep) if one != ours)
    else:
        (clone / ".venv").symlink_to(sys.prefix)
        variables["VENV"] = sys.prefix

    def typed(lines: str, folder: Path = clone) -> str:
        lines = lines.replace("/srv/nbgrader/exchange", str(exchange))
        return ran("bash", "-ec", lines, cwd=folder, ends=0, env=variables).stdout

    course, handout, students, round_, extension, to_canvas = TYPED
    typed(course)
    assert stat.S_IMODE(exchange.stat().st_mode) == 0o1777
    if fresh:
        assert subprocess.run([clone / ".venv/bin/python", "-c", "import torch"], check=False).returncode != 0
    typed(handout)
    configuration = re.search(r"^```python\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    assert configuration
    (jupyter / "nbgrader_config.py").write_text(configuration[1].replace("/srv/nbgrader/exchange", str(exchange)))
    variables["PATH"] = f"{clone}/.venv/bin{os.pathsep}{variables['PATH']}"
    fetch, submit = students.strip().split("\n")
    typed(fetch, student)
    source = clone / "course" / "source" / "p1_naive_softmax" / "p1_naive_softmax.ipynb"
    shutil.copy(source, student / "p1_naive_softmax")
    typed(submit, student)
    assert "1 graded, 1 of them now; 100.0 of 100 points" in typed(round_)
    (row,) = grades(clone)
    assert (row["status"], row["score"], row["max_score"]) == ("graded", "100.0", "100.0")
    fetched = "nbgrader fetch_feedback p1_naive_softmax"
    typed(fetched, student)
    (page,) = student.rglob("*.html")
    assert "100/100 points" in page.read_text()
    typed(extension)
    assert (
        '"anna" = 2' in (clone / "course" / "course.toml").read_text()
        or "anna = 2" in (clone / "course" / "course.toml").read_text()
    )

    (clone / "course" / "roster.csv").write_text("id,first_name,last_name,email\nzoe,Zoe,Zuse,zoe@example.org\n")
    typed(said("roster"), clone / "course")
    toml = clone / "course" / "course.toml"
    toml.write_text(toml.read_text().replace('"full-block" = 25', '"full-block" = 40'))
    archive = clone / "course" / "downloaded" / "p1_naive_softmax" / "archive"
    archive.mkdir(parents=True)
    shutil.copy(
        student / "p1_naive_softmax" / "p1_naive_softmax.ipynb", archive / "wuli_LATE_7_9_p1_naive_softmax-1.ipynb"
    )
    assert "2 graded, 2 of them now; 115.0 of 115 points" in typed(round_)
    typed(fetched, student)
    assert any("115/115 points" in page.read_text() for page in student.rglob("*.html"))
    typed(said("one by one").replace("release_assignment p1_naive_softmax --force", "--version"), clone / "course")
    assert {row["student_id"]: (row["status"], row["score"]) for row in grades(clone)} == {
        row["student_id"]: ("graded", "115.0"),
        "wuli_7": ("graded", "115.0"),
        "zoe": ("not handed in", ""),
    }
    (name,) = {row["student_id"] for row in grades(clone)} - {"wuli_7", "zoe"}
    head = "Student,ID,SIS Login ID,Section,p1_naive_softmax (9),Final Score\n    Points Possible,,,,115,(read only)\n"
    (clone / "export.csv").write_text(f'{head}"Student, A",6,{name},A,,\n"Wu, Li",7,,A,12,\n"Zuse, Zoe",8,zoe,A,13,\n')
    typed(to_canvas)
    with (clone / "course" / "grades-canvas.csv").open() as file:
        assert [row["p1_naive_softmax (9)"] for row in csv.DictReader(file)] == ["115", "115", "115", "13"]
    typed(said("large class"))
    with (clone / "course" / "verdicts.csv").open() as file:
        assert [row["earned"] for row in csv.DictReader(file)] == ["115", "115"]
    typed(said("class"))
    assert "Of 3 students, 2 have handed in." in (clone / "course" / "class.html").read_text()
