"""A sandbox without processes gives the same verdicts, where no process can be started or limited."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from checker.check import Conditions
from checker.course import places
from checker.course.status import Misuse
from checker.sandbox.cage.cage import Cage
from checker.sandbox.host import Host
from tests.conftest import check_path, ran
from tests.kernels import Kernel, named

# In a process of its own: Triton stays in interpreter mode. What is missing in a browser is missing here as well.
SCRIPT = """
import json, sys
missing = ("resource", "fcntl", "pwd")
for name in missing:
    sys.modules[name] = None
from checker.sandbox.host import Host
from checker.sandbox.parent import Limits
from checker.check import Conditions, check
from checker.report.as_json import as_dict
from checker.submission.read import from_cells
limits = Limits(output_bytes=1 << 14)
conditions = Conditions(host=Host(in_process=True), limits=limits, lint="without-lint" not in sys.argv)
for puzzle_id, text in json.load(sys.stdin):
    submission = from_cells([("code", text)], "kernel.py", numbered=False)
    print(json.dumps(as_dict(check(puzzle_id, submission, conditions).verdict)))
import numpy as np
assert np.geterr()["divide"] == "warn"
"""


def checked_here(tried: list[Kernel], *arguments: str) -> list[dict[str, Any]]:
    """What a process that starts no other one finds, as JSON has it."""
    asked = json.dumps([(one.puzzle, one.text) for one in tried])
    done = ran(sys.executable, "-c", SCRIPT, *arguments, ends=0, input=asked)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_it_says_that_there_is_no_wall_and_limits_what_is_printed() -> None:
    [solved, flood] = checked_here([named("p1_naive_softmax"), named("p1_output_flood")], "without-lint")
    assert solved["accepted"] and solved["sandbox"].startswith("none:") and "no points" in solved["sandbox"]
    assert set(solved["versions"]) >= {"triton", "numpy"}
    assert [finding["id"] for finding in flood["findings"]] == ["output-flood"]


@pytest.mark.parametrize("more", [{"key": "autumn"}, {"device": "cuda"}, {"device": "auto"}], ids=str)
def test_it_never_gives_points(more: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="only practice on the interpreter"):
        Conditions(host=Host(in_process=True), **more)


def test_it_runs_no_pytorch() -> None:
    with pytest.raises(Misuse, match="on a CPU, on Linux, without LIGHT=1"):
        check_path(places.solution("a2"), Conditions(host=Host(in_process=True)))


def test_there_is_no_cage_without_processes() -> None:
    with pytest.raises(ValueError, match="only practice on the interpreter"):
        Conditions(host=Host(Cage("B", "bwrap"), in_process=True))


def test_a_cage_shows_no_gpu() -> None:
    with pytest.raises(ValueError, match="grading runs on the interpreter"):
        Conditions(host=Host(Cage("B", "bwrap")), device="cuda")
