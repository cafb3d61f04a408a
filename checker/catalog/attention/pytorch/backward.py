"""The backward pass in PyTorch: calls on tensors (batch, heads, n, d), and the gradients that they give.

References and models of the family know kernels that get delta, on one axis of heads. `folded_back` makes a launch of
theirs of a call, with the delta that is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from checker.catalog.attention.backward import gradients as backward
from checker.catalog.attention.launch import Proves, wide
from checker.catalog.attention.pytorch.calls import Size, call, dense, folded
from checker.catalog.attention.reference import forward, scores, sees
from checker.catalog.attention.values import Inputs
from checker.course.case import Array, Case, Tensor
from checker.course.kernel import Kernel
from checker.course.misconception import Writes
from checker.course.puzzle import Expected

DOUBLE_ERROR = 1e-5  # of what fp32 may be off: far below what it can do, and thousands of times what fp64 needs

KERNEL = Kernel(
    name="flash_attention_backward",
    parameters=("q", "k", "v", "o", "lse", "do", "scale", "causal", "Br", "Bc"),
    pytorch=True,
)


def call_back(
    name: str, proves: Proves, size: Size, inputs: Inputs, do: Array, causal: bool = False, once: bool = False
) -> Case:
    """One call of the function, with right O and LSE; `do` has the shape (heads of all sequences, n_q, d)."""
    forwards = call(name, proves, size, inputs, causal, once)
    one = folded(forwards)
    right = forward(np.where(sees(one), scores(one), -np.inf), wide(one, "v"))
    given = forwards.tensors
    q, dtype = given["q"], inputs.q.dtype

    def like(of: Tensor, values: Array) -> Tensor:
        return replace(of, values=values.astype(dtype).reshape(of.values.shape))

    outputs = {f"d{of}": given[of] for of in ("q", "k", "v")}
    tensors = {
        **{of: given[of] for of in ("q", "k", "v")},
        "o": like(q, right.o),
        "lse": Tensor(right.lse.astype(dtype).reshape(q.values.shape[:3]), given["lse"].strides, axes=q.axes[:3]),
        "do": like(q, do),
        **{
            name: Tensor.output(of.values.shape, dtype, dense(of.values.shape), of.axes) for name, of in outputs.items()
        },
    }
    return replace(forwards, kernel=KERNEL.name, tensors=tensors)


def folded_back(case: Case) -> Case:
    """Return a launch of the family with the values and sizes of this call, and with delta."""
    one = folded(case)
    delta = (wide(one, "o") * wide(one, "do")).sum(axis=-1)
    rows = one.tensors["lse_ptr"]
    return replace(one, tensors={**one.tensors, "delta_ptr": replace(rows, values=delta)})


def as_in_kernels(sign: Writes, *only: str, causal: bool = False) -> Writes:
    """Return what a function in PyTorch returns with the idea of a kernel of the family.

    `only`: the outputs that the idea is about, if not all. `causal`: calls that are not causal come out right.
    """

    def outputs(case: Case) -> Mapping[str, Array]:
        if causal and not case.constexprs["causal"]:
            return {}
        made = {name.removesuffix("_ptr"): x for name, x in sign.outputs(folded_back(case)).items()}
        return {name: x.reshape(case.tensors[name].values.shape) for name, x in made.items() if name in (only or made)}

    return replace(sign, outputs=outputs)


def expected(case: Case) -> Mapping[str, Expected]:
    """dQ, dK and dV with the family's running-error bounds in fp32, and with `DOUBLE_ERROR` of these in fp64."""
    factor = DOUBLE_ERROR if case.tensors["q"].values.dtype == np.float64 else 1.0
    right = {}
    for name, of in backward.expected(folded_back(case)).items():
        plain = name.removesuffix("_ptr")
        shape = case.tensors[plain].values.shape
        right[plain] = Expected(of.values.reshape(shape), factor * of.tolerance.reshape(shape))
    return right
