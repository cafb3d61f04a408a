"""`./check`, and the task of VS Code that runs it: the same verdicts as by make, and the marked lines."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, need, ran
from tests.kernels import named

P1 = "p1_naive_softmax"
STATUSES = {  # of what is typed behind ./check
    (P1, "--file", f"solutions/{P1}.py"): 0,
    ("1", "--file", "tests/wrong/p1_padding_loaded_as_zero.py"): 1,
    ("nothing",): 2,
    ("p1", "--file", f"checker/learner/stubs/{P1}.py"): 4,
}


def made(*command: str, ends: int | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    need("make")
    return ran(*command, ends=ends, env={**os.environ, "VENV": sys.prefix, **environment})


@pytest.mark.parametrize("words", STATUSES, ids=lambda words: words[0])
def test_check_ends_with_the_checkers_own_status_and_no_line_of_makes(words: tuple[str, ...]) -> None:
    done = made("./check", *words)
    assert (done.returncode, done.stderr) == (STATUSES[words], "")
    file = f"FILE={words[2]}" if words[2:] else ""
    by_make = made("make", "check", f"PUZZLE={words[0]}", *filter(None, [file]))
    own, other = (re.sub(r"\d+\.\d\d s", "", one.stdout) for one in (done, by_make))
    assert own == other


def test_it_can_be_typed_in_another_folder(tmp_path: Path) -> None:
    need("make")
    kernel = named("p1_no_division").write(tmp_path)
    variables = {**os.environ, "VENV": sys.prefix, "COLUMNS": "200"}
    done = ran(ROOT / "check", "p1", "--file", kernel.name, cwd=tmp_path, env=variables)
    assert done.returncode == 1 and f"  {kernel.name}:" in done.stdout


def test_what_cannot_be_installed_is_no_verdict(tmp_path: Path) -> None:
    """As on a machine without the Python that is asked for."""
    for name in ("check", "Makefile"):
        shutil.copy(ROOT / name, tmp_path)
    assert made(str(tmp_path / "check"), "p1", VENV="/no/such/environment").returncode == 3


@pytest.mark.parametrize(
    ("kernel", "language"), [("p1_indexes_the_pointer", "en"), ("p3_not_rescaled", "en"), ("p4_y_with_x_stride", "zh")]
)
def test_vs_code_marks_the_line_of_each_finding(kernel: str, language: str, tmp_path: Path) -> None:
    """Its own patterns, over what the task prints."""
    [task] = json.loads((ROOT / ".vscode" / "tasks.json").read_text())["tasks"]
    file = named(kernel).write(tmp_path)
    values = {
        "workspaceFolder": str(ROOT),
        "relativeFile": str(file),
        "fileBasenameNoExtension": kernel.partition("_")[0],
    }
    words = [re.sub(r"\$\{(\w+)\}", lambda hole: values[hole[1]], one) for one in (task["command"], *task["args"])]
    done = made(*words, "--json", str(tmp_path / "verdict.json"), LANGUAGE=language, ends=1, **task["options"]["env"])
    marked, title = [], None
    above, below = (re.compile(pattern["regexp"]) for pattern in task["problemMatcher"]["pattern"])
    for line in done.stdout.splitlines():  # as VS Code does: each pattern is for the line below that of the one before
        if title and (place := below.search(line)):
            marked.append((title[2], place[1], int(place[2])))
        title = above.search(line)
    found = json.loads((tmp_path / "verdict.json").read_text())["findings"]
    wanted = [(one["id"], str(file), one["where"]["line"]) for one in found[:3] if one["where"].get("line")]
    assert marked == wanted and wanted
