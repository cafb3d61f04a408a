"""`lab`: what JupyterLab opens, and for whom nbgrader's panels are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.commands import learner
from checker.course import places
from tests.conftest import importable

OURS = str(places.PACKAGE / "notebook" / "lab")


@pytest.mark.parametrize("course", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_it_opens_the_first_notebook(
    course: bool, first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the folder, where that notebook is not; an instructor's course brings nbgrader's panels."""
    importable("jupyterlab")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "class").mkdir()
    if first:
        places.start(tmp_path).touch()
    if course:
        (tmp_path / "class" / "course.toml").touch()
    monkeypatch.setattr(learner.places, "ROOT", tmp_path)
    monkeypatch.setattr(learner.places, "spoken_start", lambda: tmp_path / "notebooks" / "00_start_here.ipynb")
    monkeypatch.setenv("COURSE", "class")
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "/own")
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, words: started.append(words))
    assert CliRunner().invoke(learner.lab, ["--no-browser", "--port=9"]).exit_code == 0
    [words] = started
    page = "/lab/tree/notebooks" + ("/00_start_here.ipynb" if first else "")
    assert words[1:] == [
        *("-m", "jupyterlab", f"--ServerApp.root_dir={tmp_path}", f"--LabApp.default_url={page}"),
        *("--no-browser", "--port=9"),
    ]
    assert os.environ["JUPYTER_CONFIG_PATH"] == ("/own" if course else f"{OURS}{os.pathsep}/own")
