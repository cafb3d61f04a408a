"""Sizes at which a single query over a long context is timed, as launches without memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checker.catalog.attention.launch import Shape
from checker.catalog.attention.timing import HIDDEN
from checker.catalog.attention.values import Inputs
from checker.catalog.split.launch import MERGE, SPLIT, Cut, Parts, launch_merge, launch_split
from checker.course.case import Case, blank
from checker.course.puzzle import Timed, Tuning, Work

SIZES = [(n, d) for n in (65536, 131072, 262144, 524288) for d in (64, 128)]  # keys, width of a head
USUAL = 131072
# Splits of each head. An H200 has 132 multiprocessors: with 16 or 32 heads, 4 or 8 programs for each of them.
SPLITS = 33
TUNINGS = {
    SPLIT.name: (
        Tuning({"Br": 16, "Bc": 64}, 2, 4),
        Tuning({"Br": 16, "Bc": 64}, 4, 4),
        Tuning({"Br": 16, "Bc": 128}, 4),
    ),
    MERGE.name: (Tuning({"Bs": 1 << (SPLITS - 1).bit_length()}, 4),),
}


def timed(_: int) -> list[Timed]:
    """One query of HIDDEN / d heads, in fp16; memory is the limit."""
    return [_size(n, d) for n, d in SIZES]


def _size(n_k: int, d: int) -> Timed:
    heads = HIDDEN // d
    q, k = (blank((heads, n, d), np.float16) for n in (1, n_k))
    parts = Parts(blank((SPLITS, heads, 1, d), np.float32), blank((SPLITS, heads, 1), np.float32))

    def case(kernel: str, blocks: Mapping[str, int]) -> Case:
        shape = Shape(1, n_k, d, blocks.get("Br", 1), blocks.get("Bc", 1), heads, (0, 0), (0, 0))
        if kernel == MERGE.name:
            return launch_merge("timed", (), shape, blocks["Bs"], parts, np.float16)
        return launch_split("timed", (), shape, Cut(SPLITS, -(-n_k // SPLITS)), Inputs(q, k, k, d**-0.5))

    return Timed(
        f"N = {n_k}, d = {d}, fp16, a single query",
        Work.DECODING,
        case,
        TUNINGS,
        operations=4.0 * heads * n_k * d,
        usual=n_k == USUAL,
    )
