"""The mask of dropout and its factor: Z, drawn from the position of each weight of attention.

Entry (head, i, j) of P has the offset (head·n_q + i)·n_k + j. It is kept where `tl.rand(seed, offset) >= p`, and then
times 1 / (1 - p): so the average of O over all masks is O without dropout (Srivastava et al. 2014).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from checker.catalog.attention.launch import shape_of
from checker.course.case import Array, Case
from checker.sandbox.protocol import philox

REMEMBERED = 32  # masks: each is asked for by the reference, and by every model of a wrong kernel


def drops(case: Case) -> bool:
    """Return whether the launch has dropout."""
    return "seed" in case.scalars


def factors(case: Case) -> Array:
    """Z of every head, shape (heads, n_q, n_k): 0 where an entry is dropped."""
    heads, shape = heads_of(case), shape_of(case)
    return _factors(int(case.scalars["seed"]), probability(case), heads, shape.n_q, shape.n_k)


@lru_cache(REMEMBERED)
def _factors(seed: int, p: float, heads: tuple[int, ...], n_q: int, n_k: int) -> Array:
    made = scaled(np.greater_equal(numbers(seed, positions(heads, n_q, n_k)), p), p)
    made.flags.writeable = False
    return made


def dropped(case: Case, x: Array, first_key: int = 0) -> Array:
    """Z ∘ x, as it is without dropout. The columns of `x` begin with `first_key`; what is no entry becomes 0."""
    if not drops(case):
        return x
    z = factors(case)[..., first_key : first_key + x.shape[-1]]
    if x.shape != z.shape:
        z = np.pad(z, ((0, 0), *((0, x.shape[axis] - z.shape[axis]) for axis in (1, 2))))
    return np.asarray(x * z)


def scaled(kept: npt.NDArray[np.bool_], p: float) -> Array:
    """1 / (1 - p) where an entry is kept, else 0."""
    return np.asarray(kept / (1.0 - p))


def probability(case: Case) -> float:
    """p, which fp32 can hold."""
    return float(case.scalars["p"])


def drawn(case: Case) -> npt.NDArray[np.float32]:
    """Return the number of every entry, shape (heads, n_q, n_k)."""
    return numbers(int(case.scalars["seed"]), offsets(case))


def offsets(case: Case) -> npt.NDArray[np.int64]:
    """Return the position of every entry, shape (heads, n_q, n_k)."""
    shape = shape_of(case)
    return positions(heads_of(case), shape.n_q, shape.n_k)


def heads_of(case: Case) -> tuple[int, ...]:
    """Return the numbers of the heads: those of which tensors have rows, which need not follow one another."""
    q = case.tensors["q_ptr"]
    return tuple(head * (q.strides[0] // int(case.scalars["q_head_stride"])) for head in range(len(q.values)))


def positions(heads: tuple[int, ...], n_q: int, n_k: int) -> npt.NDArray[np.int64]:
    """Return the position of every entry of these heads."""
    head, query, key = np.array(heads, np.int64)[:, None, None], np.arange(n_q)[:, None], np.arange(n_k)
    return np.asarray((head * n_q + query) * n_k + key)


def numbers(seed: int, at: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """Return what `tl.rand` gives at these offsets."""
    return philox.rand(seed, at)
