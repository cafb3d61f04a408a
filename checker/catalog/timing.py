"""Sizes at which puzzles are timed, as launches without memory, and the work that every kernel is credited with.

Launch parameters stand in the puzzles' own modules; they were measured on one NVIDIA H200 with triton 3.6.0
(`benchmarks/results/`). Other GPUs have other optima, so a few are tried each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from checker.catalog import attention, softmax
from checker.catalog.attention import Shape
from checker.course.puzzle import Case, Kernel, Role, Timed, Tuning, Work, blank

ELEMENTS = 1 << 30  # of one softmax input, so that its last, half-empty wave of programs weighs little
TOKENS, HIDDEN = 16384, 2048  # of attention: TOKENS / N sequences, usually of HIDDEN / d heads each


def rows_timed(
    kernel: Kernel,
    n: int,
    tunings: Sequence[Tuning],
    free: int,
    dtype: npt.DTypeLike = np.float32,
    bf16: bool = False,
    own_limit: float = 1.0,
    usual: bool = False,
) -> Timed:
    """Rows of n in fp32, or in bf16; ELEMENTS of them, or what an eighth of the free memory holds."""
    count = min(ELEMENTS, free // 8 // (2 if bf16 else np.dtype(dtype).itemsize)) // n
    x = blank((count, n), dtype)
    return Timed(
        f"N = {n}, {'bf16' if bf16 else 'fp32'}",
        Work.SOFTMAX,
        lambda _, blocks: softmax.launch(kernel, "timed", (), x, blocks, gaps=(0, 0), bf16=bf16),
        {kernel.name: tuple(tunings)},
        own_limit=own_limit,
        usual=usual,
    )


def attention_timed(
    kernels: Sequence[Kernel],
    n: int,
    d: int,
    work: Work,
    tunings: Mapping[str, Sequence[Tuning]],
    hidden: int = HIDDEN,
    usual: bool = False,
) -> Timed:
    """Attention in fp16 over TOKENS tokens in sequences of n, with hidden / d heads each."""
    heads = TOKENS // n * (hidden // d)
    causal = work is not Work.ATTENTION
    flops = 4.0 * heads * n * n * d * (0.5 if causal else 1.0) * (2.5 if work is Work.CAUSAL_BACKWARD else 1.0)
    by_name = {kernel.name: kernel for kernel in kernels}
    return Timed(
        f"N = {n}, d = {d}, fp16" + (", causal" if causal else "") + (f", {heads} heads" if hidden != HIDDEN else ""),
        work,
        lambda kernel, blocks: _launch(by_name[kernel], n, d, heads, blocks, causal),
        {kernel: tuple(some) for kernel, some in tunings.items()},
        flops=flops,
        usual=usual,
    )


def _launch(kernel: Kernel, n: int, d: int, heads: int, blocks: Mapping[str, int], causal: bool) -> Case:
    """One launch of an attention kernel: a program per head, per query tile, or per key tile if it writes dK."""
    shape = Shape(n, n, d, blocks["Br"], blocks.get("Bc", blocks["Br"]), heads, (0, 0), (0, 0))
    state = "m_ptr" in kernel.parameters  # FlashAttention-1: O, l and m go back and forth

    def role(name: str) -> Role:
        if state and name in ("o", "l", "m"):
            return Role.STATE
        backward = "do_ptr" in kernel.parameters
        outputs = {"dq", "dk", "dv"} | (set() if backward else {"o", "lse"})
        if "o_ptr" in kernel.parameters:  # delta is made from O, and then used
            outputs.add("delta")
        return Role.OUTPUT if name in outputs else Role.INPUT

    tensors = {}
    for side, names in (("q", ("q", "o", "do", "dq")), ("k", ("k", "v", "dk", "dv"))):
        for name in names:
            dtype = np.float32 if state and name == "o" else np.float16
            tensors[f"{name}_ptr"] = attention.matrix(shape, side, blank((heads, n, d), dtype), role(name))
    for name, value in (("lse", 0.0), ("delta", 0.0), ("l", 0.0), ("m", -np.inf)):
        tensors[f"{name}_ptr"] = attention.vector(shape, blank((heads, n), np.float32, value), role(name))
    if state:
        grid: tuple[int, ...] = (heads,)
    else:
        grid = (shape.tc if "dk_ptr" in kernel.parameters else shape.tr, heads)
    return attention.launch(kernel, "timed", (), shape, tensors, d**-0.5, grid, causal)
