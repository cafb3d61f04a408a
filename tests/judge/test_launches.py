"""Kernels that a function has launched, on made-up evidence."""

from __future__ import annotations

import numpy as np
import pytest

from checker import catalog
from checker.course import ladder
from checker.judge.evidence import Evidence
from checker.judge.launches import MOST_COMPILED, as_launched, launch_findings
from checker.sandbox.protocol.launch import Form
from checker.sandbox.protocol.records import LAUNCHED
from checker.sandbox.protocol.results import AccessLog, Launched, LaunchResult
from tests.judge.made import where

PUZZLE = catalog.load("c1")
KERNELS = [name for kernel in PUZZLE.kernels for name in kernel.launches]
FORWARD, DELTA, DK_DV, DQ = range(4)
NOTHING = np.zeros(0, np.int32)


def findings(kernel: str, *launched: int) -> list[str]:
    """What is said of a call that has launched these, one a line from line 10 on."""
    case = next(case for case in PUZZLE.cases(PUZZLE.draw()) if case.kernel == kernel)
    columns = {name: np.zeros(len(launched), np.int32) for name in ("tensor", "program", "distinct", "lanes")}
    log = AccessLog(
        kind=np.full(len(launched), LAUNCHED, np.int32),
        line=np.arange(10, 10 + len(launched), dtype=np.int32),
        detail=np.array(launched, np.int32),
        elements=NOTHING,
        **columns,
    )
    result = LaunchResult({}, [], log, None, None)
    return [f"{f.id} {f.where.line}" for f in launch_findings(PUZZLE, Evidence(case, result, None), where)]


@pytest.mark.parametrize(
    ("kernel", "launched", "said"),
    [
        ("attention_forward", [FORWARD], []),
        ("attention_backward", [FORWARD, DELTA, DQ, DK_DV], []),
        ("attention_backward", [FORWARD, DELTA, DK_DV, DQ], []),
        ("attention_forward", [], ["kernel-not-launched None"]),
        ("attention_forward", [FORWARD, FORWARD], ["launched-too-often 11"]),
        ("attention_forward", [FORWARD, DELTA], ["launched-too-often 11"]),
        ("attention_backward", [FORWARD, DQ, DK_DV], ["kernel-not-launched None"]),
        ("attention_backward", [FORWARD, FORWARD, DELTA, DQ, DK_DV], ["forward-computed-again 11"]),
        ("attention_backward", [FORWARD, DELTA, DQ, DQ, DK_DV], ["launched-too-often 13"]),
        ("attention_forward", [FORWARD, 7], []),  # a number that no kernel has: nobody has launched that
    ],
)
def test_each_kernel_once(kernel: str, launched: list[int], said: list[str]) -> None:
    assert findings(kernel, *launched) == said


def test_kernels_have_the_numbers_that_the_sandbox_gives_them() -> None:
    linked = [catalog.load(needed) for needed in ladder.RUNGS["c1"].launches]
    assert [kernel.name for puzzle in linked for kernel in puzzle.kernels] == KERNELS


def test_of_each_kernel_and_type_the_largest_tiles_are_compiled() -> None:
    case = PUZZLE.cases(PUZZLE.draw())[0]

    def launched(kernel: int, d: int, side: int, type_: str = "*fp32", **options: int) -> Launched:
        return Launched(kernel, 10, Form({"q_ptr": type_}, {"D": d, "Br": side}, ()), options)

    def compiled(*every: Launched) -> list[tuple[str, int, int, str]]:
        evidence = Evidence(case, LaunchResult({}, [], AccessLog(*[NOTHING] * 8), None, None, launched=every), None)
        jobs = [job for _, job in as_launched(PUZZLE, [evidence], ["sm_90"])]
        return [(job.kernel, job.constexprs["D"], job.constexprs["Br"], job.signature["q_ptr"]) for job in jobs]

    assert compiled(launched(0, 16, 64), launched(0, 32, 64), launched(0, 64, 64, "*fp16"), launched(9, 16, 16)) == [
        ("flash_attention_2_kernel", 32, 64, "*fp32"),
        ("flash_attention_2_kernel", 64, 64, "*fp16"),
    ]
    assert len(compiled(launched(0, 16, 64), launched(0, 16, 64, num_warps=8))) == 2
    assert compiled(launched(-1, 16, 64), launched(0, 16, 64, "i32"), launched(9, 16, 64)) == []  # a runner may lie
    many = compiled(*(launched(0, 16, side) for side in range(1, 20)))
    assert [side for _, _, side, _ in many] == [*range(19, 19 - MOST_COMPILED, -1)]
    two = compiled(*(launched(0, 16, side) for side in range(2, 20)), launched(1, 16, 1))
    assert len(two) == MOST_COMPILED and {name for name, *_ in two} == {*KERNELS[:2]}


def test_only_these_kernels_are_counted() -> None:
    assert PUZZLE.launched("attention_forward") == ("flash_attention_2_kernel",)
    assert list(PUZZLE.launched("attention_backward")) == KERNELS
