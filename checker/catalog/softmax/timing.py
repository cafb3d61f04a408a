"""Sizes at which a softmax is timed, as launches without memory.

Launch parameters stand in the puzzles' own modules; they were measured on one NVIDIA H200 with triton 3.6.0
(`benchmarks/results/`). Other GPUs have other optima, so a few are tried each time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from checker.catalog.softmax.launch import Launcher, launch
from checker.course.case import Case, blank
from checker.course.kernel import Kernel
from checker.course.puzzle import Timed, Tuning, Work

ELEMENTS = 1 << 30  # of one input, so that its last, half-empty wave of programs weighs little
LONG_ROWS = {131072: (Tuning({"BLOCK_SIZE": 8192}, 16), Tuning({"BLOCK_SIZE": 16384}, 32))}  # too long for a cache


def rows_timed(
    kernel: Kernel,
    tunings: Mapping[int, Sequence[Tuning]],
    free: int,
    usual: Collection[int],
    own_limit: float = 1.0,
    bf16: bool = False,
    launcher: Launcher = launch,
) -> list[Timed]:
    """Rows of each of these lengths in fp32, or in bf16; ELEMENTS of them, or what an eighth of the free bytes holds.

    `usual`: lengths that are always timed.
    """

    def timed(n: int) -> Timed:
        x = blank((min(ELEMENTS, free // 8 // (2 if bf16 else 4)) // n, n), np.float32)

        def case(_: str, blocks: Mapping[str, int]) -> Case:
            return launcher(kernel, "timed", (), x, blocks, gaps=(0, 0), bf16=bf16)

        name, some = f"N = {n}, {'bf16' if bf16 else 'fp32'}", {kernel.name: tuple(tunings[n])}
        return Timed(name, Work.SOFTMAX, case, some, own_limit=own_limit, usual=n in usual)

    return [timed(n) for n in tunings]
