"""Sizes at which a product of matrices is timed, as launches without memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from checker.catalog.matmul.launch import Shape, launch
from checker.course.case import Case, blank
from checker.course.kernel import Kernel
from checker.course.puzzle import Timed, Tuning, Work

# m, n and k. Of 4088 the compiler does not know that 16 divides it: so the mask along k splits each load into many.
SIZES = ((2048, 2048, 2048), (4096, 4096, 4096), (4096, 4096, 4088), (8192, 8192, 8192))
USUAL = SIZES[:2]


def products_timed(kernel: Kernel, tunings: Sequence[Tuning]) -> list[Timed]:
    """Products in fp16, each with the same launch parameters."""

    def timed(m: int, n: int, k: int) -> Timed:
        a, b = (blank((rows, k), np.float16) for rows in (m, n))

        def case(_: str, blocks: Mapping[str, int]) -> Case:
            return launch(kernel, "timed", (), Shape(m, n, k, **blocks, gaps=(0, 0, 0)), a, b)

        return Timed(
            f"m = {m}, n = {n}, k = {k}, fp16",
            Work.PRODUCT,
            case,
            {kernel.name: tuple(tunings)},
            flops=2.0 * m * n * k,
            usual=(m, n, k) in USUAL,
        )

    return [timed(*size) for size in SIZES]
