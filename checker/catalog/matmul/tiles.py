"""Mistakes in addressing tiles of A, B and C, each known by the elements that the first refused access covers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Literal

import numpy as np

from checker.catalog.matmul.launch import shape_of
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Reach, Reaches, Unwritten

idea = Ideas(__file__)

Stride = Callable[[Case, str], int]  # what a kernel takes for the row stride of a matrix
Mask = Literal["right", "none", "one too many", "of the other matrix"]
NAMES = ("a_ptr", "b_ptr", "c_ptr")


def right_stride(case: Case, name: str) -> int:
    """That of the launch."""
    return int(case.scalars[f"{name.removesuffix('_ptr')}_row_stride"])


def _width(case: Case, name: str) -> int:
    return int(case.tensors[name].values.shape[1])


def _one(case: Case, name: str) -> int:
    return 1


def _stride_of(other: str) -> Stride:
    return lambda case, name: right_stride(case, other)


def reach(
    name: str, stride: Stride = right_stride, rows: Mask = "right", columns: Mask = "right", turned: bool = False
) -> Reaches:
    """Return what the accesses to a matrix cover, tile by tile, with a kernel's idea of its stride and its masks.

    `turned`: rows lie 1 apart, and columns a row stride.
    """

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        apart = (1, right_stride(case, name)) if turned else (stride(case, name), 1)
        return tuple(_reaches(case, program, name, apart, rows, columns))

    return Reaches(of)


def _reaches(
    case: Case, program: int, name: str, apart: tuple[int, int], rows: Mask, columns: Mask, of: str = ""
) -> Iterator[Reach]:
    """`of`: the matrix whose tiles these are, if it is another one than the one that is accessed."""
    s, tensor = shape_of(case), case.tensors[of or name]
    at = {"a_ptr": program % s.tiles[0], "b_ptr": program // s.tiles[0], "c_ptr": program % s.tiles[0]}[of or name]
    other = s.n if name == "a_ptr" else s.m
    across = [program // s.tiles[0]] if name == "c_ptr" else range(s.tiles[2])
    for tile in across:
        (first, last), (left, right) = (
            (number * axis.block, _end(number * axis.block, axis.block, extent, mask, other))
            for number, axis, extent, mask in zip(
                (at, tile), tensor.axes, tensor.values.shape, (rows, columns), strict=True
            )
        )
        lowest, highest = first * apart[0] + left * apart[1], (last - 1) * apart[0] + (right - 1) * apart[1]
        yield Reach(name == "c_ptr", name, lowest, highest)


def _end(start: int, block: int, extent: int, mask: Mask, other: int) -> int:
    """Return where the rows or columns of a tile end; `other`: rows of the other matrix."""
    return {
        "right": min(start + block, extent),
        "of the other matrix": min(start + block, other),
        "none": start + block,
        "one too many": min(start + block, extent + 1),
    }[mask]


def _past_k(name: str, rows: Mask) -> Reaches:
    """Return the accesses to a matrix without a mask along k, where that lets columns past the end through."""

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        apart = right_stride(case, name), 1
        reached = _reaches(case, program, name, apart, rows, "none")
        return tuple(one for one in reached if shape_of(case).k % shape_of(case).Bk)

    return Reaches(of)


def _a_for_b(case: Case, program: int) -> tuple[Reach, ...]:
    """B's tiles, looked for in A."""
    both = ((right_stride(case, name), 1) for name in ("a_ptr", "b_ptr"))
    return tuple(one for apart in both for one in _reaches(case, program, "a_ptr", apart, "right", "right", "b_ptr"))


def _ids_exchanged(case: Case) -> dict[str, Array]:
    """Return what is left of C if program (i, j) makes tile (j, i), where there is one."""
    s = shape_of(case)
    tm, tn, _ = s.tiles
    down, across = np.arange(s.m) // s.Bm >= tn, np.arange(s.n) // s.Bn >= tm
    return {"c_ptr": down[:, None] | across[None, :]}


def _masks_exchanged(case: Case) -> dict[str, Array]:
    """Return what is left of C if its rows are compared with n, and its columns with m."""
    s = shape_of(case)
    return {"c_ptr": (np.arange(s.m) >= s.n)[:, None] | (np.arange(s.n) >= s.m)[None, :]}


def _stored_with_masks_exchanged(case: Case, program: int) -> tuple[Reach, ...]:
    s, stride = shape_of(case), right_stride(case, "c_ptr")
    row, column = program % s.tiles[0] * s.Bm, program // s.tiles[0] * s.Bn
    last_row, last_column = min(row + s.Bm, s.n) - 1, min(column + s.Bn, s.m) - 1
    return (Reach(True, "c_ptr", row * stride + column, last_row * stride + last_column),)


def _all_but_tile(down: bool, across: bool) -> Callable[[Case], dict[str, Array]]:
    """C without its first tiles along these axes."""

    def of(case: Case) -> dict[str, Array]:
        s = shape_of(case)
        rows, columns = np.arange(s.m) >= s.Bm, np.arange(s.n) >= s.Bn
        return {"c_ptr": (down & rows)[:, None] | (across & columns)[None, :]}

    return of


def _everywhere(rows: Mask, columns: Mask) -> tuple[Reaches, ...]:
    return tuple(reach(name, rows=rows, columns=columns) for name in NAMES)


ADDRESSING = (
    idea("program-ids-exchanged", Unwritten(_ids_exchanged)),
    idea("limits-exchanged", Unwritten(_masks_exchanged), Reaches(_stored_with_masks_exchanged)),
    idea("limits-exchanged/loads", *(reach(name, rows="of the other matrix") for name in ("a_ptr", "b_ptr"))),
    idea(
        "wrong-tile-map",
        *(Unwritten(_all_but_tile(*which), shared=True) for which in ((True, True), (True, False), (False, True))),
    ),
    idea(
        "inner-without-mask",
        *(sign for name in ("a_ptr", "b_ptr") for sign in (_past_k(name, "right"), _past_k(name, "none"))),
    ),
    idea("rows-without-mask", reach("a_ptr", rows="none"), reach("b_ptr", rows="none")),
    idea(
        "store-without-mask",
        reach("c_ptr", rows="none"),
        reach("c_ptr", columns="none"),
        reach("c_ptr", rows="none", columns="none"),
    ),
    idea(
        "mask-off-by-one",
        *_everywhere("one too many", "right"),
        *_everywhere("right", "one too many"),
        *_everywhere("one too many", "one too many"),
    ),
    idea(
        "stride-of-another", *(reach(name, _stride_of(other)) for name, other in product(NAMES, NAMES) if name != other)
    ),
    idea("width-as-stride", *(reach(name, _width) for name in NAMES)),
    idea("row-without-stride", *(reach(name, _one) for name in NAMES)),
    idea("a-transposed", reach("a_ptr", turned=True)),
    idea("b-not-transposed", reach("b_ptr", turned=True)),
    idea("c-transposed", reach("c_ptr", turned=True)),
    idea("a-for-b", Reaches(_a_for_b)),
)
