"""A bias on the scores: for which of heads, queries and keys it has a number each, how it lies, and launches with it.

Its shape is (heads, n_q, n_k), or 1 instead of any of these: then one number is for all of them, and that stride is 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from checker.catalog.attention import launch as attention
from checker.catalog.attention.launch import FAR_APART, Proves, Shape, tensors, unwritten
from checker.catalog.attention.reference import forward
from checker.catalog.attention.values import Inputs
from checker.course.case import Array, Axis, AxisKind, Case, Role, Tensor, as_bf16, blank
from checker.course.kernel import Kernel

Kind = tuple[bool, bool, bool]  # whether it has a number for each head, each query, each key
KINDS: tuple[Kind, ...] = tuple(itertools.product((False, True), repeat=3))  # type: ignore[arg-type]
ONE, PER_KEY, PER_QUERY, OF_ALL_HEADS, PER_HEAD, OF_KEYS, OF_QUERIES, FULL = KINDS
AXES = AxisKind.HEAD, AxisKind.QUERY, AxisKind.KEY
SIGMA = 2.0  # of a bias, as of the scores
# How it lies in memory: dense; rows padded; keys some elements apart; keys outside and queries inside.
LAYOUTS = DENSE, PADDED, SPREAD, TRANSPOSED = range(4)


def words(kind: Kind) -> str:
    """Return what a report calls a bias of this kind."""
    each = [axis.value for axis, own in zip(AXES, kind, strict=True) if own]
    if not each:
        return "one bias for all"
    *others, last = each
    return f"a bias for each {', '.join(others)} and {last}" if others else f"a bias for each {last}"


@dataclass(frozen=True, eq=False)
class Bias:
    """A bias, with 1 for an axis along which one number is for all; `strides` are 0 there."""

    values: Array
    strides: tuple[int, int, int]

    @property
    def kind(self) -> Kind:
        """For which axes it has a number each."""
        head, query, key = (stride > 0 for stride in self.strides)
        return head, query, key

    @cached_property
    def scalars(self) -> dict[str, int]:
        """The strides, as the kernels call them."""
        return dict(zip(("bias_head_stride", "bias_row_stride", "bias_col_stride"), self.strides, strict=True))

    def tensor(self, shape: Shape, bf16: bool = False) -> Tensor:
        """As an argument of a launch. What has one number has no stride: any will do that is longer than the rest."""
        span = sum((extent - 1) * stride for extent, stride in zip(self.values.shape, self.strides, strict=True)) + 1
        strides = tuple(stride or span + 1 for stride in self.strides)
        axes = Axis(AxisKind.HEAD), Axis(AxisKind.QUERY, shape.Br), Axis(AxisKind.KEY, shape.Bc)
        return Tensor(as_bf16(self.values) if bf16 else self.values, strides, axes=axes, bf16=bf16)

    def of_all_heads(self, shape: Shape, bf16: bool = False) -> Tensor:
        """As an argument of shape (n_q, n_k), if all heads share it."""
        shared = self.tensor(shape, bf16)
        return replace(shared, values=shared.values[0], strides=shared.strides[1:], axes=shared.axes[1:])


def laid_out(
    random: np.random.Generator,
    values: Array,
    kind: Kind,
    layout: int = DENSE,
    head_stride: int = 0,
    row_stride: int = 0,
) -> Bias:
    """Return the bias with the strides of `layout`; heads and rows lie at least as far apart as the strides say.

    A row is what lies outside: one of a query, or where `layout` is TRANSPOSED one of a key.
    """
    order = (0, 2, 1) if layout == TRANSPOSED else (0, 1, 2)
    strides, inside = [0, 0, 0], int(random.integers(2, 5)) if layout == SPREAD else 1
    least = {0: head_stride, order[1]: row_stride}
    for axis in reversed(order):
        if kind[axis]:
            inside = max(inside, least.get(axis, 0))
            strides[axis] = inside
            inside = inside * values.shape[axis] + (0 if layout == DENSE else int(random.integers(1, 40)))
    return Bias(values, (strides[0], strides[1], strides[2]))


def extents(shape: Shape, kind: Kind) -> tuple[int, ...]:
    """Return the shape of a bias of this kind."""
    return tuple(n if own else 1 for n, own in zip((shape.heads, shape.n_q, shape.n_k), kind, strict=True))


def head_stride_of(random: np.random.Generator, shape: Shape) -> int:
    """0; or about as far as the heads of Q lie apart, where they lie far apart, and odd."""
    apart = shape.strides("q")[0]
    return apart + 2 * int(random.integers(1, 1000)) + 1 - apart % 2 if apart >= FAR_APART else 0


def drawn_bias(
    random: np.random.Generator,
    shape: Shape,
    inputs: Inputs,
    kind: Kind = FULL,
    layout: int = DENSE,
    level: float = 0.0,
) -> Bias:
    """Normal numbers of Q's type, some of them 0; `level`: some around this number, and some around its negative."""
    values = random.normal(0.0, SIGMA, extents(shape, kind))
    if level:
        values += random.choice([-level, 0.0, level], values.shape)
    values[random.random(values.shape) < 0.1] = 0.0
    half = as_bf16(values.astype(np.float32)) if inputs.bf16 else values.astype(inputs.q.dtype)
    return laid_out(random, half, kind, layout, head_stride_of(random, shape), shape.far_row)


def attention_launch(
    kernel: Kernel,
    name: str,
    proves: Proves,
    shape: Shape,
    inputs: Inputs,
    bias: Bias,
    causal: bool = False,
    once: bool = False,
) -> Case:
    """Return one launch of attention with a bias: a program per head and tile of queries."""
    outputs = {"o": unwritten(inputs.q, inputs.q.dtype), "lse": unwritten(inputs.q[..., 0], np.float32)}
    arguments = inputs.tensors(shape) | tensors(shape, outputs, Role.OUTPUT, inputs.kinds, inputs.bf16)
    arguments["bias_ptr"] = bias.tensor(shape, inputs.bf16)
    grid = (shape.tr, shape.heads)
    case = attention.launch(kernel, name, proves, shape, arguments, inputs.scale, grid, causal, once, **bias.scalars)
    shared = {"broadcast"} - {*case.proves} if bias.kind != FULL else set()
    return replace(case, sizes=f"{case.sizes}, {words(bias.kind)}", asks=case.asks | shared)


def gradient_launch(
    kernel: Kernel,
    name: str,
    proves: Proves,
    shape: Shape,
    inputs: Inputs,
    bias: Bias,
    do: Array,
    once: bool = False,
    rows: Mapping[str, Array] | None = None,
) -> Case:
    """Return one launch of the gradient of a bias that all heads share: a program per tile of it.

    `rows`: LSE and delta, if they are not to be those of this attention.
    """
    rows = rows or lse_and_delta(inputs, bias, do)
    arguments = inputs.tensors(shape) | tensors(shape, {"do": do, **rows}, Role.INPUT, inputs.kinds, inputs.bf16)
    axes = Axis(AxisKind.QUERY, shape.Br, inputs.kinds), Axis(AxisKind.KEY, shape.Bc)
    written = blank((shape.n_q, shape.n_k), np.float32, np.nan)
    arguments["dbias_ptr"] = Tensor(written, (shape.n_k, 1), Role.OUTPUT, axes)
    arguments["bias_ptr"] = bias.of_all_heads(shape, inputs.bf16)
    more = {**bias.scalars, "heads": shape.heads}
    return attention.launch(
        kernel, f"dbias: {name}", proves, shape, arguments, inputs.scale, (shape.tr, shape.tc), None, once, **more
    )


def lse_and_delta(inputs: Inputs, bias: Bias, do: Array) -> dict[str, Array]:
    """Return what the forward pass leaves, and delta, in fp32: of full attention, from the judge."""
    q, k, v, b = (x.astype(np.float64) for x in (inputs.q, inputs.k, inputs.v, bias.values))
    right = forward(inputs.scale * (q @ k.swapaxes(1, 2)) + b, v)
    o = right.o.astype(inputs.q.dtype).astype(np.float64)
    delta = (o * do.astype(np.float64)).sum(axis=-1)
    return {"lse": right.lse.astype(np.float32), "delta": delta.astype(np.float32)}
