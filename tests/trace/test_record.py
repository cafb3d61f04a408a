"""Data from a launch's log: steps, spans, reads and traffic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.trace import record
from tests.conftest import ROOT
from tests.trace.traces import STEMS, every_puzzle, said, solution, traced, wrong


@pytest.mark.parametrize(("puzzle_id", "passes"), [("p1", 1), ("p2", 3), ("p3", 2), ("p4", 2)])
def test_sweeps_are_counted(puzzle_id: str, passes: int) -> None:
    [launch] = solution(puzzle_id).launches
    [reads] = launch.reads
    assert reads.tensor == "x" and (reads.counts == passes).all()
    assert f"reads per element: x {passes}\n" in said(solution(puzzle_id)) + "\n"


def test_a_third_sweep_is_seen() -> None:
    [launch] = wrong("p3_three_sweeps").launches
    assert (launch.reads[0].counts == 3).all()
    assert [(t.tensor, t.loads > t.most_loads) for t in launch.traffic] == [("x_ptr", True), ("y_ptr", False)]


def test_blocks_are_touched_in_order_and_end_with_the_row() -> None:
    program = solution("p3").launches[0].programs[2]
    blocks = [((0, 16),), ((16, 32),), ((32, 48),), ((48, 61),)]
    assert [touch.spans for touch in program.touches if not touch.store] == blocks * 2
    assert [(touch.step, touch.spans) for touch in program.touches if touch.store] == list(enumerate(blocks, start=4))
    assert (program.rows, program.loads, program.stores, program.steps) == ((2, 2), 8, 4, 8)
    assert solution("p4").launches[0].programs[2].rows == (8, 10)
    assert solution("a1").launches[0].programs[1].rows == (16, 31)  # of C, though it reads rows 0 to 15 of B


def test_a_step_is_a_turn_of_the_loop() -> None:
    [program] = solution("p5").launches[0].programs
    for step in range(16):
        touched = {(t.tensor, t.store) for t in program.touches if t.step == step}
        assert {("q", False), ("o", False), ("o", True), ("l", True), ("m", True)} <= touched
        assert (("k", False) in touched) == (("v", False) in touched) == (step % 4 == 0)


@every_puzzle
def test_counts_agree_with_the_judge(puzzle_id: str) -> None:
    for launch in solution(puzzle_id).launches:
        loads = {t.tensor.removesuffix("_ptr"): t.loads for t in launch.traffic}
        assert all(reads.counts.sum() == loads[reads.tensor] for reads in launch.reads)
        assert {reads.tensor for reads in launch.reads} >= {name for name, count in loads.items() if count}
        assert all(t.loads <= t.most_loads and t.stores <= t.most_stores for t in launch.traffic)
        assert all(t.most_stores == 0 or t.stores for t in launch.traffic)


def test_a_launch_that_stops_is_seen_up_to_there() -> None:
    trace = wrong("p1_no_store_mask")
    [launch] = trace.launches
    assert launch.stopped == "program 0 stopped in line 20: an access outside its tensor"
    assert launch.stopped in said(trace)
    assert [program.loads for program in launch.programs] == [1, 0, 0, 0]
    assert launch.reads[0].counts.sum() == 61


def test_of_many_programs_and_steps_the_first_are_kept() -> None:
    """One column a step, which is right, and slow: what is left out is told."""
    lines = (ROOT / "solutions" / f"{STEMS['p2']}.py").read_text().split("\n")
    [first] = [n for n, line in enumerate(lines) if line.startswith("def ")]
    body = """    row = tl.program_id(0).to(tl.int64)
    m = -float("inf")
    for c in range(0, n_cols):
        m = tl.maximum(m, tl.load(x_ptr + row * x_row_stride + c).to(tl.float32))
    tl.store(y_ptr + row * y_row_stride, m)"""
    [launch] = traced("p2", "\n".join([*lines[: first + 1], body])).launches
    assert [program.steps for program in launch.programs] == [61] * 4
    assert {touch.step for touch in launch.programs[0].touches} == set(range(record.MOST_STEPS))


@given(st.sets(st.integers(0, 60), min_size=1))
def test_spans_cover_what_was_touched(positions: set[int]) -> None:
    spans = record._spans(np.array(sorted(positions)))
    covered = [p for first, end in spans for p in range(first, end)]
    assert positions <= set(covered) and len(covered) == len(set(covered))
    assert len(spans) == record.MOST_SPANS or len(spans) < record.MOST_SPANS
    runs = sum(p - 1 not in positions for p in positions)
    assert len(spans) == (runs if runs <= record.MOST_SPANS else 1)
    if runs <= record.MOST_SPANS:
        assert set(covered) == positions
