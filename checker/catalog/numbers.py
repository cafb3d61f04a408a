"""Numbers as kernels have them: precisions, constants, and what a type makes of a value."""

from __future__ import annotations

import numpy as np

from checker.course.case import Array, Case

EPS32 = float(np.finfo(np.float32).eps)
TF32_EPS = 2.0**-10
LOG2_E, LN_2 = float(np.log2(np.e)), float(np.log(2))


def exp32(x: Array) -> Array:
    """exp(x) as fp32 has it, infinite from 88.7 on; in float64."""
    return np.exp(x).astype(np.float32).astype(np.float64)


def rounded(x: Array) -> Array:
    """Rounded to fp16, infinite beyond 65504; in float64."""
    return x.astype(np.float16).astype(np.float64)


def dot_eps(case: Case) -> float:
    """The precision of tl.dot: fp32's, but TF32's for fp32 inputs on a GPU (two inputs rounded to 10 bits)."""
    x = next(iter(case.tensors.values()))
    return TF32_EPS / 2 if case.on_gpu and x.values.dtype == np.float32 and not x.bf16 else EPS32
