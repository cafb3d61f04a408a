"""Fixtures for grading: a course, a class that has handed in, and the command that grades it."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checker.nbgrader.folder import make
from tests.conftest import ROOT, need, typed
from tests.kernels import kernels

CLASS = {f"{kernel.name}.py": kernel.text for kernel in kernels("wrong") if kernel.puzzle == "p1"}
SMALL = dict(list(CLASS.items())[:4])


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a course, and a class that has handed in."""
    need("bwrap")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    make(tmp_path / "course")
    hand_in(tmp_path, SMALL)
    return tmp_path


def hand_in(desk: Path, texts: dict[str, str], student: str = "") -> None:
    folder = desk / "handed in" / student
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "checker", "grade", *arguments]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120"}


def graded(desk: Path, *arguments: str, ends: int | None = None) -> subprocess.CompletedProcess[str]:
    return typed("grade", "handed in", "--csv", "verdicts.csv", *arguments, cwd=desk, ends=ends)


def records(desk: Path) -> dict[str, int]:
    """The records that there are, and when they were written."""
    return {path.name: path.stat().st_mtime_ns for path in (desk / "course" / "records").rglob("*.json")}


def rows(desk: Path) -> list[dict[str, str]]:
    with (desk / "verdicts.csv").open() as file:
        return list(csv.DictReader(file))


def running(desk: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """The command under way; what it says goes to the file `said`."""
    with (desk / "said").open("wb") as said:
        return subprocess.Popen(
            command("handed in", "--csv", "verdicts.csv", *arguments),
            cwd=desk,
            env=environment(),
            stdout=said,
            stderr=subprocess.STDOUT,
        )


def workers(pid: int) -> list[int]:
    """The processes of a crew, but not multiprocessing's own helper."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    threads = [p.read_text().split() for p in Path(f"/proc/{pid}/task").glob("*/children")]
    every = {int(child) for children_of in [children, *threads] for child in children_of}
    return [one for one in every if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


def wait_for(happened: Callable[[], Any], seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def ended(pid: int) -> bool:
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


def uninterrupted(desk: Path, *arguments: str) -> list[dict[str, str]]:
    """What comes out if nothing dies, with the same key."""
    shutil.move(desk / "course" / "records", desk / "records of the other run")
    (desk / "course" / "records").mkdir()
    assert graded(desk, *arguments).returncode == 0
    return rows(desk)
