"""Puzzles that are written in PyTorch, where there is none, and where commands have nothing to do for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from checker.course import ladder
from checker.course.places import solution
from tests.conftest import ROOT

IN_PYTORCH = [rung.id for rung in ladder.RUNGS.values() if rung.pytorch]
RUN = "import runpy, sys; sys.path[:0] = sys.argv.pop(1), sys.argv.pop(1)\n"
RUN += "runpy.run_module('checker', run_name='__main__', alter_sys=True)"


def run(*arguments: str, packages: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command line, with packages of this folder alone if one is given."""
    command = [sys.executable, "-m", "checker"] if packages is None else [sys.executable, "-S", "-c", RUN]
    folders = [] if packages is None else [str(ROOT), str(packages)]
    return subprocess.run([*command, *folders, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """All packages that are installed here, but for PyTorch."""
    for path in Path(np.__file__).parents[1].iterdir():
        if "torch" not in path.name:
            (tmp_path / path.name).symlink_to(path)
    return tmp_path


def test_without_pytorch_they_say_what_installs_it(packages: Path) -> None:
    done = run("check", "a2", packages=packages)
    assert done.returncode == 2 and "make torch" in done.stdout
    assert run("check", "w1", "--file", str(solution("w1")), "--no-compile", packages=packages).returncode == 0


def test_without_pytorch_all_puzzles_are_the_others(packages: Path) -> None:
    done = run("check", "--no-compile", packages=packages)
    assert done.stderr.startswith(f"Left out: {', '.join(IN_PYTORCH)}.") and "make torch" in done.stderr
    listed = [line.split()[0] for line in done.stdout.splitlines() if line[:1].isalpha()]
    assert [word for word in listed if word in ladder.RUNGS] == [id for id in ladder.RUNGS if id not in IN_PYTORCH]


@pytest.mark.parametrize("puzzle_id", [one for one in IN_PYTORCH if not ladder.RUNGS[one].launches])
@pytest.mark.parametrize(
    ("verb", "sentence"), [("trace", "no loads to draw"), ("bench", "not timed"), ("compiled", "no kernel to compile")]
)
def test_what_there_is_not_for_them_is_said(puzzle_id: str, verb: str, sentence: str, tmp_path: Path) -> None:
    into = () if verb == "compiled" else ("--into", str(tmp_path / "drawn"))
    done = run(verb, puzzle_id, "--file", str(solution(puzzle_id)), *into)
    assert done.returncode == 2 and sentence in done.stderr
    assert not (tmp_path / "drawn").exists()
