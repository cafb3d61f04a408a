"""The causal backward pass: the judge's own inputs for each kernel, the gradients, and what wrong ideas give.

P = exp(S - LSE), dP = dO Vᵀ, dS = P ∘ (dP - delta), delta = rowsum(dO ∘ O); dV = Pᵀ dO,
dQ = scale·dS K, dK = scale·dSᵀ Q (Dao 2023, algorithm 2). The reference uses the LSE and delta that
the kernel gets, rounded as they are, so that each kernel is judged by itself. With dropout, dP = Z ∘ dO Vᵀ and
dV = (P ∘ Z)ᵀ dO.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from checker.catalog.attention.dropped import dropped
from checker.catalog.attention.launch import Proves, Shape, launch, shape_of, tensors, unwritten, wide, writes
from checker.catalog.attention.reference import forward, score_error, scores, sees, visible
from checker.catalog.attention.values import Inputs, beyond_fp16
from checker.catalog.numbers import EPS32, dot_eps
from checker.course.case import Array, Case, Role, Tensor, as_bf16
from checker.course.kernel import Kernel
from checker.course.puzzle import Expected

Outputs = Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Given:
    """Tensors that the three kernels are launched with, by parameter; O, LSE and delta are right."""

    shape: Shape
    scale: float
    kinds: tuple[str, ...]
    tensors: Mapping[str, Tensor]


def given(shape: Shape, inputs: Inputs, do: Array, z: Array | None = None) -> Given:
    """Return the tensors of a launch, with O, LSE and delta from the judge, not from the student.

    Of causal attention; or, with what multiplies P, of full attention with dropout.
    """
    if inputs.bf16:  # as V is above fp16, so that dP is the same
        do = do / beyond_fp16(do.shape[-1])
    q, k, v = (x.astype(np.float64) for x in (inputs.q, inputs.k, inputs.v))
    hidden = ~visible(shape.n_q, shape.n_k, causal=z is None)
    right = forward(np.where(hidden, -np.inf, inputs.scale * (q @ k.swapaxes(1, 2))), v)
    exact = right.o if z is None else (right.p * z) @ v
    o = as_bf16(exact) if inputs.bf16 else exact.astype(inputs.q.dtype)
    delta = (o.astype(np.float64) * do.astype(np.float64)).sum(axis=-1)
    return given_all(shape, inputs, do, o, right.lse.astype(np.float32), delta.astype(np.float32))


def given_all(shape: Shape, inputs: Inputs, do: Array, o: Array, lse: Array, delta: Array) -> Given:
    """Return the tensors of a launch, all inputs as they are given."""
    dtype = inputs.q.dtype
    outputs = {"dq": unwritten(do, dtype), "dk": unwritten(inputs.k, dtype), "dv": unwritten(inputs.v, dtype)}
    more = {"o": o, "do": do, "lse": lse, "delta": delta}
    how = inputs.kinds, inputs.bf16
    made = tensors(shape, more, Role.INPUT, *how) | tensors(shape, outputs, Role.OUTPUT, *how)
    return Given(shape, inputs.scale, inputs.kinds, inputs.tensors(shape) | made)


def launch_given(
    kernel: Kernel, name: str, proves: Proves, given: Given, once: bool = False, **more: int | float
) -> Case:
    """Return one launch of one of the kernels: a program per head and tile of what it writes.

    `more`: what only this kernel has parameters for.
    """
    shape, arguments = given.shape, dict(given.tensors)
    if kernel.name == "delta_kernel":
        delta = unwritten(arguments["delta_ptr"].values, np.float32)
        arguments |= tensors(shape, {"delta": delta}, Role.OUTPUT, given.kinds)
    count = shape.tc if "dk_ptr" in kernel.parameters else shape.tr
    name = f"{kernel.name.removesuffix('_kernel')}: {name}"
    return launch(kernel, name, proves, shape, arguments, given.scale, (count, shape.heads), None, once, **more)


@dataclass(frozen=True, eq=False)
class Gradients:
    """The tiles of the backward pass, each of shape (heads, n_q, n_k), and what is made of them."""

    p: Array
    dp: Array
    ds: Array


@lru_cache(maxsize=8)
def gradients(case: Case) -> Gradients:
    """P, dP and dS in float64, from the LSE and the delta of the launch; hidden entries are 0.

    With dropout P is that of the softmax, which dS needs, and dP is what comes back through Z.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        p = np.where(sees(case), np.exp(scores(case) - wide(case, "lse")[..., None]), 0.0)
    dp = dropped(case, wide(case, "do") @ wide(case, "v").swapaxes(1, 2))
    return Gradients(p, dp, p * (dp - wide(case, "delta")[..., None]))


def collected(case: Case, p: Array, ds: Array) -> dict[str, Array]:
    """dQ, dK and dV from P and dS, as far as the launch writes them."""
    scale = float(case.scalars["scale"])
    made = {
        "dq_ptr": scale * (ds @ wide(case, "k")),
        "dk_ptr": scale * (ds.swapaxes(1, 2) @ wide(case, "q")),
        "dv_ptr": dropped(case, p).swapaxes(1, 2) @ wide(case, "do"),
    }
    return {name: values for name, values in made.items() if name in case.tensors}


def expected(case: Case) -> Mapping[str, Expected]:
    """Return what the launch should write, with running-error bounds from absolute values.

    P errs by the error of its exponent; dP by that of a dot product; dS by both, and by what delta may
    differ if it is computed as rowsum(P ∘ dP); P and dS are rounded to the inputs' type before a product, each sum
    once a tile.
    """
    if writes(case, "delta"):
        products = wide(case, "o") * wide(case, "do")
        tolerance = 16 * EPS32 * np.abs(products).sum(axis=-1) + 1e-30
        return {"delta_ptr": Expected(products.sum(axis=-1), tolerance)}
    g = gradients(case)
    of_q, dot = case.tensors["q_ptr"], dot_eps(case)
    eps, lost = max(of_q.eps, 4 * dot), of_q.smallest
    tiles = max(shape_of(case).tr, shape_of(case).tc)
    finite = np.nan_to_num(np.abs(wide(case, "lse"))[..., None], posinf=0.0)
    relative = score_error(case) + EPS32 * (
        16 + 4 * np.max(np.abs(scores(case)), axis=-1, keepdims=True) + 4 * finite + tiles
    )
    products = dropped(case, np.abs(wide(case, "do")) @ np.abs(wide(case, "v")).swapaxes(1, 2))
    delta = np.abs(wide(case, "delta"))[..., None]
    other_delta = eps * (g.p * products).sum(axis=-1, keepdims=True)
    p_error = g.p * (relative + eps) + lost
    ds_error = (
        g.p * (relative * (np.abs(g.dp) + delta) + 4 * dot * (products + delta) + other_delta)
        + eps * np.abs(g.ds)
        + lost
    )
    absolute = {name: np.abs(wide(case, name)) for name in ("q", "k", "do")}
    scale = float(case.scalars["scale"])
    errors = {
        "dq_ptr": scale * (ds_error @ absolute["k"]),
        "dk_ptr": scale * (ds_error.swapaxes(1, 2) @ absolute["q"]),
        "dv_ptr": dropped(case, p_error).swapaxes(1, 2) @ absolute["do"],
    }
    return {
        name: Expected(right, errors[name] + of_q.eps * np.abs(right) + lost + 1e-30)
        for name, right in collected(case, g.p, g.ds).items()
    }
