"""The next check removes the folders of a killed one, and leaves those of a running one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from checker.sandbox.folders import PREFIX, own_folder
from tests.conftest import ROOT

HOLD = """
import time
from checker.sandbox.folders import own_folder
with own_folder() as path:
    print(path, flush=True)
    time.sleep(600)
"""


def held(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that holds a folder, as if for an hour."""
    variables = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", HOLD], env=variables, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    path = Path(process.stdout.readline().strip())
    (path / "submission.py").write_text("")
    os.utime(path, (0, 0))
    return process, path


def test_only_what_nobody_holds_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (killed, left), (running, kept) = held(tmp_path), held(tmp_path)
    killed.kill()
    killed.wait()
    try:
        target = tmp_path / "somebody's"
        target.mkdir()
        (tmp_path / f"{PREFIX}link").symlink_to(target)
        young = tmp_path / f"{PREFIX}young"
        young.mkdir()
        with own_folder() as own:
            assert not left.exists()
            assert kept.exists() and target.exists() and young.exists() and Path(own).exists()
        assert not Path(own).exists()
    finally:
        running.kill()
        running.wait()
