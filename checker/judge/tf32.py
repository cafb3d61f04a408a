"""Errors of a right kernel where tl.dot multiplies fp32 in TF32, as a GPU's does: information, no verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from checker.course.case import Case
from checker.course.puzzle import Puzzle
from checker.judge.evidence import tensor_name
from checker.sandbox.protocol.results import LaunchResult

EXPLAINED_IN = "a1"  # whose remark says more than a line
NOTICED = 2.0**-14  # of an output, in its norm: fp32 comes to a hundredth of that, TF32 to more


def in_fp32(puzzle: Puzzle, cases: Sequence[Case]) -> dict[int, Case]:
    """Of each kernel the first launch in which everything is fp32, by number, if the puzzle multiplies tiles at all."""
    first: dict[str, int] = {}
    for number, case in enumerate(cases if puzzle.work is not None else ()):
        if all(tensor.type == "float32" for tensor in case.tensors.values()):
            first.setdefault(case.kernel, number)
    return {number: cases[number] for number in first.values()}


def tf32_remarks(puzzle: Puzzle, ran: Mapping[Case, LaunchResult | None]) -> Iterator[str]:
    """Yield what TF32 costs, in the output that loses most; nothing if hardly anything is lost, as where it is not
    used.
    """
    off, name, case = max((one for pair in ran.items() for one in _off(puzzle, *pair)), default=(0.0, "", ""))
    tensor, percent = tensor_name(name), f"{100 * off:.2g}"
    if off >= NOTICED and puzzle.id != EXPLAINED_IN:
        yield f"on a GPU, tl.dot rounds fp32 to TF32, so {tensor} is off by {percent} % (puzzle a1 says why)."
    elif off >= NOTICED:
        yield (
            "with fp32 inputs a GPU's tl.dot multiplies in TF32, which keeps 11 of 24 binary digits. "
            f"{tensor} is then off by {percent} % ({case}). input_precision='ieee' keeps all digits, "
            "and takes much longer; fp16 and bf16 inputs lose nothing."
        )


def _off(puzzle: Puzzle, case: Case, result: LaunchResult | None) -> Iterator[tuple[float, str, str]]:
    """‖z - right‖ / ‖right‖ of each output, with its name and the launch's title."""
    if result is None or result.error is not None or result.refused is not None or result.left_out:
        return
    for name, right in puzzle.expected(case).items():
        finite = np.isfinite(right.values)
        wanted, found = right.values[finite], result.tensors[name][finite].astype(np.float64)
        if size := float(np.linalg.norm(wanted)):
            yield float(np.linalg.norm(found - wanted)) / size, name, case.title
