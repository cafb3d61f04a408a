"""How much of attention may be multiplied element by element, and not by tl.dot."""

from __future__ import annotations

import numpy as np

from checker.catalog.attention import keys_seen, largest_tile, shape_of
from checker.course.puzzle import Array, Case

A_VISIT, A_PROGRAM = 8, 4  # largest tiles that a program may multiply each time it looks at a tile, and besides


def by_hand(case: Case) -> Array:
    """Elements that each program may multiply without tl.dot.

    Right kernels need 4 largest tiles for each visit, to scale scores and to rescale what they have added up, and one
    to divide it at last. A product of two tiles by hand takes at least 16.
    """
    s = shape_of(case)
    tiles = -(-keys_seen(case) // s.Bc)  # of each query tile
    if "k_ptr" not in case.tensors:
        return np.full(s.tr * s.heads, np.inf)  # no tl.dot is asked for
    if len(case.grid) == 1:
        tiles = np.array([tiles.sum()])
    elif "dk_ptr" in case.tensors:
        tiles = np.array([np.count_nonzero(tiles > tile) for tile in range(s.tc)])
    return np.asarray(np.repeat((A_VISIT * tiles + A_PROGRAM) * largest_tile(case), s.heads))
