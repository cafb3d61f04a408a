"""The causal backward pass: the judge's own inputs for each kernel, the gradients, and what wrong ideas give.

P = exp(S - LSE), dP = dO Vᵀ, dS = P ∘ (dP - delta), delta = rowsum(dO ∘ O); dV = Pᵀ dO,
dQ = scale·dS K, dK = scale·dSᵀ Q (Dao 2023, algorithm 2). The reference uses the LSE and delta that
the kernel gets, rounded as they are, so that each kernel is judged by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from checker.catalog.attention.inputs import Inputs, hard_inputs, normal_inputs
from checker.catalog.attention.launch import Shape, launch, shape_of, tensors, unwritten, wide
from checker.catalog.attention.reference import EPS32, dot_eps, forward, score_error, scores, sees, visible
from checker.course.puzzle import Array, Case, Expected, Kernel, Role, Tensor, as_bf16

Outputs = Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Given:
    """What the three kernels are launched with: all tensors by parameter; O, LSE and delta are right."""

    shape: Shape
    scale: float
    kinds: tuple[str, ...]
    tensors: Mapping[str, Tensor]


def given(shape: Shape, inputs: Inputs, do: Array) -> Given:
    """The tensors of a launch, with O, LSE and delta from the judge, not from the student."""
    q, k, v = (x.astype(np.float64) for x in (inputs.q, inputs.k, inputs.v))
    hidden = ~visible(shape.n_q, shape.n_k, causal=True)
    right = forward(np.where(hidden, -np.inf, inputs.scale * (q @ k.swapaxes(1, 2))), v)
    o = as_bf16(right.o) if inputs.bf16 else right.o.astype(inputs.q.dtype)
    delta = (o.astype(np.float64) * do.astype(np.float64)).sum(axis=-1)
    return given_all(shape, inputs, do, o, right.lse.astype(np.float32), delta.astype(np.float32))


def given_all(shape: Shape, inputs: Inputs, do: Array, o: Array, lse: Array, delta: Array) -> Given:
    """The tensors of a launch, all inputs as they are given."""
    dtype = inputs.q.dtype
    outputs = {"dq": unwritten(do, dtype), "dk": unwritten(inputs.k, dtype), "dv": unwritten(inputs.v, dtype)}
    more = {"o": o, "do": do, "lse": lse, "delta": delta}
    how = inputs.kinds, inputs.bf16
    made = tensors(shape, more, Role.INPUT, *how) | tensors(shape, outputs, Role.OUTPUT, *how)
    return Given(shape, inputs.scale, inputs.kinds, inputs.tensors(shape) | made)


def half_inputs(random: np.random.Generator, shape: Shape) -> tuple[Inputs, Array]:
    """fp16 inputs and dO on which a sum in fp16 overflows, though the gradients themselves do not.

    Two dimensions are used for that, and add nothing to scores or to dP: V is 0 in the last one, where
    dO is large; Q is 0 in the last one, where K is large (each row of dS sums to 0).
    """
    inputs = hard_inputs(random, shape, np.float16, huge=10.0)
    q, k, v = inputs.q.copy(), inputs.k.copy(), inputs.v.copy()
    q[..., -1], k[..., -1], v[..., -1] = 0, 30000, 0
    do = random.normal(0.0, 1.0, q.shape).astype(np.float16)
    large = np.where(np.arange(shape.n_q) < shape.n_q // 2, 30000.0, -25000.0)
    scores = inputs.scale * (q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2))
    p = forward(np.where(visible(shape.n_q, shape.n_k, causal=True), scores, -np.inf), v).p
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


def launch_given(kernel: Kernel, name: str, proves: str | tuple[str, ...], given: Given, once: bool = False) -> Case:
    """One launch of one of the kernels: a program per head and tile of what it writes."""
    shape, arguments = given.shape, dict(given.tensors)
    if kernel.name == "delta_kernel":
        delta = unwritten(arguments["delta_ptr"].values, np.float32)
        arguments |= tensors(shape, {"delta": delta}, Role.OUTPUT, given.kinds)
    count = shape.tc if "dk_ptr" in kernel.parameters else shape.tr
    name = f"{kernel.name.removesuffix('_kernel')}: {name}"
    of = (proves,) if isinstance(proves, str) else proves
    return launch(kernel, name, of, shape, arguments, given.scale, (count, shape.heads), once=once)


@dataclass(frozen=True, eq=False)
class Gradients:
    """The tiles of the backward pass, each of shape (heads, n_q, n_k), and what is made of them."""

    p: Array
    dp: Array
    ds: Array


def gradients(case: Case) -> Gradients:
    """P, dP and dS in float64, from the LSE and the delta of the launch; hidden entries are 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        p = np.where(sees(case), np.exp(scores(case) - wide(case, "lse")[..., None]), 0.0)
    dp = wide(case, "do") @ wide(case, "v").swapaxes(1, 2)
    return Gradients(p, dp, p * (dp - wide(case, "delta")[..., None]))


def collected(case: Case, p: Array, ds: Array) -> dict[str, Array]:
    """dQ, dK and dV from P and dS, as far as the launch writes them."""
    scale = float(case.scalars["scale"])
    made = {
        "dq_ptr": scale * (ds @ wide(case, "k")),
        "dk_ptr": scale * (ds.swapaxes(1, 2) @ wide(case, "q")),
        "dv_ptr": p.swapaxes(1, 2) @ wide(case, "do"),
    }
    return {name: values for name, values in made.items() if name in case.tensors}


def expected(case: Case) -> Mapping[str, Expected]:
    """What the launch should write, with running-error bounds from absolute values.

    P errs by the error of its exponent; dP by that of a dot product; dS by both, and by what delta may
    differ if it is computed as rowsum(P ∘ dP); P and dS are rounded to the inputs' type before a product, each sum
    once a tile.
    """
    if "o_ptr" in case.tensors:
        products = wide(case, "o") * wide(case, "do")
        tolerance = 16 * EPS32 * np.abs(products).sum(axis=-1) + 1e-30
        return {"delta_ptr": Expected(products.sum(axis=-1), tolerance)}
    g = gradients(case)
    of_q, dot = case.tensors["q_ptr"], dot_eps(case)
    eps, lost = max(of_q.eps, dot), of_q.smallest
    tiles = max(shape_of(case).tr, shape_of(case).tc)
    finite = np.nan_to_num(np.abs(wide(case, "lse"))[..., None], posinf=0.0)
    relative = score_error(case) + EPS32 * (
        16 + 4 * np.max(np.abs(scores(case)), axis=-1, keepdims=True) + 4 * finite + tiles
    )
    products = np.abs(wide(case, "do")) @ np.abs(wide(case, "v")).swapaxes(1, 2)
    delta = np.abs(wide(case, "delta"))[..., None]
    other_delta = 2 * eps * (g.p * products).sum(axis=-1, keepdims=True)
    p_error = g.p * (relative + 4 * eps) + lost
    ds_error = (
        g.p * (relative * (np.abs(g.dp) + delta) + 4 * dot * (products + delta) + other_delta)
        + 4 * eps * np.abs(g.ds)
        + lost
    )
    absolute = {name: np.abs(wide(case, name)) for name in ("q", "k", "do")}
    scale = float(case.scalars["scale"])
    errors = {
        "dq_ptr": scale * (ds_error @ absolute["k"]),
        "dk_ptr": scale * (ds_error.swapaxes(1, 2) @ absolute["q"]),
        "dv_ptr": p_error.swapaxes(1, 2) @ absolute["do"],
    }
    return {
        name: Expected(right, errors[name] + 2 * of_q.eps * np.abs(right) + lost + 1e-30)
        for name, right in collected(case, g.p, g.ds).items()
    }
