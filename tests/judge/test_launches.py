"""Which kernels a function has launched, on made-up evidence."""

from __future__ import annotations

import numpy as np
import pytest

from checker import catalog
from checker.box.protocol.records import LAUNCHED
from checker.box.protocol.results import AccessLog, LaunchResult
from checker.judge.evidence import Evidence
from checker.judge.launches import launch_findings
from tests.judge.made import where

PUZZLE = catalog.load("c1")
KERNELS = [name for kernel in PUZZLE.kernels for name in kernel.launches]
FORWARD, DELTA, DQ, DK_DV = range(4)
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


def test_only_these_kernels_are_counted() -> None:
    assert PUZZLE.launched("attention_forward") == ("flash_attention_2_kernel",)
    assert list(PUZZLE.launched("attention_backward")) == KERNELS
