"""Pyodide says what CPython says: without Triton's binary, in 32 bits, and with another NumPy."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from checker.check import Terms
from tests.conftest import ROOT, STEMS_OF_KERNELS, check_kernel, need
from tests.kernels import Kernel, kernels

FOLDERS = ("solutions", "right", "wrong")
EVERY = [k for folder in FOLDERS for k in kernels(folder) if k.puzzle in STEMS_OF_KERNELS]
RIGHT = [k for k in EVERY if k.folder != "wrong"]
SEED = 20221107
SAMPLE = 2  # in `make test`
SCRIPT = Path(__file__).with_name("judged.py")
Asked = tuple[tuple[Kernel, str | None], ...]  # with a key, or as in practice


def answers(command: Sequence[str], asked: Asked) -> list[dict[str, Any]]:
    lines = [json.dumps({"puzzle": k.puzzle, "text": k.text, "key": key}) for k, key in asked]
    done = subprocess.run(
        command,
        input="\n".join(lines),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def in_pyodide(site: Path, asked: Asked) -> list[dict[str, Any]]:
    need("node")
    return answers(["node", str(Path(__file__).with_name("node.mjs")), str(site), str(SCRIPT)], asked)


@cache
def in_cpython(asked: Asked) -> list[dict[str, Any]]:
    """Without Triton's binary, and without the modules that Pyodide does not have."""
    script = f"""
import runpy, sys
sys.modules |= dict.fromkeys({("resource", "fcntl", "pwd", "click", "rich", "watchfiles")})
from checker.box import standin
standin.install()
runpy.run_module("tests.browser.judged", run_name="__main__", alter_sys=True)
assert "libtriton" not in open("/proc/self/maps").read()
"""
    return answers([sys.executable, "-c", script], asked)


def sample(every: Sequence[Kernel], size: int) -> list[Kernel]:
    return random.Random(SEED).sample(every, size)


def in_practice(every: Sequence[Kernel]) -> Asked:
    return tuple((one, None) for one in every)


def native(one: Kernel, quick: Terms) -> tuple[str, list[str], list[str]]:
    verdict = check_kernel(one, replace(quick, targets=()))
    passed = [one.name for one in verdict.properties if one.passed]
    return verdict.status.value, [finding.id for finding in verdict.findings], passed


def assert_processes_agree(tried: Sequence[Kernel], quick: Terms) -> None:
    for one, here in zip(tried, in_cpython(in_practice(tried)), strict=True):
        assert (here["verdict"], here["findings"], here["passed"]) == native(one, quick), one.name
        assert here["compiled"] == 0


def assert_pyodide_agrees(site: Path, asked: Asked) -> list[dict[str, Any]]:
    there = in_pyodide(site, asked)
    for (one, _), a, b in zip(asked, in_cpython(asked), there, strict=True):
        assert a == b, one.name
    return there


def test_a_sample_without_the_binary_gets_the_verdicts_of_processes(quick: Terms) -> None:
    assert_processes_agree(sample(EVERY, SAMPLE), quick)


def test_a_sample_gets_them_in_pyodide(built_site: Path, told: Callable[[str], None]) -> None:
    told(f"kernels in Pyodide: {SAMPLE} of {len(EVERY)}, or all in make test-all")
    assert_pyodide_agrees(built_site, in_practice(sample(EVERY, SAMPLE)))


@pytest.mark.slow
def test_all_without_the_binary_get_the_verdicts_of_processes(quick: Terms) -> None:
    assert_processes_agree(EVERY, quick)


@pytest.mark.slow
def test_all_get_them_in_pyodide(built_site: Path) -> None:
    assert_pyodide_agrees(built_site, in_practice(EVERY))


@pytest.mark.slow
def test_right_kernels_are_accepted_with_any_key(built_site: Path) -> None:
    """Each with a key of its own, of a hundred."""
    asked = tuple((one, f"key {number % 100}") for number, one in enumerate(RIGHT))
    assert {one["verdict"] for one in assert_pyodide_agrees(built_site, asked)} == {"accepted"}
