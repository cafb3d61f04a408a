"""Cases of the backward pass: dO as well, and O, LSE and delta from the judge, so that each kernel is judged alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from checker.catalog.attention.backward.gradients import Given, given, launch_given
from checker.catalog.attention.forward.cases import (
    EVERY,
    FAR,
    FAR_HEADS,
    FAR_ON_GPU,
    FAR_ROWS,
    LARGE,
    NARROW,
    PICTURED,
    CaseMaker,
    Chosen,
)
from checker.catalog.attention.launch import Proves, Shape
from checker.catalog.attention.reference import forward, sees, visible
from checker.catalog.attention.values import (
    Inputs,
    drawn_factor,
    hard_inputs,
    in_bf16,
    normal_inputs,
    with_cancelling_terms,
)
from checker.catalog.numbers import as_type
from checker.course.case import Array, Case, as_bf16
from checker.course.kernel import Kernel
from checker.course.puzzle import Draw, Pictured


class BackwardCaseMaker(CaseMaker):
    """Makes the cases of all kernels of the backward pass, which get the same tensors in cases of the same name."""

    def __init__(self, draw: Draw) -> None:
        super().__init__(draw, launch_given)
        self._given: Callable[..., Given] = cache(self._drawn)

    def launched(
        self,
        kernel: Kernel,
        name: str,
        proves: Proves,
        shape: Shape,
        dtype: type[object] = np.float32,
        hard: bool = False,
        once: bool = False,
        unit_scale: bool = False,
    ) -> Case:
        """Return a launch of one kernel, on normal inputs or on queries of every kind."""
        return launch_given(kernel, name, proves, self._given(name, shape, dtype, hard, unit_scale), once)

    def chosen(self, kernel: Kernel, c: Chosen, otherwise: str) -> Case:
        """Return a launch that the design asks for."""
        of = c.proves(otherwise)
        return self.launched(kernel, c.name, of, c.shape, c.dtype, once=True, unit_scale=c.unit_scale)

    def _drawn(self, name: str, shape: Shape, dtype: type[object], hard: bool, unit_scale: bool) -> Given:
        source = self.random(f"{name} {shape.n_q} {shape.n_k}")
        factor = drawn_factor(self.sizes, dtype) if name.startswith(EVERY) else 1.0
        inputs = hard_inputs(source, shape, dtype) if hard else normal_inputs(source, shape, dtype, factor, unit_scale)
        do = as_type(source.normal(0.0, 1.0, inputs.q.shape), dtype)
        do[:, int(source.integers(shape.n_q))] = 0.5  # a row like any other
        return given(shape, inputs, do)


def launch_with(
    kernel: Kernel, name: str, proves: Proves, shape: Shape, inputs: Inputs, random: np.random.Generator
) -> Case:
    """Return a launch on these inputs, and dO drawn with them."""
    do: Array = random.normal(0.0, 1.0, inputs.q.shape).astype(inputs.q.dtype)
    return launch_given(kernel, name, proves, given(shape, inputs, as_bf16(do) if inputs.bf16 else do))


def large_cases(kernels: Sequence[Kernel], proves: Mapping[str, str]) -> Callable[[Draw], list[Case]]:
    """For a GPU: a thousand queries and keys, a wide head, bf16. `proves`: a property of each kernel."""

    def cases(draw: Draw) -> list[Case]:
        def case(kernel: Kernel, name: str, shape: Shape, of: str, bf16: bool = False) -> Case:
            random = draw.case(name)
            inputs = normal_inputs(random, shape, np.float32 if bf16 else np.float16)
            return launch_with(kernel, name, of, shape, in_bf16(inputs) if bf16 else inputs, random)

        made = []
        for kernel in kernels:
            made.append(case(kernel, "a thousand keys", LARGE, proves[kernel.name]))
            made.append(case(kernel, "bf16", NARROW, proves[kernel.name], bf16=True))
            made.append(case(kernel, FAR, FAR_HEADS, "far-offsets"))
            made.append(case(kernel, FAR_ROWS, FAR_ON_GPU, "far-offsets"))
        return made

    return cases


def pictured(kernels: Sequence[Kernel]) -> Pictured:
    """For pictures: four by four tiles, of each kernel."""

    def case(kernel: Kernel, random: np.random.Generator) -> Case:
        return launch_with(kernel, "four by four tiles", (), PICTURED, normal_inputs(random, PICTURED), random)

    return Pictured(lambda draw: [case(kernel, draw.case("pictured")) for kernel in kernels], sees=sees)


def half_inputs(random: np.random.Generator, shape: Shape, z: Array | None = None) -> tuple[Inputs, Array]:
    """fp16 inputs and dO on which a sum in fp16 overflows, though the gradients themselves do not.

    Of causal attention; or, with what multiplies P, of full attention with dropout.

    Two dimensions are used for that, and add nothing to scores or to dP: V is 0 in the last one, where
    dO is large; Q is 0 in the last one, where K is large (each row of dS sums to 0).
    """
    inputs = with_cancelling_terms(hard_inputs(random, shape, np.float16, huge=10.0), first=4)
    q, k, v = inputs.q.copy(), inputs.k.copy(), inputs.v.copy()
    q[..., -1], k[..., -1], v[..., -1] = 0, 30000, 0
    do = random.normal(0.0, 1.0, q.shape).astype(np.float16)
    large = np.where(np.arange(shape.n_q) < shape.n_q // 2, 30000.0, -25000.0)
    scores = inputs.scale * (q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2))
    p = forward(np.where(visible(shape.n_q, shape.n_k, causal=z is None), scores, -np.inf), v).p
    p = p if z is None else p * z
    do[..., -1] = large * min(1.0, 5e4 / np.abs(large @ p).max())  # dV itself must fit into fp16
    return replace(inputs, q=q, k=k, v=v), do


def large_products(random: np.random.Generator, shape: Shape) -> tuple[Inputs, Array]:
    """fp16 inputs and dO with a dP beyond what fp16 can hold, though dS and the gradients are not.

    In one dimension V and dO are large and positive: that adds nearly as much to each dP as to delta.
    """
    inputs = normal_inputs(random, shape, np.float16)
    v, do = inputs.v.copy(), random.normal(0.0, 1.0, inputs.q.shape).astype(np.float16)
    v[..., -1], do[..., -1] = random.uniform(180, 340, v.shape[:2]), 260
    return replace(inputs, v=v), do


def large_values(random: np.random.Generator, shape: Shape) -> tuple[Inputs, Array]:
    """Scores up to 30,000 in size, V and O whose exponential would overflow, and dO of a million or a millionth."""
    inputs = normal_inputs(random, shape)
    q, k, do = inputs.q.copy(), inputs.k.copy(), random.normal(0.0, 1.0, inputs.q.shape).astype(np.float32)
    k[..., 0] = 1.0
    q[..., 0] = np.resize([3e3, -3e3, 3e4, -3e4], shape.n_q) / inputs.scale
    do *= np.resize([1.0, 3e5, 1e-8], (shape.n_q, 1)).astype(np.float32)
    return replace(inputs, q=q, k=k, v=300 * inputs.v), do


def delta_of_zero(random: np.random.Generator, shape: Shape) -> tuple[Inputs, Array]:
    """Return a query with dO but a delta of 0, and a gradient all the same: what it gets from two keys cancels in O."""
    inputs = normal_inputs(random, shape)
    q, v, do = inputs.q.copy(), inputs.v.copy(), random.normal(0.0, 1.0, inputs.q.shape).astype(np.float32)
    query = int(random.integers(2, shape.n_q))
    q[:, query] = 0.0  # sees all its keys alike
    v[..., -1], do[:, query] = 0.0, 0.0
    v[:, :2, -1], do[:, query, -1] = (1.0, -1.0), 2.0
    return replace(inputs, q=q, v=v), do
