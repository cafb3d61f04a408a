"""Bounds on splits and their merge: traffic, products, the largest block."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checker.catalog.attention.bounds import A_PROGRAM, A_VISIT, largest_tile
from checker.catalog.attention.launch import shape_of
from checker.catalog.split.launch import cut_of, is_split, tiles_of
from checker.course.case import Array, Case
from checker.course.puzzle import Budget

WHY_BLOCKS = (
    "A tile of Br x D, Bc x D, Br x Bc or Bs x D fits into the memory on the chip. All keys of a split, or all scores, "
    "would not."
)


def budget(case: Case) -> Mapping[str, Budget]:
    """Q once for each split, K and V once in all, each part stored once; then each part loaded once, O stored once.

    Asks for a part of a tile at once, of queries, of keys, or of a part's row.
    """
    size = {name: tensor.values.size for name, tensor in case.tensors.items()}
    shape = shape_of(case)
    if not is_split(case):
        row = -(-shape.D // 8)
        return {
            "o_part_ptr": Budget(size["o_part_ptr"], least_at_once=row),
            "lse_part_ptr": Budget(size["lse_part_ptr"]),
            "o_ptr": Budget(stores=size["o_ptr"], least_at_once=row),
            "lse_ptr": Budget(stores=size["lse_ptr"]),
        }
    cut = cut_of(case)
    rows = -(-shape.n_q * shape.D // 8)
    of_keys = -(-min(shape.n_k, cut.keys, shape.Bc) * shape.D // 8)
    kv = Budget(size["k_ptr"], least_loads=size["k_ptr"], least_at_once=of_keys)
    return {
        "q_ptr": Budget(cut.splits * size["q_ptr"], place="before the loop", anew="each split", least_at_once=rows),
        "k_ptr": kv,
        "v_ptr": kv,
        "o_part_ptr": Budget(stores=size["o_part_ptr"], least_at_once=rows),
        "lse_part_ptr": Budget(stores=size["lse_part_ptr"]),
    }


def work(case: Case) -> int:
    """Multiply-adds that are enough: two products for each tile of keys of each split; none in the merge."""
    if not is_split(case):
        return 0
    s = shape_of(case)
    return 2 * s.heads * int(tiles_of(case).sum()) * s.Br * s.Bc * s.D


def by_hand(case: Case) -> Array:
    """Elements that each program may multiply without tl.dot; the merge has nothing for tl.dot."""
    programs = int(np.prod(case.grid))
    if not is_split(case):
        return np.full(programs, np.inf)
    return np.asarray(np.tile((A_VISIT * tiles_of(case) + A_PROGRAM) * largest_tile(case), shape_of(case).heads))


def largest_block(case: Case) -> int:
    """Elements of the largest tile of the launch."""
    return largest_tile(case) if is_split(case) else int(case.constexprs["Bs"]) * shape_of(case).D
