"""Models of kernels with a wrong idea of dropout: what each would write, forward or for dK and dV."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from checker.catalog.attention.backward.gradients import gradients
from checker.catalog.attention.dropped import drawn, factors, heads_of, numbers, offsets, probability, scaled
from checker.catalog.attention.forward.models import Outputs, with_lse
from checker.catalog.attention.launch import Shape, shape_of, wide, writes
from checker.catalog.attention.reference import scores
from checker.catalog.numbers import exp32
from checker.course.case import Array, Case
from checker.course.misconception import Writes

Z = Callable[[Case], Array]  # what a kernel multiplies P by
Position = Callable[[Case, Shape, Array, Array, Array], Array]
Parts = Callable[[Array, Array, Array, Array], tuple[Array, Array]]  # (P, Z, dO Vᵀ, delta) → what gives dV; dS


def is_forward(case: Case) -> bool:
    """Return whether the launch writes O."""
    return writes(case, "o")


def exponentials(case: Case) -> tuple[Array, Array]:
    """m, with a last axis of 1, and exp(S - m), in fp32."""
    s = scores(case)
    m = s.max(axis=-1, keepdims=True)
    return m, exp32(s - m)


def from_exponentials(formula: Callable[[Case, Array, Array], tuple[Array, Array]]) -> Writes:
    """Forward: `formula(case, e, Z)` is each entry's part of the numerator, and l with a last axis of 1."""

    def outputs(case: Case) -> Outputs:
        if not is_forward(case):
            return {}
        m, e = exponentials(case)
        with np.errstate(all="ignore"):
            part, l = formula(case, e, factors(case))
            made = with_lse(m, l, part @ wide(case, "v") / l)
        return {name: made[name] for name in ("o_ptr", "lse_ptr")}

    return Writes(outputs)


def from_parts(formula: Parts) -> Writes:
    """For dK and dV: what a kernel with these tiles writes."""

    def outputs(case: Case) -> Outputs:
        if is_forward(case):
            return {}
        p, raw = gradients(case).p, wide(case, "do") @ wide(case, "v").swapaxes(1, 2)
        with np.errstate(all="ignore"):
            return _collected(case, *formula(p, factors(case), raw, wide(case, "delta")[..., None]))

    return Writes(outputs)


def with_factors(z: Z) -> Writes:
    """Either kernel, right but for Z."""

    def outputs(case: Case) -> Outputs:
        with np.errstate(all="ignore"):
            other = z(case)
            if is_forward(case):
                m, e = exponentials(case)
                l = e.sum(axis=-1, keepdims=True)
                made = with_lse(m, l, (e * other) @ wide(case, "v") / l)
                return {name: made[name] for name in ("o_ptr", "lse_ptr")}
            p, raw = gradients(case).p, wide(case, "do") @ wide(case, "v").swapaxes(1, 2)
            return _collected(case, p * other, p * (other * raw - wide(case, "delta")[..., None]))

    return Writes(outputs)


def _collected(case: Case, of_dv: Array, ds: Array) -> Outputs:
    scale = float(case.scalars["scale"])
    dk = scale * (ds.swapaxes(1, 2) @ wide(case, "q"))
    return {"dk_ptr": dk, "dv_ptr": of_dv.swapaxes(1, 2) @ wide(case, "do")}


def from_numbers(z: Callable[[Array, float], Array]) -> Writes:
    """Either kernel, with Z from the right numbers and p by another rule."""
    return with_factors(lambda case: z(drawn(case), probability(case)))


def at(position: Position) -> Writes:
    """Either kernel, with the numbers of other offsets: `position(case, shape, head, i, j)`."""

    def z(case: Case) -> Array:
        shape = shape_of(case)
        head = np.array(heads_of(case), np.int64)[:, None, None]
        where = position(case, shape, head, np.arange(shape.n_q)[:, None], np.arange(shape.n_k))
        everywhere = np.broadcast_to(where, (shape.heads, shape.n_q, shape.n_k))
        return _kept(case, numbers(int(case.scalars["seed"]), np.ascontiguousarray(everywhere, np.int64)))

    return with_factors(z)


def seeded(seed: Callable[[int], int]) -> Writes:
    """Either kernel, with another seed."""
    return with_factors(lambda case: _kept(case, numbers(seed(int(case.scalars["seed"])), offsets(case))))


def seeded_by_head(case: Case, row: int = 0) -> Array:
    """Z of a kernel that adds the head to the seed, and counts positions in a head, in rows of n_k numbers or `row`."""
    shape = shape_of(case)
    in_head = (np.arange(shape.n_q)[:, None] * (row or shape.n_k) + np.arange(shape.n_k))[None].astype(np.int64)
    seed = int(case.scalars["seed"])
    return np.concatenate([_kept(case, numbers(seed + head, in_head)) for head in heads_of(case)])


def in_32_bits(case: Case) -> Array:
    """Z of a kernel whose offsets are cut to 32 bits."""
    return _kept(case, numbers(int(case.scalars["seed"]), offsets(case) & 0xFFFFFFFF))


def queries_left_out(count: Callable[[Case], int]) -> Writes:
    """dK and dV from the first queries alone, so many."""

    def outputs(case: Case) -> Outputs:
        if is_forward(case):
            return {}
        g, seen = gradients(case), np.arange(shape_of(case).n_q)[:, None] < count(case)
        return _collected(case, np.where(seen, g.p * factors(case), 0.0), np.where(seen, g.ds, 0.0))

    return Writes(outputs)


def _kept(case: Case, number: Array) -> Array:
    return scaled(np.greater_equal(number, probability(case)), probability(case))
