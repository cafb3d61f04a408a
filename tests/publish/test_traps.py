"""The trap table: its letters follow from outcomes and from what a judge asks for, and its kernels are there."""

from __future__ import annotations

import json

import pytest

from checker.publish import traps
from tests.conftest import ROOT
from tests.kernels import kernels, named

FIGURES = json.loads((ROOT / traps.PEERS).read_text(encoding="utf-8"))
TAIL, ANY = {"wrong_if": ["tails"]}, {"wrong_if": []}


@pytest.mark.parametrize(
    ("kernel", "asks", "recorded", "measured", "letters"),
    [
        (TAIL, ["tails"], "accepted", None, "A"),
        (TAIL, ["lse"], "accepted", None, "a"),
        (ANY, [], "accepted", "accepted", "A"),
        (TAIL, ["tails"], "refused", None, "x"),
        (TAIL, ["tails"], "died", "refused", "x (was !)"),
    ],
)
def test_letters_follow_from_outcomes(
    kernel: dict, asks: list, recorded: str, measured: str | None, letters: str
) -> None:
    runs = {"recorded": recorded, "measured": measured}
    judge = {name: {"outcomes": {"k": outcome}} for name, outcome in runs.items() if outcome}
    assert traps.letters(kernel, {"asks": asks, **judge}, "k") == letters


def test_ten_kernels_have_an_outcome_by_each_of_ten_judges() -> None:
    assert len(FIGURES["kernels"]) == len(FIGURES["judges"]) == 10
    words = {word for one in FIGURES["kernels"].values() for word in one["wrong_if"]}
    for judge in FIGURES["judges"].values():
        assert set(judge["asks"]) <= words
        for run in ("recorded", "measured"):
            if run in judge:
                assert list(judge[run]["outcomes"]) == [*FIGURES["kernels"], traps.ZEROS]
    assert all(named(kernel).folder == "wrong" for kernel in (*FIGURES["kernels"], traps.ZEROS))


def test_eight_programs_are_of_the_sources() -> None:
    every = [kernel for folder in ("right", "wrong") for kernel in kernels(folder) if "_of_source_" in kernel.name]
    assert len(every) == 8 and all(traps.OF_SOURCE.fullmatch(kernel.name) for kernel in every)
