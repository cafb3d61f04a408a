"""Sizes at which attention is timed, as launches without memory, and the work that every kernel is credited with.

Launch parameters stand in the puzzles' own modules; they were measured on one NVIDIA H200 with triton 3.6.0
(`benchmarks/results/`). Other GPUs have other optima, so a few are tried each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from checker.catalog.attention.launch import Shape
from checker.catalog.attention.values import Inputs
from checker.course.case import Case, blank
from checker.course.puzzle import Timed, Tuning, Work

# Products in multiples of the two of full attention's forward pass; and what a size is called besides.
PRODUCTS = {
    **dict.fromkeys((Work.CAUSAL_ATTENTION, Work.CAUSAL_BIASED_ATTENTION), 0.5),
    Work.CAUSAL_BACKWARD: 1.25,
    Work.DROPOUT_BACKWARD: 2.0,
}
BESIDES = {
    **dict.fromkeys((Work.CAUSAL_ATTENTION, Work.CAUSAL_BIASED_ATTENTION, Work.CAUSAL_BACKWARD), ", causal"),
    Work.DROPOUT: ", dropout",
    Work.DROPOUT_BACKWARD: ", dropout, dK and dV",
}
TOKENS, HIDDEN = 16384, 2048  # TOKENS / N sequences, usually of HIDDEN / d heads each
SIZES = [(n, d) for n in (2048, 4096, 8192, 16384) for d in (64, 128)]
IN_BF16 = (4096, 128)  # which is timed in bf16 as well
USUAL = 4096


def attention_timed(
    launch: Callable[[str, Shape, Inputs], Case],
    n: int,
    d: int,
    work: Work,
    tunings: Mapping[str, Sequence[Tuning]],
    hidden: int = HIDDEN,
    what: str = "",
    *,
    bf16: bool = False,
) -> Timed:
    """Attention in fp16, or in bf16, over TOKENS tokens in sequences of n, with hidden / d heads each.

    `launch(kernel, shape, inputs)` launches one of the kernels that have `tunings`. `what`: what else a size is told
    by.
    """
    heads = TOKENS // n * (hidden // d)
    flops = 4.0 * heads * n * n * d * PRODUCTS.get(work, 1.0)
    x = blank((heads, n, d), np.float32 if bf16 else np.float16)

    def case(kernel: str, blocks: Mapping[str, int]) -> Case:
        shape = Shape(n, n, d, blocks["Br"], blocks.get("Bc", blocks["Br"]), heads, (0, 0), (0, 0))
        return launch(kernel, shape, Inputs(x, x, x, d**-0.5, bf16=bf16))

    return Timed(
        f"N = {n}, d = {d}, {'bf16' if bf16 else 'fp16'}"
        + BESIDES.get(work, "")
        + (f", {heads} heads" if hidden != HIDDEN else "")
        + (f", {what}" if what else ""),
        work,
        case,
        {kernel: tuple(some) for kernel, some in tunings.items()},
        flops=flops,
        usual=n == USUAL and not bf16,
    )
