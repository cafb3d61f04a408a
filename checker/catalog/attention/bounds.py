"""Bounds on a launch of tiles: tiles to visit, tl.dot, products by hand, the largest block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from checker.catalog.attention.launch import shape_of, writes
from checker.catalog.attention.reference import has_keys, is_causal, sees
from checker.course.case import Array, AxisKind, Case
from checker.course.puzzle import Budget

A_VISIT, A_PROGRAM = 8, 4  # largest tiles that a program may multiply each time it looks at a tile, and besides
WHY_BLOCKS = (
    "A tile of Br x D, Bc x D or Br x Bc fits into the memory on the chip. All of K, or all scores, would not: never "
    "holding them is what makes this FlashAttention."
)


def largest_tile(case: Case) -> int:
    """Elements of the largest tile of the launch: Br x D, Bc x D or Br x Bc."""
    s = shape_of(case)
    return max(s.Br * s.D, s.Bc * s.D, s.Br * s.Bc)


def looked_at(case: Case) -> Array:
    """Return which entries lie in tiles that a kernel looks at, whole tiles, shape (n_q, n_k)."""
    return whole_tiles(case, sees(case))


def whole_tiles(case: Case, seen: Array) -> Array:
    """Return which entries lie in tiles that have any of those in `seen`, shape (n_q, n_k)."""
    s = shape_of(case)
    some = np.zeros((s.tr, s.tc), bool)
    queries, keys = np.nonzero(seen)
    some[queries // s.Br, keys // s.Bc] = True
    return np.asarray(np.repeat(np.repeat(some, s.Br, axis=0), s.Bc, axis=1)[: s.n_q, : s.n_k])


def transposed(case: Case, x: Array) -> Array:
    """Scores, P or dS with each tile transposed in its place, where tiles are square; else untouched."""
    s = shape_of(case)
    if s.Br != s.Bc:
        return x
    rows, columns = s.tr * s.Br, s.tc * s.Bc
    full = np.zeros((len(x), rows, columns))
    full[:, : s.n_q, : s.n_k] = x
    tiles = full.reshape(len(x), s.tr, s.Br, s.tc, s.Bc).transpose(0, 1, 4, 3, 2)
    return tiles.reshape(len(x), rows, columns)[:, : s.n_q, : s.n_k]


def in_tiles(case: Case, budgets: Mapping[str, Budget]) -> Mapping[str, Budget]:
    """Return the same budgets, asking for a part of a tile at once: of the last one, which some launches see nothing
    but.

    Of queries, no more than see a key are asked for.
    """
    found, seeing = dict(budgets), int(has_keys(case).sum())
    for name, tensor in case.tensors.items():
        if tensor.axes[-1].kind is AxisKind.DIMENSION:
            _, rows, d = tensor.values.shape
            block = tensor.axes[1].block or rows
            part = rows % block or block
            part = min(part, seeing) if tensor.axes[1].kind is AxisKind.QUERY else part
            found[name] = replace(found[name], least_at_once=-(-part * d // 8))
    return found


def visits(case: Case) -> int:
    """Pairs of a query tile and a key tile that must be looked at, in all heads."""
    s = shape_of(case)
    return int(s.heads * (-(-keys_seen(case) // s.Bc)).sum())


def work(products: int) -> Callable[[Case], int]:
    """Multiply-adds of a kernel with so many matrix products for each pair of tiles that must be looked at."""

    def of(case: Case) -> int:
        s = shape_of(case)
        return products * visits(case) * s.Br * s.Bc * s.D

    return of


def keys_needed(case: Case) -> Array:
    """Return how many keys each query tile cannot do without: up to the last one that any of its rows sees."""
    s = shape_of(case)
    last = np.minimum((np.arange(s.tr) + 1) * s.Br, s.n_q) + (s.n_k - s.n_q)
    return np.asarray(np.clip(last, 0, s.n_k) if is_causal(case) else np.full(s.tr, s.n_k))


def keys_seen(case: Case) -> Array:
    """Return how many keys each query tile must look at: whole blocks, up to the last key that any of its rows sees."""
    s = shape_of(case)
    return np.asarray(np.minimum(s.n_k, s.Bc * -(-keys_needed(case) // s.Bc)))


def forward_budget(case: Case) -> Mapping[str, Budget]:
    """Q once; of K and V, for each tile of queries, the tiles that it sees any of; O and LSE stored once."""
    heads, n_q, d = case.tensors["q_ptr"].values.shape
    seen = heads * d * int(keys_seen(case).sum())
    # Programs share no registers.
    kv = Budget(seen, least_loads=heads * d * int(keys_needed(case).sum()), anew="each tile of queries")
    q = Budget(loads=heads * n_q * d)
    outputs = {"o_ptr": Budget(stores=heads * n_q * d), "lse_ptr": Budget(stores=heads * n_q)}
    return in_tiles(case, {"q_ptr": q, "k_ptr": kv, "v_ptr": kv, **outputs})


def by_hand(case: Case) -> Array:
    """Elements that each program may multiply without tl.dot.

    Right kernels need 4 largest tiles for each visit, to scale scores and to rescale what they have added up, and one
    to divide it at last. A product of two tiles by hand takes at least 16.
    """
    s = shape_of(case)
    tiles = -(-keys_seen(case) // s.Bc)  # of each query tile
    if "k_ptr" not in case.tensors:
        return np.full(s.tr * s.heads, np.inf)  # no tl.dot is asked for
    if writes(case, "dbias"):  # a program is a pair of tiles, of all heads
        return np.full(s.tr * s.tc, (A_VISIT * s.heads + A_PROGRAM) * largest_tile(case))
    if len(case.grid) == 1:
        tiles = np.array([tiles.sum()])
    elif writes(case, "dk"):
        tiles = np.array([np.count_nonzero(tiles > tile) for tile in range(s.tc)])
    return np.asarray(np.repeat((A_VISIT * tiles + A_PROGRAM) * largest_tile(case), s.heads))
