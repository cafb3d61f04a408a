"""Causal attention as a function of autograd, by kernels of other puzzles: calls on tensors (batch, heads, n, d).

A call of `attention_forward` gives O; one of `attention_backward` runs both, and gives the gradients of what dO says.
References know one axis of heads: `family` makes their launch of a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

import numpy as np
import numpy.typing as npt

from checker.catalog.attention import reference
from checker.catalog.attention.backward import gradients as backward
from checker.catalog.attention.launch import Proves, wide
from checker.catalog.attention.pytorch import calls as in_pytorch
from checker.catalog.attention.pytorch.calls import dense
from checker.catalog.numbers import BF16, as_type
from checker.course.case import Array, Axis, AxisKind, Case, Tensor
from checker.course.kernel import Kernel
from checker.course.puzzle import Expected

FORWARD = Kernel(
    "attention_forward", ("ctx", "q", "k", "v", "scale"), pytorch=True, launches=("flash_attention_2_kernel",)
)
BACKWARD = Kernel(
    "attention_backward", ("ctx", "do"), pytorch=True, launches=("delta_kernel", "dk_dv_kernel", "dq_kernel")
)
TILE = 16  # the smallest that tl.dot takes: of the tiles that a function may choose, the one that rounds most often
BOTH_PASSES = 4  # times a kernel's own bound: what its inputs, which are kernels' outputs, are off by


class Layout(Enum):
    """The layout of a tensor (batch, heads, n, d) in memory."""

    DENSE = "dense"
    SIDE_BY_SIDE = "heads side by side"  # cut from (batch, n, heads, d)
    PACKED = "packed"  # cut from (batch, n, 3, heads, d), as a model makes Q, K and V with one product
    PADDED = "padded"  # rows with unused elements between them
    EXPANDED = "expanded"  # one number, seen as many: dO of a sum

    def strides(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Strides in elements."""
        _, heads, n, d = shape
        if self is Layout.EXPANDED:
            return (0, 0, 0, 0)
        if self is Layout.PADDED:
            return (heads * n * (d + 8), n * (d + 8), d + 8, 1)
        if self is Layout.DENSE:
            return dense(shape)
        width = heads * d * (3 if self is Layout.PACKED else 1)
        return (n * width, d, width, 1)


def call(
    kernel: Kernel,
    name: str,
    proves: Proves,
    random: np.random.Generator,
    sizes: tuple[int, int, int, int, int],
    layouts: Mapping[str, Layout] | Layout = Layout.DENSE,
    dtype: npt.DTypeLike = np.float32,
    informative: bool = True,
) -> Case:
    """Return one call; `sizes` are batch, heads, n_q, n_k and d. The scale is not 1 / sqrt(d)."""
    batch, heads, n_q, n_k, d = sizes
    of = layouts if isinstance(layouts, Mapping) else dict.fromkeys(("q", "k", "v", "do"), layouts)
    queries = (Axis(AxisKind.SEQUENCE), Axis(AxisKind.HEAD), Axis(AxisKind.QUERY), Axis(AxisKind.DIMENSION))
    keys = (Axis(AxisKind.SEQUENCE), Axis(AxisKind.HEAD), Axis(AxisKind.KEY), Axis(AxisKind.DIMENSION))
    scale = float(np.float32(random.uniform(1.4, 1.8) / np.sqrt(d)))
    tensors: dict[str, Tensor] = {}
    for tensor, rows, axes in (("q", n_q, queries), ("k", n_k, keys), ("v", n_k, keys), ("do", n_q, queries)):
        values = as_type(random.normal(0.0, 1.0, (batch, heads, rows, d)), dtype)
        layout = of.get(tensor, Layout.DENSE)
        if layout is Layout.EXPANDED:
            values[...] = 0.5
        tensors[tensor] = Tensor(values, layout.strides(values.shape), axes=axes, bf16=dtype is BF16)
    do = tensors.pop("do")
    asked = {"o": tensors["q"]}
    if kernel is BACKWARD:
        asked = {f"d{name}": tensor for name, tensor in tensors.items()}
        tensors["do"] = do
    for output, like in asked.items():
        made = Tensor.output(like.values.shape, like.values.dtype, dense(like.values.shape), like.axes)
        tensors[output] = replace(made, bf16=like.bf16)
    words = [f"{batch} sequences"] if batch > 1 else []
    words += [f"{heads} heads"] if heads > 1 else []
    words += [f"n_q={n_q}", f"n_k={n_k}", f"d={d}"]
    return Case(
        title=name,
        sizes=", ".join(words),
        kernel=kernel.name,
        proves=(proves,) if isinstance(proves, str) else proves,
        grid=(1,),
        tensors=tensors,
        scalars={"scale": scale},
        informative=informative,
    )


def family(case: Case, Br: int = TILE, Bc: int = TILE) -> Case:
    """Return a launch of the family's with this call's values, all heads of all sequences on one axis, and O, LSE and
    delta.

    O is rounded to its type, as the backward pass gets it. Where several heads of Q share one of K and V, each has its
    own. A call that does not say whether it is causal is.
    """
    tensors = {}
    heads = case.tensors["q"].values.shape[1]
    sides = {AxisKind.QUERY: Br, AxisKind.KEY: Bc}
    for name, tensor in case.tensors.items():
        every = np.repeat(tensor.values, heads // tensor.values.shape[1], axis=1)
        values = every.reshape(-1, *every.shape[2:])
        axes = tuple(replace(axis, block=sides.get(axis.kind, 0)) for axis in tensor.axes[1:])
        tensors[f"{name}_ptr"] = Tensor(values, dense(values.shape), tensor.role, axes, tensor.bf16)
    q = tensors["q_ptr"]
    causal = bool(case.constexprs.get("causal", True))
    blocks = {"D": q.values.shape[-1], "Br": Br, "Bc": Bc, "CAUSAL": causal}
    one = replace(case, tensors=tensors, constexprs=blocks)
    right = reference.forward(np.where(reference.sees(one), reference.scores(one), -np.inf), wide(one, "v"))
    rows = (q.values.shape[1], 1)
    lse = Tensor(right.lse.astype(np.float32), rows, axes=q.axes[:2])
    if "do_ptr" not in tensors:
        return replace(one, tensors={"lse_ptr": lse, **tensors})  # unless LSE is asked for
    o = as_type(right.o, BF16 if q.bf16 else q.values.dtype).astype(np.float64)
    delta = Tensor((o * wide(one, "do")).sum(axis=-1), rows, axes=q.axes[:2])
    return replace(one, tensors={**tensors, "lse_ptr": lse, "delta_ptr": delta})


def expected(case: Case) -> Mapping[str, Expected]:
    """O, or dQ, dK and dV, with the bounds of kernels in tiles of 16 by 16."""
    one = family(case)
    bounds = backward.expected(one) if case.kernel == BACKWARD.name else reference.expected(one)
    right = {}
    for name, of in bounds.items():
        plain = name.removesuffix("_ptr")
        if plain in case.tensors:
            right[plain] = Expected(unfolded(case, plain, of.values), BOTH_PASSES * unfolded(case, plain, of.tolerance))
    return right


def unfolded(case: Case, name: str, values: Array) -> Array:
    """Values of the family's launch in the shape that the call has, summed over what shares a head of K and V."""
    batch, heads, *rest = case.tensors[name].values.shape
    return np.asarray(values.reshape(batch, heads, -1, *rest).sum(axis=2))


def steps(case: Case) -> float:
    """Programs and tiles of all kernels that a call launches, with the smallest tiles."""
    kernels = len(FORWARD.launches) + (len(BACKWARD.launches) if case.kernel == BACKWARD.name else 0)
    return kernels * in_pytorch.steps(case, TILE)


def memory_of(case: Case, name: str) -> Array:
    """Return a tensor's memory in float64, from its first element to its last; NaN where nothing of it lies."""
    tensor = case.tensors[name]
    shape, strides = tensor.values.shape, tensor.strides
    span = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)) + 1
    memory = np.full(span, np.nan)
    at = sum(
        np.arange(n).reshape(-1, *[1] * (len(shape) - 1 - i)) * s
        for i, (n, s) in enumerate(zip(shape, strides, strict=True))
    )
    memory[at] = tensor.values
    return memory
