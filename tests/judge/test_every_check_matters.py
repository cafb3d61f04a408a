"""Switch off one check of the judge at a time: the report on some kernel must change for the worse.

Some kernels are then accepted; others are still refused, but no longer by their name. If a test here
fails, a check has become superfluous, or something else has started to hide it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from checker import catalog
from checker.catalog.softmax.reference import ROWS_SUM_TO_ONE
from checker.check import Conditions, steps
from checker.course.case import Case
from checker.course.puzzle import Budget, Expected
from checker.course.verdict import Finding, Status, Traffic, Verdict
from checker.judge import judge, memory, models, traffic, unseen, values, wrong
from checker.judge import kernel as kernels
from checker.sandbox.parent import Limits
from tests.conftest import check_kernel
from tests.kernels import Kernel, named


def _nothing(*_: Any, **__: Any) -> tuple[()]:
    return ()


def _none_wrong(actual: np.ndarray, expected: Expected) -> np.ndarray:
    return np.zeros(actual.shape, bool)


def _at_most(moved: Traffic, bound: Budget) -> bool:
    return moved.loads <= bound.loads and moved.stores <= bound.stores


SWITCHED_OFF = Finding("switched-off", Status.ACCEPTED, "", "", "")

JUDGE: list[tuple[Any, str, Callable[..., Any], str]] = [
    (wrong, "wrong_elements", _none_wrong, "p1_adds_epsilon"),
    (kernels, "traffic_findings", _nothing, "p1_reads_twice"),
    (memory, "_inputs_changed", _nothing, "p1_in_place"),
    (memory, "_shared_elements", _nothing, "p1_same_output_row"),
    (memory, "_never_written", _nothing, "p1_result_not_stored"),
    (memory, "_colliding_lanes", _nothing, "p1_lanes_collide"),
    (kernels, "_differing_runs", _nothing, "p1_keeps_state"),
    (values, "_undefined_lanes", lambda *_: SWITCHED_OFF, "p1_padding_undefined"),
    (models, "explains", lambda *_: False, "p1_no_division"),
    (wrong.Wrong, "line_of", lambda *_: None, "p3_rescaled_by_the_inverse"),
    (kernels, "most_telling", lambda notes: notes, "p6_accumulator_in_half"),
    (memory, "_overlapping", lambda *_: SWITCHED_OFF, "p5_tile_and_step_differ"),
    (kernels, "name_gaps", lambda _, notes, *__: notes, "p1_mask_of_flat_offsets"),
    (memory, "_missing_barrier", _nothing, "p5_no_barrier"),
    (traffic, "_too_large_a_block", _nothing, "p5_tiles_of_bc_queries"),
    (traffic, "_too_narrow", _nothing, "p4_rows_one_by_one"),
    (traffic, "_by_hand", _nothing, "a1_column_by_column"),
    (kernels, "losses", lambda *_: [], "p5_dot_in_half"),
    (traffic, "_within", _at_most, "p5_swapped_when_small"),
    (steps, "not_entered", lambda *_: [], "p3_branch_never_taken"),
    (steps, "unseen", lambda *_: ([], []), "p1_one_length"),
    (unseen, "_written", lambda *_: [], "w1_same_length_only"),
    (judge, "_joined", lambda earlier, new, _: [*earlier, *new], "p7_delta_missing"),
]


def _lint_off(kernel: Kernel, conditions: Conditions) -> Conditions:
    return replace(conditions, lint=kernel.folder != "hostile", limits=Limits(patience=2.0, waiting_seconds=2.0))


@pytest.mark.parametrize(("room", "name", "instead", "kernel"), JUDGE, ids=[entry[1] for entry in JUDGE])
def test_the_judge_needs_this_check(
    room: Any, name: str, instead: Callable[..., Any], kernel: str, quick: Conditions, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = named(kernel)
    before = check_kernel(one, _lint_off(one, quick))
    monkeypatch.setattr(room, name, instead)
    after = check_kernel(one, _lint_off(one, quick))
    assert _told(before) != _told(after)


def _told(verdict: Verdict) -> tuple[object, ...]:
    return verdict.status, tuple(finding.id for finding in verdict.findings)


def test_the_invariant_catches_what_a_loose_tolerance_lets_through(
    monkeypatch: pytest.MonkeyPatch, check_text: Callable[..., Verdict]
) -> None:
    puzzle = catalog.load("p1")

    def loose(case: Case) -> dict[str, Expected]:
        return {n: Expected(e.values, e.tolerance + 0.02) for n, e in puzzle.expected(case).items()}

    change = {"old": "numerator / denominator", "new": "numerator / denominator + 0.01"}
    monkeypatch.setattr(catalog, "load", lambda _: replace(puzzle, expected=loose, invariants=()))
    assert check_text(**change).accepted
    monkeypatch.setattr(catalog, "load", lambda _: replace(puzzle, expected=loose))
    assert check_text(**change).findings[0].id == ROWS_SUM_TO_ONE.id


IN_HALF = {
    "p3_normaliser_in_half": "fp16, every length",
    "p4_lanes_added_in_half": "fp16, a sum of small terms",
    "p5_output_rounded": "fp16",
    "p7_dp_in_half": "dk_dv: fp16, large dP",
}


@pytest.mark.parametrize("kernel", IN_HALF)
def test_what_is_added_up_in_half_also_shows_by_its_values(
    kernel: str, quick: Conditions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "losses", lambda *_: [])
    verdict = check_kernel(named(kernel), quick)
    [failed] = [p.case for p in verdict.properties if p.name == "half"]
    assert failed.startswith(IN_HALF[kernel])
