"""Sizes chosen by construction: a mistake at a boundary shows only where a size leaves the right remainder.

The *class* of a size by its block B is its remainder: 0, 1, B - 1, or any other. A design is a stored list of launches,
each of which stands for all launches of its classes: the key draws one of them, so coverage is the same for every key.
`python -m tests.covering` searches for designs, and `tests/catalog/test_covering.py` holds what they cover.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

MOST_TILES = 4  # on each side of a launch that is drawn
# What else a launch has. How its tensors lie: both dense, one of them padded, both alike, both padded differently; and
# switches, as bits. Launches of six layouts, and six more with all switches the other way, have every pair of these.
DENSE, FIRST_PADDED, SECOND_PADDED, ALIKE, FIRST_WIDER, SECOND_WIDER = range(6)
HALF, HEADS, WIDE, SWITCH = 1, 2, 4, 8  # fp16; several heads; a wide one; a scale of 1
SWITCHES = (0, HALF | HEADS, HALF | WIDE, HEADS | WIDE, HALF, HEADS)
MOST_MORE = 3  # visits of a drawn launch beyond those of the stored one

Ints = npt.NDArray[np.int64]
Launch = tuple[int, int, int, int]  # n_q, n_k, Br, Bc

# Every pair of classes that can occur together, in full attention; and n_k in all classes by several tiles.
FULL: tuple[Launch, ...] = (
    *((1, 17, 16, 16), (2, 15, 16, 16), (15, 32, 16, 16), (16, 31, 16, 16), (17, 16, 16, 16), (32, 18, 16, 16)),
    *((1, 63, 16, 32), (2, 34, 16, 32), (2, 64, 16, 32), (15, 33, 16, 32), (16, 32, 16, 32), (18, 1, 16, 32)),
    *((1, 2, 32, 16), (2, 32, 32, 16), (31, 18, 32, 16), (32, 17, 32, 16), (32, 31, 32, 16), (63, 15, 32, 16)),
)
# The same in causal attention, with the classes of n_k - n_q; and the boundaries of loops and mask in all classes.
CAUSAL: tuple[Launch, ...] = (
    *((1, 16, 16, 16), (15, 15, 16, 16), (18, 32, 16, 16), (31, 33, 16, 16), (31, 46, 16, 16), (32, 17, 16, 16)),
    *((32, 32, 16, 16), (1, 31, 16, 32), (2, 2, 16, 32), (15, 64, 16, 32), (17, 1, 16, 32), (17, 18, 16, 32)),
    *((18, 65, 16, 32), (19, 65, 16, 32), (32, 33, 16, 32), (34, 1, 16, 32), (48, 64, 16, 32), (1, 1, 32, 16)),
    *((1, 17, 32, 16), (14, 15, 32, 16), (14, 31, 32, 16), (32, 2, 32, 16), (34, 32, 32, 16), (63, 14, 32, 16)),
    *((63, 16, 32, 16), (64, 17, 32, 16), (64, 31, 32, 16), (64, 48, 32, 16), (66, 33, 32, 16)),
)


def remainder_class(n: Any, block: int) -> Ints:
    """0, 1, 2 for a remainder of B - 1, 3 for any other; of one number or of an array."""
    rest = np.mod(n, block)
    return np.where(rest == 0, 0, np.where(rest == 1, 1, np.where(rest == block - 1, 2, 3)))


def classes(n_q: Any, n_k: Any, br: int, bc: int, causal: bool) -> dict[str, Ints]:
    """Return the factors of a design, of one launch or of arrays of sizes."""
    found = {
        "n_q by Br": remainder_class(n_q, br),
        "n_k by Bc": remainder_class(n_k, bc),
        "several query tiles": np.asarray(n_q > br, int),
        "several key tiles": np.asarray(n_k > bc, int),
    }
    if causal:
        offset = n_k - n_q
        found["n_k - n_q by Bc"] = remainder_class(offset, bc)
        found["n_k - n_q by Br"] = remainder_class(offset, br)
        found["sign of n_k - n_q"] = np.sign(offset)
    return found


def boundaries(n_q: Any, n_k: Any, br: int, bc: int, causal: bool) -> dict[str, Ints]:
    """In which classes a launch has the boundaries of loops, as bits, each where another tile comes before it.

    A loop over keys ends at (i + 1) Br + n_k - n_q for a whole tile i of queries, or at n_k; one over queries begins at
    j Bc - (n_k - n_q). The mask begins where the first query of a tile sees no more, at i Br + n_k - n_q + 1, and ends
    where a query sees all keys of a tile, at (j + 1) Bc - 1 - (n_k - n_q). A boundary in the first tile would hide
    mistakes: what is lost there may be all there is.
    """

    def bit(which: Any, at: Any, block: int) -> Ints:
        return np.where(which, 1 << remainder_class(at, block), 0)

    if not causal:
        return {"end of keys": bit(n_k > bc, n_k, bc)}
    ends = starts = hidden = whole = np.zeros_like(n_q)
    for tile in range(MOST_TILES):
        end, start = (tile + 1) * br + n_k - n_q, (tile + 1) * bc - (n_k - n_q)
        ends = ends | bit(((tile + 1) * br <= n_q) & (end > bc), end, bc)
        starts = starts | bit(((tile + 1) * bc < n_k) & (start >= br) & (start < n_q), start, br)
        first, full = tile * br + n_k - n_q + 1, (tile + 1) * bc - 1 - (n_k - n_q)
        hidden = hidden | bit((tile * br < n_q) & (first > bc) & (first < n_k), first, bc)
        whole = whole | bit(((tile + 1) * bc <= n_k) & (full >= br) & (full < n_q), full, br)
    return {"end of keys": ends, "start of queries": starts, "start of the mask": hidden, "end of the mask": whole}


def visits(n_q: Any, n_k: Any, br: int, bc: int, causal: bool) -> Ints:
    """Pairs of tiles that a launch looks at."""
    rows = -(-n_q // br)
    if not causal:
        return np.asarray(rows * -(-n_k // bc))
    ends = (np.minimum((tile + 1) * br, n_q) + n_k - n_q for tile in range(MOST_TILES))
    return np.asarray(sum(np.where(n < rows, -(-np.clip(end, 0, n_k) // bc), 0) for n, end in enumerate(ends)))


def drawn(stored: Launch, causal: bool, random: np.random.Generator) -> Launch:
    """Return a launch of the same classes, with at least the same boundaries, and hardly more work."""
    br, bc = stored[2:]
    all_classes, all_boundaries, work = _grid(br, bc, causal)
    at = stored[0] - 1, stored[1] - 1
    alike = work <= work[at] + MOST_MORE
    for values in all_classes:
        alike &= values == values[at]
    for bits in all_boundaries:
        alike &= bits[at] & ~bits == 0
    n_q, n_k = random.choice(np.argwhere(alike)) + 1
    return int(n_q), int(n_k), br, bc


@cache
def _grid(br: int, bc: int, causal: bool) -> tuple[list[Ints], list[Ints], Ints]:
    """Classes, boundaries and visits of all launches that may be drawn, n_q - 1 down and n_k - 1 across."""
    n_q, n_k = np.meshgrid(np.arange(1, MOST_TILES * br + 1), np.arange(1, MOST_TILES * bc + 1), indexing="ij")
    of = n_q, n_k, br, bc, causal
    return list(classes(*of).values()), list(boundaries(*of).values()), visits(*of)


def besides(count: int, random: np.random.Generator) -> list[tuple[int, int]]:
    """Return what `count` launches have besides their sizes, as (layout, switches): all pairs in
    any twelve in a row.
    """
    every = [*enumerate(SWITCHES), *((layout, 15 - on) for layout, on in enumerate(SWITCHES))]
    order = random.permutation(len(every))
    return [every[order[n % len(every)]] for n in range(count)]


def gaps(layout: int, random: np.random.Generator) -> tuple[int, int]:
    """Unused elements after each row of two tensors that lie so."""
    small, large = np.sort(random.choice(np.arange(1, 64), 2, replace=False))
    return {
        DENSE: (0, 0),
        FIRST_PADDED: (int(small), 0),
        SECOND_PADDED: (0, int(small)),
        ALIKE: (int(small), int(small)),
        FIRST_WIDER: (int(large), int(small)),
        SECOND_WIDER: (int(small), int(large)),
    }[layout]


def lengths(block: int, random: np.random.Generator) -> list[int]:
    """Lengths of every class by `block`, in one block and then in several: 0, 1, B - 1, any other."""
    other = [int(random.integers(2, block - 1)) for _ in range(2)]
    return [
        rest + blocks * block
        for blocks in (0, int(random.integers(1, MOST_TILES - 1)))
        for rest in (block, 1, block - 1, other[min(blocks, 1)])
    ]
