"""Layouts of a softmax's rows in memory, and its launches.

All kernels get `x_ptr` and `y_ptr`, shape (rows, n_cols), with a row stride each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from checker.course.case import Array, Axis, AxisKind, Case, Role, Tensor, asked_besides, blank
from checker.course.kernel import Kernel
from checker.course.space import FEW, HALF, TYPES, Ints, Numbers, Space, power, some

FAR_APART = 2**30  # elements between rows, and more: row 2 begins beyond int32, row 4 beyond uint32
Proves = str | tuple[str, ...]  # one property, or several
Launcher = Callable[..., Case]  # called as `launch` is
MOST, WIDEST, LARGEST = 400_000, 1 << 17, 1e4  # of a launch besides the cases: rows, a row in one block, data


def launch(
    kernel: Kernel,
    name: str,
    proves: Proves,
    x: Array,
    blocks: Mapping[str, int],
    gaps: tuple[int, int] = (24, 24),
    kinds: tuple[str, ...] = (),
    bf16: bool = False,
    once: bool = False,
) -> Case:
    """Return one launch of a softmax kernel: a program per row, or per BLOCK_ROWS rows if there is such a block.

    `gaps` are the elements between the rows of x and of y; from 2**30 on they are the strides, and
    arithmetic is checked. `kinds` say what the rows hold. `once`: chosen for its sizes.
    """
    count, n = x.shape
    strides = [gap if gap >= FAR_APART else n + gap for gap in gaps]
    scalars = {"x_row_stride": strides[0], "y_row_stride": strides[1], "n_rows": count, "n_cols": n}
    sizes = ", ".join(f"{block}={size}" for block, size in blocks.items())
    axes = (Axis(AxisKind.ROW, blocks.get("BLOCK_ROWS", 0), kinds), Axis(AxisKind.COLUMN, width_of(blocks)))
    far = strides[0] >= FAR_APART
    asks = {
        "any-length": n % width_of(blocks) > 0,
        "row-tail": count % blocks.get("BLOCK_ROWS", 1) > 0,
        "strides": strides != [n, n],
        "half": bf16 or x.dtype == np.float16,
        "far-rows": far,
    }
    of = (proves,) if isinstance(proves, str) else proves
    return Case(
        title=name,
        sizes=f"{count} x {n}, {sizes}",
        kernel=kernel.name,
        proves=of,
        asks=asked_besides(of, asks),
        grid=(-(-count // blocks.get("BLOCK_ROWS", 1)),),
        tensors={
            "x_ptr": Tensor(x, (strides[0], 1), axes=axes, bf16=bf16),
            "y_ptr": Tensor(blank(x.shape, x.dtype, np.nan), (strides[1], 1), Role.OUTPUT, axes, bf16),
        },
        scalars={scalar: value for scalar, value in scalars.items() if scalar in kernel.parameters},
        constexprs=blocks,
        checked_arithmetic=far,
        informative=not far and n > 1 and not once,
        once=far or once,
    )


def width_of(blocks: Mapping[str, int]) -> int:
    """Columns of a block: BLOCK_SIZE, or BLOCK_COLS where a block has rows as well."""
    return [*blocks.values()][-1]


def equal_gaps(random: np.random.Generator) -> tuple[int, int]:
    """x and y padded alike, by any number of elements."""
    gap = int(random.integers(1, 64))
    return gap, gap


def unequal_gaps(random: np.random.Generator, base: int = 0) -> tuple[int, int]:
    """x and y padded by `base` and more: by no power of two, nor apart by a multiple of four, as blocks' starts are."""
    x, y = base + 4 * random.integers(1, 32, 2) + (-1, 1)
    return int(x), int(y)


def sampled(case: Case, tiles: tuple[int, ...]) -> Case:
    """Return the launch with the programs of these tiles of rows only. In a grid of two axes, y has rows of x as
    columns.
    """
    axis = len(case.grid) - 1
    asked = {}
    for name, tensor in case.tensors.items():
        if tensor.role is Role.OUTPUT:
            shape = tensor.values.shape
            own = np.isin(np.arange(shape[axis]) // (tensor.axes[axis].block or 1), tiles)
            along = tuple(-1 if n == axis else 1 for n in range(len(shape)))
            asked[name] = np.broadcast_to(own.reshape(along), shape)
    beside = range(0, math.prod(case.grid), case.grid[0])  # the first program of each tile of columns
    return replace(case, programs=tuple(first + tile for first in beside for tile in tiles), asked=asked)


def spaces(
    kernel: Kernel, whole: bool = False, largest: float = LARGEST, launcher: Launcher = launch, transposed: bool = False
) -> dict[str, Space]:
    """Return the space of a kernel. `whole`: a block is a row; `largest`: absolute value of x; `transposed`: y is."""
    width = kernel.constexprs[-1]

    def arguments(at: Mapping[str, Ints]) -> dict[str, Any]:
        n, count, own = at["n_cols"], at["n_rows"], at.get("BLOCK_ROWS", 1)
        block = power(n) if whole else at[width]
        steps, programs = -(-n // block), -(-count // own)
        strides = {"x_row_stride": n + at["x_gap"], "y_row_stride": (count if transposed else n) + at["y_gap"]}
        cost = n * count + np.minimum(programs, FEW) * (100 + steps * (block * own + 200))
        return {**at, **strides, width: block, "programs": ((programs, 0), (steps, 0))[: 1 + transposed], "cost": cost}

    def case(name: str, at: Mapping[str, int], numbers: Numbers, random: np.random.Generator) -> Case:
        own, n, count = at.get("BLOCK_ROWS", 1), at["n_cols"], at["n_rows"]
        blocks = {block: int(power(n)) if whole else at[block] for block in kernel.constexprs}
        x = random.normal(0.0, 2.0, (count, n)).astype(TYPES[at["half"]])
        if numbers:
            x[at["program0"] * own :][:own] = numbers["x_ptr"]
        made = launcher(kernel, name, "any-length", x, blocks, gaps=(at["x_gap"], at["y_gap"]))
        programs = some(-(-count // own), at["program0"])
        return sampled(made, programs) if programs else made

    sizes = {"n_cols": (1, WIDEST if whole else MOST), "n_rows": (1, MOST), "x_gap": (0, MOST), "y_gap": (0, MOST)}
    blocks = {
        one: (1, 2, 4, 16) if one == "BLOCK_ROWS" else (16, 16, 32, 64, 128, 256, 512, 1024)
        for one in kernel.constexprs
    }
    numbers = {"x_ptr": (-min(largest, LARGEST), min(largest, LARGEST))}
    return {kernel.name: Space("any-length", sizes, {**blocks, "half": HALF}, numbers, arguments, case)}
