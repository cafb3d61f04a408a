"""Mistakes in addressing heads and tiles: for kernels that move Br queries or Bc keys at a time.

Each mistake is known by the elements that the first refused access covers. A program's last grid
axis is the head; which tile it is at is left open.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import product
from typing import Literal

import numpy as np

from checker.catalog.attention.launch import writes
from checker.course.case import Array, AxisKind, Case, Role, Tensor
from checker.course.misconception import Ideas, Misconception, Reach, Reaches, Unwritten

idea = Ideas(__file__)

Strides = Callable[[Case, str], tuple[int, int]]  # what a kernel takes for (head stride, row stride) of a side
Mask = Literal["right", "none", "one too many"]


def right_strides(case: Case, side: str) -> tuple[int, int]:
    """Return those of the launch, for the side of the queries (`q`) or keys (`k`)."""
    return int(case.scalars[f"{side}_head_stride"]), int(case.scalars.get(f"{side}_row_stride", 1))


def _width(case: Case, side: str) -> tuple[int, int]:
    return right_strides(case, side)[0], int(case.constexprs["D"])


def _dense(head_rows: bool, own_rows: bool) -> Strides:
    """Heads n rows apart; rows of their own width, or of the row stride, in either."""

    def strides(case: Case, side: str) -> tuple[int, int]:
        row, width = right_strides(case, side)[1], int(case.constexprs["D"])
        return int(case.scalars[f"n_{side}"]) * (row if head_rows else width), row if own_rows else width

    return strides


def _of_other_side(head: bool, row: bool) -> Strides:
    """Return the head stride, the row stride, or both, of the other side."""

    def strides(case: Case, side: str) -> tuple[int, int]:
        own, other = right_strides(case, side), _other_side(case, side)
        return other[0] if head else own[0], other[1] if row else own[1]

    return strides


def _other_side(case: Case, side: str) -> tuple[int, int]:
    return right_strides(case, "k" if side == "q" else "q") if "k_head_stride" in case.scalars else (0, 0)


def reach(
    stores: bool,
    vectors: bool = False,
    strides: Strides = right_strides,
    mask: Mask = "right",
    sides: str = "qk",
    heads_apart: str = "",
) -> Reaches:
    """Return what the accesses of a kernel cover, tile by tile, with its idea of strides and masks.

    Of matrices of the given sides, or of the vectors with one number a query; their heads lie n_q apart, or as far as
    the scalar `heads_apart` says.
    """

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        return tuple(_reaches(case, program, stores, strides, mask, sides, vectors, heads_apart))

    return Reaches(of)


def _reaches(
    case: Case, program: int, stores: bool, strides: Strides, mask: Mask, sides: str, vectors: bool, heads_apart: str
) -> Iterator[Reach]:
    d = int(case.constexprs["D"])
    for name, tensor in case.tensors.items():
        side = "k" if tensor.axes[1].kind is AxisKind.KEY else "q"
        if side not in sides or (stores and tensor.role is Role.INPUT) or not _has_rows(tensor):
            continue
        n, block = tensor.values.shape[1], tensor.axes[1].block
        of_vector = tensor.values.ndim == 2
        if of_vector != vectors:
            continue
        apart = int(case.scalars.get(heads_apart, n))
        head_stride, row_stride = (apart, 1) if of_vector else strides(case, side)
        last = 0 if of_vector else d - 1
        begin, stop = _walked(case, program, side, n)
        for head, start in product(_heads(case, program), range(begin, stop, block)):
            whole = start + block
            end = {"right": min(whole, stop), "none": whole, "one too many": min(whole, stop + 1)}
            first = head * head_stride + start * row_stride
            yield Reach(stores, name, first, head * head_stride + (end[mask] - 1) * row_stride + last)


def _has_rows(tensor: Tensor) -> bool:
    """Return whether it has a row for each query or key of a head, or a number; a bias has neither."""
    return tensor.axes[0].kind is AxisKind.HEAD and tensor.axes[-1].kind in (AxisKind.DIMENSION, tensor.axes[1].kind)


def _heads(case: Case, program: int) -> Collection[int]:
    """Return the heads that a program looks at: its own, or all of them."""
    if writes(case, "dbias"):
        return range(case.tensors["q_ptr"].values.shape[0])
    return (program // case.grid[0] if len(case.grid) > 1 else program,)


def _walked(case: Case, program: int, side: str, n: int) -> tuple[int, int]:
    """Return the rows of a side through which a program goes: all of them, or the keys of its split."""
    if side == "q" or "keys_per_split" not in case.scalars:
        return 0, n
    first = program % case.grid[0] * int(case.scalars["keys_per_split"])
    return min(first, n), min(first + int(case.scalars["keys_per_split"]), n)


def _all_but_head_0(*names: str) -> Callable[[Case], dict[str, Array]]:
    """Of outputs with these names, all heads but the first one; nothing if the launch lacks one of them."""

    def of(case: Case) -> dict[str, Array]:
        if not all(n in case.tensors and case.tensors[n].role is not Role.INPUT for n in names):
            return {}
        shapes = {n: case.tensors[n].values.shape for n in names}
        return {
            n: np.broadcast_to((np.arange(shape[0]) > 0).reshape(-1, *[1] * (len(shape) - 1)), shape)
            for n, shape in shapes.items()
        }

    return of


def _past_bc_of_each_tile(case: Case) -> dict[str, Array]:
    """Of outputs with a row for each query, the rows of each tile of Br from Bc on."""
    made = {}
    for name, tensor in case.tensors.items():
        if tensor.role is not Role.INPUT and tensor.axes[1].kind is AxisKind.QUERY and "Bc" in case.constexprs:
            late = np.arange(tensor.values.shape[1]) % int(case.constexprs["Br"]) >= int(case.constexprs["Bc"])
            made[name] = np.broadcast_to(late.reshape(1, -1, *[1] * (tensor.values.ndim - 2)), tensor.values.shape)
    return made


def _tiles_bc_apart(case: Case) -> dict[str, Array]:
    """Of outputs with a row for each query, what is left by tiles of Br that begin Bc apart, one for each program."""
    made = {}
    for name, tensor in case.tensors.items():
        if tensor.role is not Role.INPUT and tensor.axes[1].kind is AxisKind.QUERY and len(case.grid) > 1:
            Br, Bc = int(case.constexprs["Br"]), int(case.constexprs.get("Bc", case.constexprs["Br"]))
            first = np.arange(case.grid[0])[:, None] * Bc
            queries = np.arange(tensor.values.shape[1])
            left = ~((queries >= first) & (queries < first + Br)).any(axis=0)
            made[name] = np.broadcast_to(left.reshape(1, -1, *[1] * (tensor.values.ndim - 2)), tensor.values.shape)
    return made


def _ids_exchanged(case: Case, program: int) -> tuple[Reach, ...]:
    """Return the first load of a program that takes the grid's second axis for the tile, and the first one for the
    head.
    """
    if len(case.grid) < 2 or writes(case, "dbias"):
        return ()
    head, tile = program % case.grid[0], program // case.grid[0]
    return tuple(_tile_of(case, head, tile)) if head >= case.grid[1] else ()


def _tile_of(case: Case, head: int, tile: int) -> Iterator[Reach]:
    """Yield one tile of a head of each matrix and vector that is loaded, as far as its mask lets it reach."""
    for name, tensor in case.tensors.items():
        n, block = tensor.values.shape[1], tensor.axes[1].block
        if _has_rows(tensor) and tensor.role is Role.INPUT and tile * block < n and tensor.axes[1].block:
            side = "k" if tensor.axes[1].kind is AxisKind.KEY else "q"
            head_stride, row_stride = right_strides(case, side) if tensor.values.ndim > 2 else (n, 1)
            first = head * head_stride + tile * block * row_stride
            rows = min(block, n - tile * block)
            last = int(case.constexprs["D"]) - 1 if tensor.values.ndim > 2 else 0
            yield Reach(False, name, first, first + (rows - 1) * row_stride + last)


def heads_together(name: str, stride: str, own: str = "") -> Misconception:
    """Return all heads of an output in one place. `stride`: how far apart they should be; `own`: what else its address
    has.
    """
    return _of_several(name, (f"{name}_ptr",), " + ".join(filter(None, (f"{name}_ptr + head * {stride}", own))))


def _of_several(what: str, names: tuple[str, ...], address: str) -> Misconception:
    return idea("wrong-row-map", Unwritten(_all_but_head_0(*names), shared=True), what=what, address=address)


ADDRESSING = (
    _of_several("l and m", ("l_ptr", "m_ptr"), "l_ptr + head * n_q + queries, and m_ptr likewise"),
    *(heads_together(name, "n_q", "queries") for name in ("l", "m", "lse", "delta")),
    _of_several("dk and dv", ("dk_ptr", "dv_ptr"), "dk_ptr + head * k_head_stride, and dv_ptr likewise"),
    *(
        heads_together(name, f"{side}_head_stride")
        for name, side in (("o", "q"), ("dq", "q"), ("dk", "k"), ("dv", "k"))
    ),
    idea("tile-and-step-differ", Unwritten(_past_bc_of_each_tile)),
    idea("tile-and-step-differ/apart", *(Unwritten(_tiles_bc_apart, shared=shared) for shared in (False, True))),
    idea("program-ids-exchanged", Reaches(_ids_exchanged)),
    idea("keys-without-mask", reach(False, mask="none", sides="k")),
    idea("queries-without-mask", reach(False, mask="none", sides="q"), reach(False, mask="none", vectors=True)),
    idea("store-without-mask", reach(True, mask="none"), reach(True, mask="none", vectors=True)),
    idea("mask-off-by-one", *(reach(*which, mask="one too many") for which in product((False, True), (False, True)))),
    idea(
        "head-stride-assumed",
        *(
            reach(stores, strides=strides)
            for stores, strides in product((False, True), (_dense(True, True), _dense(False, True)))
        ),
    ),
    idea(
        "width-as-stride",
        *(reach(stores, strides=strides) for stores, strides in product((False, True), (_width, _dense(False, False)))),
    ),
    idea(
        "strides-of-the-other-side",
        *(
            reach(stores, strides=_of_other_side(head, row))
            for head, row in ((True, True), (True, False), (False, True))
            for stores in (False, True)
        ),
    ),
    idea(
        "strides-of-the-other-side/numbers",
        *(reach(stores, vectors=True, heads_apart="n_k") for stores in (False, True)),
    ),
)
