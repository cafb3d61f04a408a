"""The instructors' guide, tried as a new instructor would: its ten commands, in a shell, in a copy of the course."""

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

from checker.grading import settings
from tests.conftest import ROOT, cage_or_skip, importable, need

GUIDE = (ROOT / "docs" / "instructors.md").read_text()


def said(part: str) -> str:
    found = re.search(rf"<!-- {part} -->\n *```\w+\n(.*?)```\n *<!-- /{part} -->", GUIDE, re.DOTALL)
    assert found, part
    return textwrap.dedent(found[1]).strip()


def commands(part: str) -> list[str]:
    return said(part).split("\n")


def grades(clone: Path) -> list[dict[str, str]]:
    with (clone / "course" / "grades.csv").open() as file:
        return list(csv.DictReader(file))


def test_there_are_ten() -> None:
    assert len(commands("hand out")) + len(commands("grade")) == 10


def test_every_command_of_ours_exists() -> None:
    makefiles = "".join((ROOT / name).read_text() for name in ("Makefile", "instructor.mk"))
    targets = re.findall(r"^([a-z-]+):.*##", makefiles, re.MULTILINE)
    assert set(re.findall(r"`make ([a-z-]+)", GUIDE)) <= set(targets)


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


def test_they_lead_to_grades(tmp_path: Path) -> None:
    """The student hands in the solution; and the one who wrote it gets all points."""
    importable("nbgrader")
    need("make")
    need("bash")
    cage_or_skip().close()
    clone, student, exchange = tmp_path / "clone", tmp_path / "student", tmp_path / "exchange"
    clone.mkdir()
    student.mkdir()
    for name in ("checker", "puzzles", "solutions"):
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Makefile", "instructor.mk"):
        shutil.copy(ROOT / name, clone)
    (clone / ".venv").symlink_to(sys.prefix)
    jupyter = tmp_path / "jupyter"
    jupyter.mkdir()
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    variables |= {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), "VENV": sys.prefix}
    variables |= {"JUPYTER_CONFIG_DIR": str(jupyter), "JUPYTER_DATA_DIR": str(tmp_path / "data")}

    def typed(part: str, folder: Path) -> None:
        lines = "\n".join(commands(part)).replace("/srv/nbgrader/exchange", str(exchange))
        done = subprocess.run(
            ["bash", "-ec", lines], cwd=folder, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    typed("hand out", clone)
    assert stat.S_IMODE(exchange.stat().st_mode) == 0o1777
    (jupyter / "nbgrader_config.py").write_text(
        said("students' configuration").replace("/srv/nbgrader/exchange", str(exchange))
    )
    variables["PATH"] = f"{sys.prefix}/bin{os.pathsep}{variables['PATH']}"
    fetch, submit = commands("students")
    subprocess.run(fetch, shell=True, check=True, cwd=student, env=variables, capture_output=True)
    shutil.copy(
        clone / "course" / "source" / "p1_naive_softmax" / "p1_naive_softmax.ipynb", student / "p1_naive_softmax"
    )
    subprocess.run(submit, shell=True, check=True, cwd=student, env=variables, capture_output=True)
    typed("grade", clone / "course")
    (row,) = grades(clone)
    assert (row["status"], row["score"], row["max_score"]) == ("graded", "100.0", "100.0")
    fetched = ["nbgrader", "fetch_feedback", "p1_naive_softmax"]
    subprocess.run(fetched, check=True, cwd=student, env=variables, capture_output=True)
    (page,) = student.rglob("*.html")
    assert "100/100 points" in page.read_text()

    (clone / "course" / "roster.csv").write_text("id,first_name,last_name,email\nzoe,Zoe,Zuse,zoe@example.org\n")
    typed("roster", clone / "course")
    toml = clone / "course" / "course.toml"
    toml.write_text(toml.read_text().replace('"full-block" = 25', '"full-block" = 40'))
    subprocess.run(["make", "course"], check=True, cwd=clone, env=variables, capture_output=True)
    typed("again", clone / "course")
    archive = clone / "course" / "downloaded" / "p1_naive_softmax" / "archive"
    archive.mkdir(parents=True)
    shutil.copy(
        student / "p1_naive_softmax" / "p1_naive_softmax.ipynb", archive / "wuli_LATE_7_9_p1_naive_softmax-1.ipynb"
    )
    subprocess.run(fetched, check=True, cwd=student, env=variables, capture_output=True)
    assert any("115/115 points" in page.read_text() for page in student.rglob("*.html"))
    typed("learning platform", clone / "course")
    subprocess.run(["nbgrader", "export"], check=True, cwd=clone / "course", env=variables, capture_output=True)
    assert {row["student_id"]: (row["status"], row["score"]) for row in grades(clone)} == {
        row["student_id"]: ("graded", "115.0"),
        "wuli_7": ("graded", "115.0"),
        "zoe": ("not handed in", ""),
    }
    (name,) = {row["student_id"] for row in grades(clone)} - {"wuli_7", "zoe"}
    head = "Student,ID,SIS Login ID,Section,p1_naive_softmax (9),Final Score\n    Points Possible,,,,115,(read only)\n"
    (clone / "export.csv").write_text(f'{head}"Student, A",6,{name},A,,\n"Wu, Li",7,,A,12,\n"Zuse, Zoe",8,zoe,A,13,\n')
    typed("grades for Canvas", clone)
    with (clone / "course" / "grades-canvas.csv").open() as file:
        assert [row["p1_naive_softmax (9)"] for row in csv.DictReader(file)] == ["115", "115", "115", "13"]
    typed("large class", clone)
    with (clone / "course" / "verdicts.csv").open() as file:
        assert [row["earned"] for row in csv.DictReader(file)] == ["115", "115"]
    typed("class", clone)
    assert "Of 3 students, 2 have handed in." in (clone / "course" / "class.html").read_text()
