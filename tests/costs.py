"""`python -m tests.costs [FILE ...]`: measure what tests cost, all or those of some files, and write `costs.json`.

Takes hours on two cores for all of them. As a plugin of pytest, it writes a line for each test that passes: CPU seconds
of this process and of all that it has started, ended or not, without those of fixtures that tests share.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.slices import COSTS, ROOT, SHARED, Item, read, summed

VARIABLE = "COSTS_OF_TESTS"  # the file with a line for each test
_TICKS = os.sysconf("SC_CLK_TCK")
_shared = [0.0]  # CPU seconds of fixtures that other tests use as well, since the test began
_failed = [False]


def spent() -> float:
    """CPU seconds of this process and of its children, and of theirs."""
    children: dict[int, list[int]] = {}
    seconds: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            children.setdefault(int(fields[1]), []).append(int(entry.name))
            seconds[int(entry.name)] = sum(map(int, fields[11:15])) / _TICKS  # its own, and of those it has waited for
    todo, total = [os.getpid()], 0.0
    while todo:
        total += seconds.get(one := todo.pop(), 0.0)
        todo += children.get(one, [])
    return total


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """What a fixture costs that is made once for many tests is no cost of the first, but of their file."""
    if fixturedef.scope == "function":
        return (yield)
    before, within = spent(), _shared[0]
    try:
        return (yield)
    finally:
        own = spent() - before
        if fixturedef.scope != "session":  # without what it has asked for, which has a line of its own
            file, _, _ = request.node.nodeid.partition("::")
            _written(own - (_shared[0] - within), f"{file}::{SHARED}[{fixturedef.argname}]")
        _shared[0] = within + own


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Whether the test has passed so far."""
    report = yield
    _failed[0] = _failed[0] or not report.passed
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measure a test with all around it."""
    _shared[0], _failed[0] = 0.0, False
    before = spent()
    try:
        return (yield)
    finally:
        if not _failed[0]:
            _written(spent() - before - _shared[0], item.nodeid)


def _written(seconds: float, name: str) -> None:
    with open(os.environ[VARIABLE], "a", encoding="utf-8") as file:
        file.write(f"{seconds:.2f} {name}\n")


def measured(path: Path) -> Iterator[tuple[Item, float]]:
    """What such a file says."""
    for line in path.read_text(encoding="utf-8").splitlines():
        seconds, _, name = line.partition(" ")
        yield Item(name), float(seconds)


def main(files: list[str]) -> int:
    """Run them as a fresh machine would; what passed is known afterwards, and what did not keeps the cost it had."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines"
        lines.touch()
        said = {VARIABLE: str(lines), "XDG_CACHE_HOME": folder, "REQUIRE_ALL_TOOLS": "1"}
        suite = ("-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal", "-p", "tests.costs")
        done = subprocess.run([sys.executable, *suite, *files], cwd=ROOT, env=os.environ | said, check=False)
        renew(list(measured(lines)))
    return done.returncode


def renew(found: list[tuple[Item, float]]) -> None:
    """Write the file anew, with what was measured in place of what it had on the same functions."""
    costs = {file: dict(functions) for file, functions in read().items()} if COSTS.exists() else {}
    for item, _ in found:
        costs.get(item.file, {}).pop(item.function, None)
    for file, functions in summed(found).items():
        costs.setdefault(file, {}).update(functions)
    kept = {file: there for file, functions in sorted(costs.items()) if (there := _existing(file, functions))}
    COSTS.write_text(_a_function_a_line(kept), encoding="utf-8")


def _a_function_a_line(costs: dict[str, dict[str, Any]]) -> str:
    files = []
    for file, functions in costs.items():
        lines = ",\n ".join(f"{json.dumps(one)}: {json.dumps(by_puzzle)}" for one, by_puzzle in functions.items())
        files.append(f"{json.dumps(file)}: {{\n {lines}}}")
    return "{\n" + ",\n".join(files) + "\n}\n"


def _existing(file: str, functions: dict[str, Any]) -> dict[str, Any]:
    """The functions that the file still has."""
    path = ROOT / "tests" / file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return {name: functions[name] for name in sorted(functions) if f"def {name}(" in text or name == SHARED}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
