"""Cases of kernels whose row is one block: lengths and layouts are chosen here, values in the puzzles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from checker.catalog.cases import covering
from checker.catalog.numbers import halves
from checker.catalog.softmax.cases import CaseMaker
from checker.catalog.softmax.launch import Proves
from checker.course.case import Array, Case


def block_of(n: int) -> dict[str, int]:
    """Return the block of the stub: the next power of two."""
    return {"BLOCK_SIZE": 1 << (n - 1).bit_length()}


def whole_row(make: CaseMaker, name: str, proves: Proves, x: Array, gaps: tuple[int, int], **how: Any) -> Case:
    """Return a launch as in the stub: the block is the next power of two."""
    return replace(make, blocks=block_of(x.shape[1])).launch(name, proves, x, gaps, **how)


def mostly_padding(make: CaseMaker, lowest: float, highest: float) -> Case:
    """Return a row of few numbers in a huge block, where a little in each padded lane adds up."""
    random = make.draw.case("padding")
    x = random.uniform(lowest, highest, (1, int(random.integers(2, 8)))).astype(np.float32)
    return make.resized(1 << 17).launch("mostly padding", "any-length", x, (24, 24), once=True)


def of_every_length(make: CaseMaker, random: np.random.Generator) -> list[Case]:
    """Return the shortest and the longest rows of blocks of every size, and some between; the longest in fp32 and in
    half, so that no key decides what a kernel that cannot do it loses.
    """
    lengths = {2, 3, 4}
    for block in (8, 16, 32, 256):
        half = block // 2
        lengths |= {half + 1, block, int(random.integers(half + 2, block - 1)), block - 1}
    made, of_half = [], halves()
    for n, (layout, on) in zip(sorted(lengths), covering.besides(len(lengths), random), strict=True):
        size, of = (int(random.integers(2, 4)), n), replace(make, blocks=block_of(n))
        dtype = next(of_half) if on & covering.HALF else np.float32
        made.append(of.of_length("any-length", size, layout, dtype, random))
    other = np.float32 if on & covering.HALF else np.float16
    return [*made, of.of_length("any-length", size, layout, other, random)]
