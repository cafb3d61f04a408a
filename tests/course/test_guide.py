"""The instructors' guide, tried as a new instructor would: its ten commands, in a shell, in a copy of the course."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, importable, need

GUIDE = (ROOT / "docs" / "instructors.md").read_text()


def commands(part: str) -> list[str]:
    found = re.search(rf"<!-- {part} -->\n```sh\n(.*?)```\n<!-- /{part} -->", GUIDE, re.DOTALL)
    assert found, part
    return found[1].strip().split("\n")


def test_there_are_ten() -> None:
    assert len(commands("hand out")) + len(commands("grade")) == 10


def test_every_command_of_ours_exists() -> None:
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"`make ([a-z-]+)", GUIDE)) <= set(targets)


@pytest.mark.slow
def test_they_lead_to_grades(tmp_path: Path) -> None:
    """The student hands in the solution; and the one who wrote it gets all points."""
    importable("nbgrader")
    need("make")
    need("bash")
    clone, student, exchange = tmp_path / "clone", tmp_path / "student", tmp_path / "exchange"
    clone.mkdir()
    student.mkdir()
    for name in ("checker", "puzzles", "solutions"):
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Makefile", clone)
    (clone / ".venv").symlink_to(sys.prefix)
    jupyter = tmp_path / "jupyter"
    jupyter.mkdir()
    (jupyter / "nbgrader_config.py").write_text(
        f"get_config().Exchange.root = {str(exchange)!r}\n"
    )  # of the hub's image
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
    variables["PATH"] = f"{sys.prefix}/bin{os.pathsep}{variables['PATH']}"
    fetch, submit = commands("students")
    subprocess.run(fetch, shell=True, check=True, cwd=student, env=variables, capture_output=True)
    shutil.copy(
        clone / "course" / "source" / "p1_naive_softmax" / "p1_naive_softmax.ipynb", student / "p1_naive_softmax"
    )
    subprocess.run(submit, shell=True, check=True, cwd=student, env=variables, capture_output=True)
    typed("grade", clone / "course")
    with (clone / "course" / "grades.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["score"], row["max_score"]) == ("100.0", "100.0")
    fetched = ["nbgrader", "fetch_feedback", "p1_naive_softmax", "--course", "flash-puzzles"]
    subprocess.run(fetched, check=True, cwd=student, env=variables, capture_output=True)
    (page,) = student.rglob("*.html")
    assert "100/100 points" in page.read_text()
