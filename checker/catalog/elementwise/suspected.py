"""Cases on both sides of the numbers in a kernel on vectors: lengths, programs, blocks, data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from checker.catalog.cases import suspected
from checker.catalog.elementwise.launch import launch, sampled
from checker.course.case import Array, Case
from checker.course.puzzle import Draw, Kernel, Suspected

FAR = 400_003  # elements beyond any likely number
LARGEST_BLOCK = 1 << 15


@dataclass(frozen=True)
class _Vector:
    """A launch that is wanted because of the number c."""

    n: int
    c: int
    block: int = 0  # 0: as is cheap
    half: bool = False
    around: float = 0.0  # data around this number and around its negative; 0: data as usual


def suspected_lengths(kernel: Kernel, proves: str) -> Suspected:
    """For a kernel with one length, n, and one block, BLOCK_SIZE."""

    def size(c: int, computed: bool) -> Iterator[_Vector]:
        yield _Vector(2 * c + 5, c, half=not computed)
        yield _Vector(c, c)
        yield _Vector(c + 1, c)
        yield _Vector(8 * (c + 1) - 3, c, block=8)  # so many programs, and one more
        if computed:
            return
        yield _Vector(c - 1, c)
        yield _Vector(8 * (2 * c + 1), c, block=8)
        for width in suspected.powers_around(c, 1, LARGEST_BLOCK):
            yield _Vector(2 * width + 3, c, block=width)

    def value(number: float) -> Iterator[_Vector]:
        yield _Vector(700, int(number), around=number, block=64)

    around = suspected.Around(
        size,
        lambda c: (_Vector(c, c), _Vector(8 * (c + 1) - 3, c, block=8)),
        value,
        pair=lambda a, b: _Vector(a + 2, b, block=min(suspected.power(b), LARGEST_BLOCK)),
        far=[_Vector(FAR, 9), _Vector(FAR, 9, block=4)],
        small_blocks=[_Vector(600, 9, block=4)],
    )
    return Suspected(
        {kernel.name: proves},
        lambda _, draw, suspects: around.cases(suspects, lambda v: _wanted(kernel, proves, draw, v)),
    )


def _wanted(kernel: Kernel, proves: str, draw: Draw, v: _Vector) -> suspected.Wanted:
    block = v.block or min(max(16, suspected.power(-(-v.n // 16))), LARGEST_BLOCK)
    count = -(-v.n // block)
    programs = suspected.some(count, v.c)
    run = len(programs) or count

    def make(name: str) -> Case:
        random = draw.case(f"{name} {v}")
        x, y = (_data(random, v.n, v.around).astype(np.float16 if v.half else np.float32) for _ in range(2))
        case = launch(kernel, name, (proves,), x, y, block)
        return sampled(case, programs) if programs else case

    milliseconds = run * (0.3 + block / 30_000) + v.n / 10_000
    return suspected.Wanted(v if programs else replace(v, c=0), milliseconds, 3 * v.n, 3 * min(run * block, v.n), make)


def _data(random: np.random.Generator, n: int, around: float) -> Array:
    """Normal numbers; or some on both sides of a number, of its half, and of their negatives, and some far beyond."""
    if not around:
        return random.normal(0.0, 2.0, n)
    centres = np.array([around, -around, around / 2, -around / 2, 3 * around, 0.0])
    return random.choice(centres, n) + random.normal(0.0, 1.0, n)
