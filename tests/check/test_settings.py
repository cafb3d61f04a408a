"""Findings on launches that a GPU gets wrong, by their results with other settings."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from checker.check import Conditions, Outcome, check, settings
from checker.sandbox.parent import Limits
from checker.sandbox.protocol.records import MEMORY
from checker.sandbox.protocol.results import KernelError, LaunchResult
from checker.submission.read import from_cells
from tests.kernels import named

STOPPED = KernelError("DriverError", "CUDA error: an illegal memory access was encountered", 0, 0)
TWO = "RRR WWW RRR WWW WWW"  # three runs with each of OTHERS


@cache
def outcome(name: str) -> Outcome:
    submission = from_cells([("code", named(name).text)], "kernel.py", numbered=False)
    return check("p1", submission, Conditions(targets=()))


def wrong() -> Outcome:
    return outcome("p1_sums_x")


@cache
def result(letter: str) -> LaunchResult | None:
    """Right, wrong, wrong in another way (X), stopped (S), left out (L), or none at all (-)."""
    of = outcome("p1_naive_softmax") if letter in "RL" else wrong()
    at = wrong().verdict.findings[0].where.case_id
    [made, *_] = next(evidence.results for evidence in of.evidence if evidence.case.id == at)
    changes = {
        "X": {"tensors": {name: values + 1 for name, values in made.tensors.items()}},
        "S": {"error": STOPPED},
        "L": {"left_out": MEMORY},
    }
    return None if letter == "-" else replace(made, **changes.get(letter, {}))


def explained(monkeypatch: pytest.MonkeyPatch, runs: str) -> Outcome:
    monkeypatch.setattr(settings, "_runs", lambda *_: [[result(letter) for letter in three] for three in runs.split()])
    return settings.explained("p1", wrong(), Limits())


@pytest.mark.parametrize("usual", ["WWW", "SSS"])
def test_settings_that_are_right_are_named(monkeypatch: pytest.MonkeyPatch, usual: str) -> None:
    made = explained(monkeypatch, f"{usual} {TWO}").verdict
    first, before = made.findings[0], wrong().verdict.findings[0]
    assert "It is right with num_stages=1 and num_warps=1." in first.explanation
    assert "not rounding" in first.explanation and "a fault of the compiler" in first.explanation
    assert (first.id, first.where, first.examples) == (before.id, before.where, before.examples)
    assert replace(made, findings=(before, *made.findings[1:])) == wrong().verdict  # points, status, and all else


@pytest.mark.parametrize(
    "runs",
    [f"WWX {TWO}", f"W-W {TWO}", f"RRR {TWO}", "WWW RRR WWW WWW WWW WWW", "WWW RRR RRW R-R LLL XXX"],
    ids=["wrong in other ways", "ended once", "right this time", "one other is right", "right, but not each time"],
)
def test_nothing_is_said_unless_it_is_shown(monkeypatch: pytest.MonkeyPatch, runs: str) -> None:
    assert explained(monkeypatch, runs) == wrong()


def test_a_refusal_without_a_launch_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(settings, "_runs")
    right = outcome("p1_naive_softmax")
    assert settings.explained("p1", right, Limits()) == right
