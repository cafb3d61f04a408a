"""Mistakes in addressing heads and tiles: for kernels that move Br queries or Bc keys at a time.

Each mistake is known by the elements that the first refused access covers. A program's last grid
axis is the head; which tile it is at is left open.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import product
from typing import Literal

import numpy as np

from checker.course.case import Array, Case, Role, Tensor
from checker.course.misconception import Misconception, Reach, Reaches, Unwritten

Strides = Callable[[Case, str], tuple[int, int]]  # what a kernel takes for (head stride, row stride) of a side
Mask = Literal["right", "none", "one too many"]


def right_strides(case: Case, side: str) -> tuple[int, int]:
    """Those of the launch, for the side of the queries (`q`) or keys (`k`)."""
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
    """The head stride, the row stride, or both, of the other side."""

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
    """What the accesses of a kernel cover, tile by tile, with its idea of strides and masks.

    Of matrices of the given sides, or of the vectors with one number a query; their heads lie n_q apart, or as far as
    the scalar `heads_apart` says.
    """

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        return tuple(_reaches(case, program, stores, strides, mask, sides, vectors, heads_apart))

    return Reaches(of)


def _reaches(
    case: Case,
    program: int,
    stores: bool,
    strides: Strides,
    mask: Mask,
    sides: str,
    vectors: bool,
    heads_apart: str,
) -> Iterator[Reach]:
    d = int(case.constexprs["D"])
    for name, tensor in case.tensors.items():
        side = "k" if tensor.axes[1].name == "key" else "q"
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
    """Whether it has a row for each query or key of a head, or a number; a bias has neither."""
    return tensor.axes[0].name == "head" and tensor.axes[-1].name in ("dimension", tensor.axes[1].name)


def _heads(case: Case, program: int) -> Collection[int]:
    """The heads that a program looks at: its own, or all of them."""
    if "dbias_ptr" in case.tensors:
        return range(case.tensors["q_ptr"].values.shape[0])
    return (program // case.grid[0] if len(case.grid) > 1 else program,)


def _walked(case: Case, program: int, side: str, n: int) -> tuple[int, int]:
    """The rows of a side through which a program goes: all of them, or the keys of its split."""
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
        if tensor.role is not Role.INPUT and tensor.axes[1].name == "query" and "Bc" in case.constexprs:
            late = np.arange(tensor.values.shape[1]) % int(case.constexprs["Br"]) >= int(case.constexprs["Bc"])
            made[name] = np.broadcast_to(late.reshape(1, -1, *[1] * (tensor.values.ndim - 2)), tensor.values.shape)
    return made


def _tiles_bc_apart(case: Case) -> dict[str, Array]:
    """Of outputs with a row for each query, what is left by tiles of Br that begin Bc apart, one for each program."""
    made = {}
    for name, tensor in case.tensors.items():
        if tensor.role is not Role.INPUT and tensor.axes[1].name == "query" and len(case.grid) > 1:
            Br, Bc = int(case.constexprs["Br"]), int(case.constexprs.get("Bc", case.constexprs["Br"]))
            first = np.arange(case.grid[0])[:, None] * Bc
            queries = np.arange(tensor.values.shape[1])
            left = ~((queries >= first) & (queries < first + Br)).any(axis=0)
            made[name] = np.broadcast_to(left.reshape(1, -1, *[1] * (tensor.values.ndim - 2)), tensor.values.shape)
    return made


def _ids_exchanged(case: Case, program: int) -> tuple[Reach, ...]:
    """The first load of a program that takes the grid's second axis for the tile, and the first one for the head."""
    if len(case.grid) < 2 or "dbias_ptr" in case.tensors:
        return ()
    head, tile = program % case.grid[0], program // case.grid[0]
    return tuple(_tile_of(case, head, tile)) if head >= case.grid[1] else ()


def _tile_of(case: Case, head: int, tile: int) -> Iterator[Reach]:
    """One tile of a head of each matrix and vector that is loaded, as far as its mask lets it reach."""
    for name, tensor in case.tensors.items():
        n, block = tensor.values.shape[1], tensor.axes[1].block
        if _has_rows(tensor) and tensor.role is Role.INPUT and tile * block < n and tensor.axes[1].block:
            side = "k" if tensor.axes[1].name == "key" else "q"
            head_stride, row_stride = right_strides(case, side) if tensor.values.ndim > 2 else (n, 1)
            first = head * head_stride + tile * block * row_stride
            rows = min(block, n - tile * block)
            last = int(case.constexprs["D"]) - 1 if tensor.values.ndim > 2 else 0
            yield Reach(False, name, first, first + (rows - 1) * row_stride + last)


def _heads_together(what: str, names: tuple[str, ...], address: str) -> Misconception:
    return Misconception(
        "wrong-row-map",
        f"All heads are written to the place of head 0 in {what}",
        "The addresses of the store are the same for every head: each overwrites what another one has written, in any "
        "order, and the place of the other heads is written by nobody.",
        f"Add the head to the addresses: {address}.",
        question=f"Where in {what} does head 2 begin, and where does your store begin in its program?",
        signs=(Unwritten(_all_but_head_0(*names), shared=True),),
    )


ADDRESSING = (
    _heads_together("l and m", ("l_ptr", "m_ptr"), "l_ptr + head * n_q + queries, and m_ptr likewise"),
    *(
        _heads_together(name, (f"{name}_ptr",), f"{name}_ptr + head * n_q + queries")
        for name in ("l", "m", "lse", "delta")
    ),
    _heads_together("dk and dv", ("dk_ptr", "dv_ptr"), "dk_ptr + head * k_head_stride, and dv_ptr likewise"),
    *(
        _heads_together(name, (f"{name}_ptr",), f"{name}_ptr + head * {side}_head_stride")
        for name, side in (("o", "q"), ("dq", "q"), ("dk", "k"), ("dv", "k"))
    ),
    Misconception(
        "tile-and-step-differ",
        "Tiles leave queries out: they have Bc of them, but the loop steps by Br",
        "A loop over tiles of queries goes from one to the next in steps of Br. A tile of Bc queries leaves gaps where "
        "Bc is smaller: with Br = 32 and Bc = 16, queries 16 to 31 are in no tile. Where Bc is larger, tiles overlap.",
        "Queries: start_q + tl.arange(0, Br). Keys: start_k + tl.arange(0, Bc).",
        question="Let a tile be 32 queries by 16 keys. Which queries does your first tile have, and with which query "
        "does your second one begin?",
        signs=(Unwritten(_past_bc_of_each_tile),),
    ),
    Misconception(
        "tile-and-step-differ",
        "Tiles of Br queries begin Bc queries apart",
        "A program's first query is its number times Bc, and a tile has Br queries. Where Bc is smaller, tiles overlap "
        "and the last queries are in none: with Br = 32, Bc = 16 and 64 queries, the second program begins at 16. "
        "Where Bc is larger, there are gaps between tiles.",
        "A tile of queries begins at tl.program_id(0) * Br.",
        question="Br = 32, Bc = 16, 64 queries: with which query should program 1 begin, and with which one does "
        "yours?",
        signs=tuple(Unwritten(_tiles_bc_apart, shared=shared) for shared in (False, True)),
    ),
    Misconception(
        "program-ids-exchanged",
        "The two axes of the grid are exchanged",
        "The program takes its number along the first axis for the head, and along the second one for the tile. With "
        "3 tiles and 2 heads, program (2, 1) then looks for head 2, which does not exist.",
        "tl.program_id(0) is the tile, tl.program_id(1) the head.",
        question="3 tiles and 2 heads make a grid of 3 x 2. Which tile of which head is program (2, 1), and which does "
        "your kernel take it for?",
        signs=(Reaches(_ids_exchanged),),
    ),
    Misconception(
        "keys-without-mask",
        "Keys past the last one are loaded",
        "The last tile has fewer than Bc keys if n_k is not a multiple of Bc. Of 40 keys in tiles of 16 it has 8. What "
        "lies past them belongs to somebody else.",
        "Mask rows of K and V: mask=keys[:, None] < n_k, other=0.0.",
        question="40 keys in tiles of 16: which numbers does `keys` hold in the last tile, and what keeps your loads "
        "of K and V from key 40?",
        signs=(reach(False, mask="none", sides="k"),),
    ),
    Misconception(
        "queries-without-mask",
        "Queries past the last one are loaded",
        "The last tile has fewer than Br queries if n_q is not a multiple of Br. Of 23 queries in tiles of 16 it has "
        "7. What lies past them belongs to somebody else.",
        "Mask rows of Q-shaped tensors, queries[:, None] < n_q, and vectors, queries < n_q.",
        question="23 queries in tiles of 16: which numbers does `queries` hold in the last tile, and what keeps each "
        "of your loads from query 23?",
        signs=(reach(False, mask="none", sides="q"), reach(False, mask="none", vectors=True)),
    ),
    Misconception(
        "store-without-mask",
        "Rows past the last one are written",
        "The last tile is not full, and the store writes all of it. Of 23 rows in tiles of 16, the last tile has 7, "
        "and what lies past them belongs to somebody else.",
        "Store with the mask that the rows were loaded with.",
        question="23 rows in tiles of 16: how many rows does the last tile have, and how many does your store write?",
        signs=(reach(True, mask="none"), reach(True, mask="none", vectors=True)),
    ),
    Misconception(
        "mask-off-by-one",
        "The mask lets one row too many through",
        "Rows count from 0, so the last of 23 rows is row 22. A mask that lets number 23 through as well reaches one "
        "row past the end.",
        "Compare with <, not with <=.",
        question="There are 23 rows. Which number has the last one, and what does your mask say of number 23?",
        signs=tuple(reach(*which, mask="one too many") for which in product((False, True), (False, True))),
    ),
    Misconception(
        "head-stride-assumed",
        "Heads are assumed to follow each other without a gap",
        "The kernel steps n rows to the next head. A tensor may be padded, or be a slice of a larger one, so the "
        "distance between heads is its stride: 10 rows of 20 elements take 200, and the next head may begin at 240.",
        "Use head * q_head_stride for Q-shaped tensors, head * k_head_stride for K-shaped ones.",
        question="A head has 10 rows of 20 elements, and the head stride is 240. At which element does head 2 begin, "
        "and where does your kernel look for it?",
        signs=tuple(
            reach(stores, strides=strides)
            for stores, strides in product((False, True), (_dense(True, True), _dense(False, True)))
        ),
    ),
    Misconception(
        "width-as-stride",
        "Rows are assumed to follow each other without a gap",
        "The kernel steps D elements to the next row. The distance between rows is the row stride, not the width: rows "
        "of 16 elements may lie 20 apart, and row 2 then begins at 40, not at 32.",
        "Use queries * q_row_stride and keys * k_row_stride.",
        question="Rows of 16 elements lie 20 apart. At which element does row 3 begin, and where does your kernel look "
        "for it?",
        signs=tuple(
            reach(stores, strides=strides) for stores, strides in product((False, True), (_width, _dense(False, False)))
        ),
    ),
    Misconception(
        "strides-of-the-other-side",
        "A tensor is addressed with strides that belong to others",
        "Q-shaped tensors (Q, O, dO, dQ) share one pair of strides, K-shaped ones (K, V, dK, dV) another. If rows of Q "
        "lie 20 elements apart and rows of K 16, row 2 of K begins at 32, and Q's stride leads to 40.",
        "Use q_head_stride and q_row_stride for the former, k_head_stride and k_row_stride for the latter.",
        question="Rows lie 20 elements apart in Q, and 16 in K. Where does row 2 of each begin, and which pair of "
        "strides does each of your addresses use?",
        signs=tuple(
            reach(stores, strides=_of_other_side(head, row))
            for head, row in ((True, True), (True, False), (False, True))
            for stores in (False, True)
        ),
    ),
    Misconception(
        "strides-of-the-other-side",
        "Numbers of the queries are addressed as if there were n_k of them",
        "l, m and LSE have one number for each query, so the next head begins n_q numbers later. With 40 queries and "
        "50 keys, head 1 begins at 40, and your address is 50.",
        "Add head * n_q + queries to the pointer.",
        question="2 heads, 40 queries, 50 keys: how many numbers does lse, or l, hold in all, and at which one does "
        "head 1 begin?",
        signs=tuple(reach(stores, vectors=True, heads_apart="n_k") for stores in (False, True)),
    ),
)
