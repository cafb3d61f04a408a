"""Launches on the rows of a matrix x, whose outputs have another shape than x."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from checker.catalog.softmax.launch import FAR_APART, Proves, launch
from checker.course.case import Array, Axis, AxisKind, Case, Role, Tensor, blank
from checker.course.kernel import Kernel


def sums(*given: Any, **how: Any) -> Case:
    """Return a launch as of a softmax, with `out` for y: a number for each row, contiguous, in fp32."""
    case = launch(*given, **how)
    x = case.tensors["x_ptr"]
    out = Tensor.output((len(x.values),), np.float32, (1,), x.axes[:1])
    return replace(case, tensors={"x_ptr": x, "out_ptr": out})


def transposed(
    kernel: Kernel,
    name: str,
    proves: Proves,
    x: Array,
    blocks: Mapping[str, int],
    gaps: tuple[int, int] = (24, 24),
    **how: Any,
) -> Case:
    """Return a launch as of a softmax by tiles, with the transpose for y, and a program for each tile of x.

    `gaps` are the elements between the rows of x and of y; from 2**30 on they are the strides.
    """
    case = launch(kernel, name, proves, x, blocks, gaps, **how)
    given = case.tensors["x_ptr"]
    count, n = x.shape
    rows, columns = given.axes
    stride = gaps[1] if gaps[1] >= FAR_APART else count + gaps[1]
    axes = Axis(AxisKind.ROW, columns.block), Axis(AxisKind.COLUMN, rows.block, rows.labels)
    y = Tensor(blank((n, count), x.dtype, np.nan), (stride, 1), Role.OUTPUT, axes, given.bf16)
    return replace(
        case,
        grid=(-(-count // rows.block), -(-n // columns.block)),
        tensors={"x_ptr": given, "y_ptr": y},
        scalars={**case.scalars, "y_row_stride": stride},
    )


def matrix(case: Case) -> Array:
    """x in float64."""
    return case.tensors["x_ptr"].values.astype(np.float64)
