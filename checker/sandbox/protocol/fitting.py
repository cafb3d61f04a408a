"""Launch parameters for cores with little memory: fewer stages of loops' pipelines, and shorter tiles.

A launch chooses both, and not the kernel, so a right kernel must not be refused for them. Figures: p7's products in
fp16 with D = 128 and 64 by 64 tiles ask for 105 KB with Triton's own three stages, for 73 KB with two; without tensor
cores Triton writes an instruction for each product, and 64 by 64 tiles take it minutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")
AMPLE = 160 << 10  # bytes of shared memory: A100, H100 and later ones of their kind, MI350X
FEWER = (2, 1)  # stages, where there is less
LITTLE = 96 << 10  # where there is not even that (T4), a launch is left out whose tiles are too large even so
_FIRST_WITH_MMA = 80  # of the compute capabilities for which Triton multiplies on tensor cores
SHORT = 32  # the longest side of a tile where it does not


def fewer_stages(shared: int) -> tuple[int, ...]:
    """Return the stages to try in order, if a launch asks for more than these bytes of shared memory."""
    return () if shared >= AMPLE else FEWER


def fitting(
    make: Callable[[int | None], T], asks: Callable[[T], int], limit: int, fewer: Iterable[int]
) -> tuple[T, int | None]:
    """Return what `make` makes of a number of stages with which it fits in `limit` bytes, and that number; None:
    Triton's own.

    `asks`: for how many bytes of shared memory it asks. `fewer`: the stages that are tried if that is too much.
    """
    made, taken = make(None), None
    for stages in fewer:
        if asks(made) <= limit:
            break
        other = make(stages)
        if asks(other) >= asks(made):  # nothing is loaded ahead
            break
        made, taken = other, stages
    return made, taken


def longest_side(target: str) -> int:
    """Return the longest side of a tile that is multiplied on a target, by Triton's name; 0: any."""
    has_mma = not target.startswith("sm_") or int(target.removeprefix("sm_")) >= _FIRST_WITH_MMA
    return 0 if has_mma else SHORT


def tile(constexprs: Mapping[str, int | float | bool]) -> int:
    """Return how large a launch's tiles are, to be compared with those of other launches of the same kernel."""
    return math.prod(int(value) for value in constexprs.values() if type(value) is int)


def smallest_tiles(launches: Iterable[tuple[str, Mapping[str, int | float | bool]]]) -> dict[str, int]:
    """By kernel, of launches as (kernel, constexprs): if the smallest has no room, that is the kernel's fault."""
    smallest: dict[str, int] = {}
    for kernel, constexprs in launches:
        smallest[kernel] = min(tile(constexprs), smallest.get(kernel, tile(constexprs)))
    return smallest


def sides(constexprs: Mapping[str, int | float | bool]) -> dict[str, int]:
    """Return the constexprs that are sides of tiles, which a launch may choose: whole numbers, but not the width of a
    head.
    """
    return {name: value for name, value in constexprs.items() if type(value) is int and name != "D"}
