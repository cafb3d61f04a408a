"""Numbers as kernels have them: precisions, constants, and what a type makes of a value."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from checker.course.case import Array, Case, as_bf16

EPS32 = float(np.finfo(np.float32).eps)
TF32_EPS = 2.0**-10
THREADS = 128  # of a program on a GPU, at least: each adds up its own part of a block, term by term
LOG2_E, LN_2 = float(np.log2(np.e)), float(np.log(2))
# Numbers that kernels have in place of -inf.
FINITE = (-100.0, -1e3, -1e4, -65504.0, -1e5, -1e6, -1e9, -1e10, -1e20, -1e30, float(np.finfo(np.float32).min))


class BF16:
    """Stands for bf16 where a type of NumPy's is asked for, which has none: such numbers are fp32."""


def halves() -> Iterator[type[Any]]:
    """Return the types of half precision, in turn."""
    return itertools.cycle((np.float16, BF16))


def as_type(x: Array, dtype: npt.DTypeLike) -> Array:
    """x in a type of NumPy's, or in fp32 with what bf16 can hold."""
    return as_bf16(x) if dtype is BF16 else x.astype(dtype)


def half_in_words(dtype: npt.DTypeLike) -> str:
    """fp16 or bf16, for the name of a case; nothing of fp32."""
    return "bf16" if dtype is BF16 else "fp16" if dtype is np.float16 else ""


def exp32(x: Array) -> Array:
    """exp(x) as fp32 has it, infinite from 88.7 on; in float64."""
    return np.exp(x).astype(np.float32).astype(np.float64)


def rounded(x: Array) -> Array:
    """Rounded to fp16, infinite beyond 65504; in float64."""
    return x.astype(np.float16).astype(np.float64)


def dot_eps(case: Case) -> float:
    """Return the precision of tl.dot: fp32's, but TF32's for fp32 inputs on a GPU (two inputs rounded to 10 bits)."""
    x = next(iter(case.tensors.values()))
    return TF32_EPS / 2 if case.on_gpu and x.values.dtype == np.float32 and not x.bf16 else EPS32
