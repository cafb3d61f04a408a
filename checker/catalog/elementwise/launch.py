"""Layouts of vectors in memory, and launches on them: a program per block of BLOCK_SIZE elements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from checker.course.case import Array, Axis, AxisKind, Case, Role, Tensor, asked_besides, blank
from checker.course.puzzle import Kernel

PIECES = 6  # of a vector that is too long for memory
FAR_APART = 2**30  # elements between the first of a piece and that of the next, and more: the third is beyond int32
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
