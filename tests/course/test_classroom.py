"""The workflow for GitHub Classroom: its steps, run in a student's copy of the course as GitHub would run them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checker import catalog
from checker.course import bundle
from checker.course.classroom import PLACE, workflow
from checker.course.settings import Settings
from checker.judge.verdict import ExitStatus
from tests.conftest import ROOT, importable, need

COURSE = Settings(Path())
WRONG = ROOT / "tests" / "wrong" / "p1_padding_loaded_as_zero.py"


def steps(text: str) -> list[dict[str, Any]]:
    """The steps of the one job."""
    (job,) = importable("yaml").safe_load(text)["jobs"].values()
    found: list[dict[str, Any]] = job["steps"]
    return found


def test_each_puzzle_is_a_test_of_its_own_and_is_reported() -> None:
    text = workflow(list(catalog.stems()), COURSE)
    assert importable("yaml").safe_load(text)["on"] == ["push", "workflow_dispatch", "repository_dispatch"]
    graded = [step for step in steps(text) if "command-grader" in step.get("uses", "")]
    assert [step["with"]["max-score"] for step in graded] == [catalog.load(n).possible for n in catalog.stems()]
    report = steps(text)[-1]
    assert report["with"]["runners"].split(",") == [step["id"] for step in graded]
    results = {f"{step['id'].upper()}_RESULTS": f"${{{{steps.{step['id']}.outputs.result}}}}" for step in graded}
    assert report["env"] == results
    assert all(re.fullmatch(r"[\w/-]+@v\d+", step["uses"]) for step in steps(text) if "uses" in step)
    assert "secrets" not in text and "--key" not in text


def test_points_are_the_courses() -> None:
    stem, first = catalog.stems()[4], catalog.load(4).properties[0]
    course = Settings(Path(), points={stem: {first.name: first.weight + 11}})
    (graded,) = [step for step in steps(workflow([4], course)) if step.get("id") == "p4"]
    assert graded["with"]["max-score"] == catalog.load(4).possible + 11


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A template repository, made as the guide says."""
    importable("jupytext")
    folder = tmp_path_factory.mktemp("template")
    bundle.write(folder / "b.tar.gz")
    shutil.unpack_archive(folder / "b.tar.gz", folder)
    place = folder / bundle.NAME / PLACE
    called = [sys.executable, "-m", "checker", "classroom", "--file", str(place)]
    subprocess.run(called, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    (folder / bundle.NAME / ".venv").symlink_to(sys.prefix)  # which the workflow has made
    return folder / bundle.NAME


@pytest.mark.parametrize(
    ("kernel", "status"),
    [
        (ROOT / "solutions" / "p1_naive_softmax.py", ExitStatus.ACCEPTED),
        pytest.param(WRONG, ExitStatus.REFUSED, marks=pytest.mark.slow),
        pytest.param(None, ExitStatus.NOT_STARTED, marks=pytest.mark.slow),
    ],
)
def test_its_steps_do_what_they_should(kernel: Path | None, status: int, template: Path, tmp_path: Path) -> None:
    need("make")
    repository = tmp_path / "a student's"
    shutil.copytree(template, repository, symlinks=True)
    if kernel is not None:
        shutil.copy(kernel, repository / "puzzles" / "p1_naive_softmax.py")
    # What the graders hand on: nothing else of the environment.
    closed = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FORCE_COLOR": "true"}
    ended = {}
    for step in steps((repository / PLACE).read_text()):
        shell = (
            ["bash", "-e", "-c", step["run"]] if "run" in step else ["sh", "-c", step.get("with", {}).get("command")]
        )
        if shell[-1] is not None:
            variables = closed | ({"VENV": sys.prefix} if "run" in step else {})  # or it would install a .venv
            done = subprocess.run(shell, cwd=repository, env=variables, capture_output=True, text=True, check=False)
            assert not done.stderr, done.stderr
            ended[step.get("id", "install")] = done.returncode
    others = dict.fromkeys((f"p{number}" for number in catalog.stems()), ExitStatus.NOT_STARTED)
    assert ended == {"install": 0, **others, "p1": status}


def test_its_first_step_installs_what_the_others_use(template: Path, tmp_path: Path) -> None:
    need("make")
    fresh = shutil.copytree(template, tmp_path / "fresh", ignore=shutil.ignore_patterns(".venv"))
    known = {step["name"]: step for step in steps((template / PLACE).read_text())}
    called = ["sh", "-c", f"{known['Install the checker']['run']} -n"]
    said = subprocess.run(called, cwd=fresh, capture_output=True, text=True, check=True).stdout
    assert ".venv/bin/python -m pip install" in said and "[lab]" not in said
    cached = known["Install Python"]["with"]["cache-dependency-path"].split()
    assert cached and all((template / name).exists() for name in cached)


def test_a_students_copy_cannot_write_it(template: Path) -> None:
    called = [sys.executable, "-m", "checker", "classroom"]
    done = subprocess.run(called, cwd=template, env={"PATH": ""}, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "no instructor's part" in done.stderr
    assert "classroom" not in (template / "Makefile").read_text()
    assert not (template / "checker" / "course" / "classroom.py").exists()
