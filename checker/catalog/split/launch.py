"""Launches of attention whose keys are split among programs, and of the merge that makes one result of all parts.

Q, K, V and O lie as in all of attention. Parts are contiguous fp32: O of shape (splits, heads, n_q, D), LSE of shape
(splits, heads, n_q). A split of which no key exists has O = 0 and LSE = -inf.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from checker.catalog.attention import launch as attention
from checker.catalog.attention.launch import Proves, Shape, shape_of, tiled_kernel, unwritten
from checker.catalog.attention.values import Inputs
from checker.catalog.numbers import BF16
from checker.course.case import Array, Axis, AxisKind, Case, Role, Tensor, blank
from checker.course.kernel import kernel_of

SPLIT = tiled_kernel("split_kernel", "q k v o_part lse_part", sizes="n_q n_k keys_per_split scale")
MERGE = kernel_of(
    "merge_kernel", "o_part_ptr lse_part_ptr o_ptr lse_ptr q_head_stride q_row_stride n_q splits", constexprs="D Bs"
)


@dataclass(frozen=True)
class Cut:
    """The number of splits, and of keys in each; the last ones have fewer, or none."""

    splits: int
    keys: int


@dataclass(frozen=True, eq=False)
class Parts:
    """Results that splits have stored: O, of shape (splits, heads, n_q, D), and LSE; and the queries."""

    o: Array
    lse: Array
    kinds: tuple[str, ...] = ()


def launch_split(name: str, proves: Proves, shape: Shape, cut: Cut, inputs: Inputs, once: bool = False) -> Case:
    """Return one launch of `split_kernel`: a program per split and head."""
    arguments = inputs.tensors(shape) | _parts(
        blank((cut.splits, shape.heads, shape.n_q, shape.D), np.float32, np.nan),
        blank((cut.splits, shape.heads, shape.n_q), np.float32, np.nan),
        Role.OUTPUT,
        inputs.kinds,
        shape.Br,
    )
    grid = (cut.splits, shape.heads)
    name = f"split: {name}"
    case = attention.launch(
        SPLIT, name, proves, shape, arguments, inputs.scale, grid, once=once, keys_per_split=cut.keys
    )
    ragged = {"any-length"} - {*case.proves} if cut.keys % shape.Bc or shape.n_k % cut.keys else set()
    return replace(case, sizes=f"{case.sizes}, {cut.splits} splits of {cut.keys} keys", asks=case.asks | ragged)


def launch_merge(
    name: str, proves: Proves, shape: Shape, Bs: int, parts: Parts, dtype: type[Any] = np.float32, once: bool = False
) -> Case:
    """Return one launch of `merge_kernel`: a program per query and head. Of the shape, Br is 1; O has the `dtype`."""
    splits = len(parts.lse)
    half = dtype is BF16
    outputs = {"o": unwritten(parts.o[0], np.float32 if half else dtype), "lse": unwritten(parts.lse[0], np.float32)}
    arguments = _parts(parts.o, parts.lse, Role.INPUT, parts.kinds, shape.Br)
    arguments |= attention.tensors(shape, outputs, Role.OUTPUT, parts.kinds, half)
    grid, name = (shape.n_q, shape.heads), f"merge: {name}"
    case = attention.launch(MERGE, name, proves, shape, arguments, 1.0, grid, once=once, splits=splits, Bs=Bs)
    heads = f"{shape.heads} heads, " if shape.heads > 1 else ""
    sizes = f"{heads}n_q={shape.n_q}, {splits} splits, D={shape.D}, Bs={Bs}"
    return replace(case, sizes=sizes, informative=splits > 1 and not case.once)


def _parts(o: Array, lse: Array, role: Role, kinds: tuple[str, ...], Br: int) -> dict[str, Tensor]:
    axes = (Axis(AxisKind.SPLIT), Axis(AxisKind.HEAD), Axis(AxisKind.QUERY, Br, kinds), Axis(AxisKind.DIMENSION))
    return {
        "o_part_ptr": Tensor(o, _dense(o.shape), role, axes),
        "lse_part_ptr": Tensor(lse, _dense(lse.shape), role, axes[:3]),
    }


def _dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(np.prod(shape[axis + 1 :], dtype=np.int64)) for axis in range(len(shape)))


def is_split(case: Case) -> bool:
    """Return whether the launch is one of `split_kernel`, and not of the merge."""
    return case.kernel == SPLIT.name


def cut_of(case: Case) -> Cut:
    """Return how the keys of a launch of `split_kernel` are split."""
    return Cut(case.grid[0], int(case.scalars["keys_per_split"]))


def keys_of(case: Case, split: int) -> tuple[int, int]:
    """Return the first key of a split, and the one past its last; the same if it has none."""
    n_k, keys = shape_of(case).n_k, cut_of(case).keys
    return min(split * keys, n_k), min((split + 1) * keys, n_k)


def tiles_of(case: Case) -> Array:
    """Return how many tiles of keys each split has."""
    counts = [end - first for first, end in (keys_of(case, split) for split in range(case.grid[0]))]
    return np.asarray(-(-np.array(counts) // shape_of(case).Bc))


def alone(case: Case, keys: Array) -> Case:
    """Attention of the same queries to some of the keys alone, as a launch that writes O and LSE."""
    shape = shape_of(case)
    inputs: Mapping[str, Tensor] = {
        f"{name}_ptr": replace(tensor, values=tensor.values if name == "q" else tensor.values[:, keys])
        for name in "qkv"
        for tensor in [case.tensors[f"{name}_ptr"]]
    }
    outputs = {
        "o": blank((shape.heads, shape.n_q, shape.D), np.float32),
        "lse": blank((shape.heads, shape.n_q), np.float32),
    }
    made = attention.tensors(replace(shape, n_k=len(keys)), outputs, Role.OUTPUT)
    return replace(case, tensors={**inputs, **made}, scalars={**case.scalars, "n_k": len(keys)}, grid=(1, shape.heads))
