"""Layouts of vectors in memory, and launches on them: a program per block of BLOCK_SIZE elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from checker.course.case import Array, Axis, AxisKind, Case, Role, Tensor, asked_besides, blank
from checker.course.kernel import Kernel
from checker.course.space import FEW, HALF, TYPES, Ints, Numbers, Space, some

PIECES = 6  # of a vector that is too long for memory
FAR_APART = 2**30  # elements between the first of a piece and that of the next, and more: the third is beyond int32
MOST, LARGEST = 400_000, 1e4  # of a launch besides the cases: elements, and data
TOO_FAR = 2**33  # so far apart that no GPU holds them, nor what lies between


def launch(
    kernel: Kernel,
    name: str,
    proves: tuple[str, ...],
    x: Array,
    y: Array,
    block: int,
    bf16: bool = False,
    once: bool = False,
) -> Case:
    """Return one launch on vectors of one length and type. `once`: chosen for its sizes."""
    (n,), axes = x.shape, (Axis(AxisKind.ELEMENT, block),)
    return Case(
        title=name,
        sizes=f"n={n}, BLOCK_SIZE={block}",
        kernel=kernel.name,
        proves=proves,
        asks=asked_besides(proves, {"any-length": n % block > 0, "half": bf16 or x.dtype == np.float16}),
        grid=(-(-n // block),),
        tensors={
            "x_ptr": Tensor(x, (1,), axes=axes, bf16=bf16),
            "y_ptr": Tensor(y, (1,), axes=axes, bf16=bf16),
            "z_ptr": Tensor(blank(x.shape, x.dtype, np.nan), (1,), Role.OUTPUT, axes, bf16),
        },
        scalars={"n": n},
        constexprs={"BLOCK_SIZE": block},
        informative=not once,
        once=once,
    )


def far_launch(kernel: Kernel, name: str, proves: tuple[str, ...], x: Array, y: Array, apart: int) -> Case:
    """Return a launch on vectors of more than 2**32 elements, of which only PIECES exist, a block each, `apart` blocks
    apart.

    x and y have shape (PIECES, BLOCK_SIZE). Only the programs that own a piece are run; the first and the last are
    among them, so counting programs from the end does no harm.
    """
    block, axes = x.shape[1], (Axis(AxisKind.PIECE), Axis(AxisKind.ELEMENT, x.shape[1]))
    n = (PIECES - 1) * apart * block + block
    programs = tuple(piece * apart for piece in range(PIECES))
    strides = (apart * block, 1)
    return Case(
        title=name,
        sizes=f"n={n}, BLOCK_SIZE={block}; programs {', '.join(map(str, programs))}",
        kernel=kernel.name,
        proves=proves,
        grid=(programs[-1] + 1,),
        tensors={
            "x_ptr": Tensor(x, strides, axes=axes),
            "y_ptr": Tensor(y, strides, axes=axes),
            "z_ptr": Tensor(blank(x.shape, x.dtype, np.nan), strides, Role.OUTPUT, axes),
        },
        scalars={"n": n},
        constexprs={"BLOCK_SIZE": block},
        checked_arithmetic=True,
        informative=False,
        programs=programs,
    )


def sampled(case: Case, programs: tuple[int, ...]) -> Case:
    """Return the launch with these of its programs only."""
    owner = np.arange(case.scalars["n"]) // case.constexprs["BLOCK_SIZE"]
    return replace(case, programs=programs, asked={"z_ptr": np.isin(owner, programs)})


def spaces(kernel: Kernel, proves: str) -> dict[str, Space]:
    """Return the space of a kernel."""

    def arguments(at: Mapping[str, Ints]) -> dict[str, Any]:
        programs = -(-at["n"] // at["BLOCK_SIZE"])
        cost = at["n"] + np.minimum(programs, FEW) * (200 + at["BLOCK_SIZE"])
        return {**at, "programs": ((programs, 0),), "cost": cost}

    def case(name: str, at: Mapping[str, int], numbers: Numbers, random: np.random.Generator) -> Case:
        usual = random.normal(0.0, 2.0, (2, at["n"]))
        values = [np.full(at["n"], numbers[one]) for one in ("x_ptr", "y_ptr")] if numbers else usual
        x, y = (of_one.astype(TYPES[at["half"]]) for of_one in values)
        made = launch(kernel, name, (proves,), x, y, at["BLOCK_SIZE"])
        programs = some(made.grid[0], at["program0"])
        return sampled(made, programs) if programs else made

    choices = {"BLOCK_SIZE": (1, 4, 8, 64, 1024), "half": HALF}
    numbers = dict.fromkeys(("x_ptr", "y_ptr"), (-LARGEST, LARGEST))
    return {kernel.name: Space(proves, {"n": (1, MOST)}, choices, numbers, arguments, case)}
