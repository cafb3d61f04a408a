"""The launches that are drawn, and their kernels."""

from __future__ import annotations

from dataclasses import replace

from checker import catalog
from checker.check import launch
from checker.judge.compare import wrong_elements
from checker.judge.evidence import written_tensors
from checker.judge.requests import launch_of
from checker.sandbox.parent import Limits
from checker.submission.extract import extract
from checker.submission.read import from_file
from checker.trace import run
from tests.conftest import ROOT
from tests.trace.traces import STEMS, every_puzzle, solution, traced


@every_puzzle
def test_what_is_drawn_is_a_launch_that_a_solution_does_right(puzzle_id: str) -> None:
    """One for each kernel, of at least three tiles a side where there are tiles, and none of those that are graded."""
    puzzle = catalog.load(puzzle_id)
    cases = run.cases_of(puzzle)
    assert [case.kernel for case in cases] == [kernel.name for kernel in puzzle.kernels]
    if puzzle.pictured is not None:
        assert not {case.name for case in cases} & {case.name for case in puzzle.cases(puzzle.draw())}
        assert not any(case.proves for case in cases)
    program = extract(from_file(ROOT / "solutions" / f"{STEMS[puzzle_id]}.py"), puzzle.kernels)
    results = launch(program, [launch_of(case) for case in cases], Limits()).results
    for case, result in zip(cases, results.values(), strict=True):
        expected = puzzle.expected(case)
        for name in written_tensors(case):
            assert not wrong_elements(result.tensors[name], expected[name]).any()
    if puzzle_id not in ("p1", "w2") and puzzle.pictured is not None:  # in these a block is a whole row
        bands = [band for recorded in solution(puzzle_id).launches for band in recorded.bands]
        assert all(-(-band.extent // band.block) >= 3 for band in bands)


def test_without_a_choice_the_first_case_about_traffic_is_drawn() -> None:
    puzzle = replace(catalog.load("p7"), pictured=None)
    names = [case.title for case in run.cases_of(puzzle)]
    assert names == ["delta: whole tiles", "dk_dv: three by three tiles", "dq: three by three tiles"]
    softmax = catalog.load("p3")
    last_first = replace(softmax, pictured=None, cases=lambda draw: softmax.cases(draw)[::-1])
    assert [case.title for case in run.cases_of(last_first)] == ["every kind of row"]


def test_a_kernel_that_is_still_empty_is_left_out() -> None:
    text = (ROOT / "solutions" / f"{STEMS['p7']}.py").read_text()
    trace = traced("p7", text[: text.index("    # Line 5: for 1 <= j")] + "    # FILL IN\n    pass\n")
    assert [recorded.kernel for recorded in trace.launches] == ["delta_kernel", "dq_kernel"]
