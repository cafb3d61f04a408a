"""Pyodide says what CPython says: without Triton's binary, in 32 bits, and with another NumPy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checker.check import Conditions
from tests.conftest import ROOT, STEMS_OF_KERNELS, check_kernel, need
from tests.kernels import Kernel, kernels

FOLDERS = ("solutions", "right", "wrong")
EVERY = [k for folder in FOLDERS for k in kernels(folder) if k.puzzle in STEMS_OF_KERNELS]
RIGHT = [k for k in EVERY if k.folder != "wrong"]
SCRIPT = Path(__file__).with_name("judged.py")
WITHOUT_THE_BINARY = f"""
import runpy, sys
sys.modules |= dict.fromkeys({("resource", "fcntl", "pwd", "click", "rich", "watchfiles")})
from checker.sandbox import standin
standin.install()
assert "libtriton" not in open("/proc/self/maps").read()
runpy.run_module("tests.browser.judged", run_name="__main__", alter_sys=True)
"""


class Judging:
    """A process that runs `judged.py`, and judges one kernel after the other."""

    def __init__(self, process: subprocess.Popen[str], complaint: Any):
        self.process, self.complaint = process, complaint

    def judged(self, kernel: Kernel, key: str | None = None) -> dict[str, Any]:
        """What it says of a kernel; without a key, in practice."""
        assert self.process.stdin and self.process.stdout
        print(
            json.dumps({"puzzle": kernel.puzzle, "text": kernel.text, "key": key}), file=self.process.stdin, flush=True
        )
        answer = self.process.stdout.readline()
        self.complaint.seek(0)
        assert answer, self.complaint.read()[-2000:]
        found: dict[str, Any] = json.loads(answer)
        return found


@contextmanager
def judging(command: Sequence[str]) -> Iterator[Judging]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryFile("w+") as complaint:
        streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": complaint}
        with subprocess.Popen(command, env=environment, text=True, **streams) as process:
            yield Judging(process, complaint)
            process.kill()


@pytest.fixture(scope="session")
def cpython() -> Iterator[Judging]:
    """Without Triton's binary, and without the modules that Pyodide does not have."""
    with judging([sys.executable, "-c", WITHOUT_THE_BINARY]) as process:
        yield process


@pytest.fixture(scope="session")
def pyodide(built_site: Path) -> Iterator[Judging]:
    need("node")
    with judging(["node", str(Path(__file__).with_name("node.mjs")), str(built_site), str(SCRIPT)]) as process:
        yield process


@pytest.mark.parametrize("kernel", EVERY, ids=lambda kernel: kernel.name)
def test_without_the_binary_it_gets_the_verdict_of_processes(
    kernel: Kernel, cpython: Judging, quick: Conditions
) -> None:
    here, verdict = cpython.judged(kernel), check_kernel(kernel, replace(quick, targets=()))
    assert here["verdict"] == verdict.status.value
    assert here["findings"] == [finding.id for finding in verdict.findings]
    assert here["passed"] == [one.name for one in verdict.properties if one.passed]
    assert here["compiled"] == 0


@pytest.mark.parametrize("kernel", EVERY, ids=lambda kernel: kernel.name)
def test_it_gets_it_in_pyodide(kernel: Kernel, pyodide: Judging, cpython: Judging) -> None:
    assert pyodide.judged(kernel) == cpython.judged(kernel)


@pytest.mark.parametrize("kernel", RIGHT, ids=lambda kernel: kernel.name)
def test_a_right_kernel_is_accepted_with_any_key(kernel: Kernel, pyodide: Judging, cpython: Judging) -> None:
    """Each with a key of its own, of a hundred."""
    key = f"key {RIGHT.index(kernel) % 100}"
    there = pyodide.judged(kernel, key)
    assert there["verdict"] == "accepted"
    assert there == cpython.judged(kernel, key)
