"""Layouts of the matrices of a product C = A Bᵀ in memory, and launches of tiles of it.

A has the shape (m, k), B (n, k) and C (m, n); each has a row stride of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from checker.course.case import Array, Axis, AxisKind, Case, Role, Tensor, asked_besides, blank
from checker.course.kernel import Kernel
from checker.course.space import FEW, HALF, TYPES, Ints, Numbers, Space, some

FAR_APART = 2**30  # elements between rows, and more: row 2 begins beyond int32, row 4 beyond uint32
Proves = str | tuple[str, ...]  # one property, or several
SIZES, BLOCKS, GAPS = ("m", "n", "k"), ("Bm", "Bn", "Bk"), ("a_gap", "b_gap", "c_gap")
MOST, LARGEST = 100_000, 1e4  # of a launch besides the cases: sizes, and data


@dataclass(frozen=True)
class Shape:
    """Sizes of one launch. `gaps`: elements between the rows of A, B and C; from 2**30 on they are the strides."""

    m: int
    n: int
    k: int
    Bm: int = 16
    Bn: int = 16
    Bk: int = 16
    gaps: tuple[int, int, int] = (8, 24, 40)

    def apart(self, random: np.random.Generator, far: int = 0) -> Shape:
        """Return the same with rows padded by any number of elements, in each matrix another one; `far` more than
        drawn.
        """
        a, b, c = (far + int(gap) for gap in random.choice(np.arange(3, 128, 2), 3, replace=False))
        return replace(self, gaps=(a, b, c))

    @property
    def tiles(self) -> tuple[int, int, int]:
        """Number of tiles along m, n and k."""
        return -(-self.m // self.Bm), -(-self.n // self.Bn), -(-self.k // self.Bk)

    @property
    def strides(self) -> tuple[int, int, int]:
        """Elements from row to row of A, B and C."""
        widths = self.k, self.k, self.n
        a, b, c = (gap if gap >= FAR_APART else width + gap for gap, width in zip(self.gaps, widths, strict=True))
        return a, b, c

    @property
    def largest_tile(self) -> int:
        """Elements of the largest tile: of A, of B or of C."""
        return max(self.Bm * self.Bk, self.Bn * self.Bk, self.Bm * self.Bn)


def launch(
    kernel: Kernel,
    name: str,
    proves: Proves,
    shape: Shape,
    a: Array,
    b: Array,
    kinds: tuple[str, ...] = (),
    bf16: bool = False,
    once: bool = False,
) -> Case:
    """Return one launch: a program for each tile of C.

    `kinds` say what the rows of A hold. `once`: chosen for its sizes.
    """
    s = shape
    blocks = {"Bm": s.Bm, "Bn": s.Bn, "Bk": s.Bk}
    row_strides = dict(zip(("a_row_stride", "b_row_stride", "c_row_stride"), s.strides, strict=True))
    of_strides = [(stride, 1) for stride in s.strides]
    rows, columns, inner = Axis(AxisKind.ROW, s.Bm, kinds), Axis(AxisKind.COLUMN, s.Bn), Axis(AxisKind.COLUMN, s.Bk)
    far = max(s.strides) >= FAR_APART
    c = blank((s.m, s.n), a.dtype, np.nan)
    of = (proves,) if isinstance(proves, str) else proves
    asks = {
        "any-size": s.m % s.Bm > 0 or s.n % s.Bn > 0,
        "any-k": s.k % s.Bk > 0,
        "strides": any(s.gaps),
        "half": bf16 or a.dtype == np.float16,
        "far-rows": far,
    }
    return Case(
        title=name,
        sizes=f"m={s.m}, n={s.n}, k={s.k}, " + ", ".join(f"{block}={size}" for block, size in blocks.items()),
        kernel=kernel.name,
        proves=of,
        asks=asked_besides(of, asks),
        grid=s.tiles[:2],
        tensors={
            "a_ptr": Tensor(a, of_strides[0], axes=(rows, inner), bf16=bf16),
            "b_ptr": Tensor(b, of_strides[1], axes=(Axis(AxisKind.ROW, s.Bn), inner), bf16=bf16),
            "c_ptr": Tensor(c, of_strides[2], Role.OUTPUT, (rows, columns), bf16),
        },
        scalars={**row_strides, "m": s.m, "n": s.n, "k": s.k},
        constexprs=blocks,
        checked_arithmetic=far and max(s.strides) < 2 * FAR_APART,
        informative=not far and min(s.m, s.n, s.k) > 1 and not once,
        once=far or once,
    )


def sampled(case: Case, down: Collection[int], across: Collection[int]) -> Case:
    """Return the launch with some of its programs only: those of these tiles of C, counted down and across."""
    c = case.tensors["c_ptr"]
    rows, columns = (
        np.isin(np.arange(extent) // axis.block, [*some])
        for extent, axis, some in zip(c.values.shape, c.axes, (down, across), strict=True)
    )
    programs = tuple(sorted(j * case.grid[0] + i for i in down for j in across))
    return replace(case, programs=programs, asked={"c_ptr": rows[:, None] & columns[None, :]})


def shape_of(case: Case) -> Shape:
    """Return the sizes of a launch again. The gaps are left out."""
    (m, k), n = case.tensors["a_ptr"].values.shape, len(case.tensors["b_ptr"].values)
    Bm, Bn, Bk = (int(case.constexprs[block]) for block in ("Bm", "Bn", "Bk"))
    return Shape(m, n, k, Bm, Bn, Bk)


def wide(case: Case) -> tuple[Array, Array]:
    """Return a and B in float64."""
    a, b = (case.tensors[name].values.astype(np.float64) for name in ("a_ptr", "b_ptr"))
    return a, b


def spaces(kernel: Kernel) -> dict[str, Space]:
    """Return the space of a kernel."""

    def arguments(at: Mapping[str, Ints]) -> dict[str, Any]:
        m, n, k = (at[size] for size in SIZES)
        tm, tn, tk = (-(-at[size] // at[block]) for size, block in zip(SIZES, BLOCKS, strict=True))
        strides = {f"{gap[0]}_row_stride": width + at[gap] for gap, width in zip(GAPS, (k, k, n), strict=True)}
        run = np.minimum(tm, FEW) * np.minimum(tn, FEW) * tk
        cost = m * k + n * k + m * n + run * (500 + at["Bm"] * at["Bn"] * at["Bk"] // 50)
        return {**at, **strides, "programs": ((tm, 0), (tn, 0)), "cost": cost}

    def case(name: str, at: Mapping[str, int], numbers: Numbers, random: np.random.Generator) -> Case:
        shape = Shape(**{size: at[size] for size in (*SIZES, *BLOCKS)}, gaps=(at["a_gap"], at["b_gap"], at["c_gap"]))
        a, b = (random.normal(0.0, 1.0, (rows, shape.k)).astype(TYPES[at["half"]]) for rows in (shape.m, shape.n))
        for x, key in ((a, "a_ptr"), (b, "b_ptr")) if numbers else ():
            x[:] = 0.0
            x[:, 0] = numbers[key]
        made = launch(kernel, name, "any-size", shape, a, b)
        down, across = (some(extent, at[f"program{axis}"]) for axis, extent in enumerate(made.grid))
        return sampled(made, down or range(made.grid[0]), across or range(made.grid[1])) if down or across else made

    sizes = {**dict.fromkeys(SIZES, (1, MOST)), **dict.fromkeys(GAPS, (0, MOST))}
    choices = {**dict.fromkeys(BLOCKS, (16, 16, 32, 64)), "half": HALF}
    numbers = {"a_ptr": (-LARGEST, LARGEST), "b_ptr": (-10.0, 10.0)}
    return {kernel.name: Space("any-size", sizes, choices, numbers, arguments, case)}
