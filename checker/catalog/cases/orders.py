"""Orders of a tile's sides: each order and equality of them, with every switch and in every precision.

A kernel may ask its constexprs and types anything, and the compiler drops what the answer does not need. So a form of a
kernel that no launch has is a kernel that nobody has run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from checker.catalog.numbers import halves
from checker.course.case import Case

LEAST = 16  # the shortest side that tl.dot multiplies
Order = tuple[int, ...]  # of each side, how many different ones are shorter


def order(sides: Sequence[int]) -> Order:
    """That of some sides."""
    shorter = sorted(set(sides))
    return tuple(shorter.index(side) for side in sides)


def every(count: int) -> list[Order]:
    """Return all orders of so many sides: of three 13."""
    return sorted({order(ranks) for ranks in itertools.product(range(count), repeat=count)})


def missing(
    cases: Sequence[Case], sides: Sequence[str], switch: str = ""
) -> Iterator[tuple[tuple[int, ...], bool | None, type[Any]]]:
    """Yield what no case has: the sides, the switch, fp32 or one type of half precision after the other."""
    there = {_of(case, sides, switch) for case in cases}
    half = halves()
    for ranks, on, in_half in itertools.product(every(len(sides)), (False, True) if switch else (None,), (False, True)):
        if (ranks, on, in_half) not in there:
            yield tuple(LEAST << rank for rank in ranks), on, next(half) if in_half else np.float32


def _of(case: Case, sides: Sequence[str], switch: str) -> tuple[Order, bool | None, bool]:
    on = bool(case.constexprs[switch]) if switch else None
    in_half = any(tensor.type in ("float16", "bfloat16") for tensor in case.tensors.values())
    return order([int(case.constexprs[name]) for name in sides]), on, in_half
