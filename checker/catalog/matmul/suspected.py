"""Cases on both sides of the numbers in a product of matrices: m, n, k, programs, strides, blocks, data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from checker.catalog.cases import suspected
from checker.catalog.matmul.cases import normal_matrices
from checker.catalog.matmul.launch import FAR_APART, Shape, launch, sampled
from checker.course.case import Case
from checker.course.puzzle import Draw, Kernel, Suspected

FAR = 70_003  # rows, columns or products of a sum, beyond 16 bits
FAR_TILES = 4200  # rows beyond 16 * 16 * 16


def suspected_sizes(kernel: Kernel, largest: float) -> Suspected:
    """For a product of matrices. `largest`: absolute value of entries of A."""

    def size(c: int, computed: bool) -> Iterator[_Tiles]:
        of = partial(_Tiles, c)
        yield of(k=2 * c + 5, half=not computed)
        yield of(k=c)
        yield of(m=c + 1, strides=(c, c + 1, 0))
        yield of(n=c + 1, strides=(c + 1, 0, c))
        yield of(k=c + 1, strides=(2 * c + 1, 3 * c + 2, 0))
        yield of(m=c, strides=(0, c, c + 1))
        yield of(n=c)
        yield of(m=c + 1, n=c + 1)  # for products
        yield of(m=c + 1, k=c + 1)
        if computed:
            return
        yield of(k=c - 1, strides=(c - 1, 2 * c - 2, 0))
        yield of(m=16 * c + 19, Bm=16)
        yield of(n=16 * c + 19, Bn=16)
        yield of(k=16 * c + 19, Bk=16)
        for block in suspected.powers_around(c, 16, 512):
            yield of(m=block + 3, Bm=block)
            yield of(n=block + 3, Bn=block)
            yield of(k=block + 3, Bk=block)
        yield of(m=2 * c + 5, half=True)
        yield of(n=2 * c + 5, half=True)
        yield of(m=c - 1, strides=(c - 1, 0, c))
        yield of(n=c - 1, strides=(0, c - 1, c - 1))
        yield of(m=21 + c, n=21)  # for differences
        yield of(n=21 + c, m=21)
        yield of(k=21 + c, m=21)
        yield of(n=c + 1, k=c + 1)

    def value(number: float) -> Iterator[_Tiles]:
        yield _Tiles(int(number), k=37, around=min(number, largest))

    around = suspected.Around(
        size,
        lambda c: (_Tiles(c, m=c, n=1, k=1), _Tiles(c, m=1, n=c, k=1), _Tiles(c, m=1, n=1, k=c)),
        value,
        pair=lambda a, b: _Tiles(a, m=b + 1, k=a + 1),
        far=[_Tiles(9, k=FAR), _Tiles(9, m=FAR), _Tiles(9, n=FAR)],
        small_blocks=[_Tiles(9, k=FAR_TILES, Bk=16), _Tiles(9, m=FAR_TILES, Bm=16), _Tiles(9, n=FAR_TILES, Bn=16)],
    )
    return Suspected(
        {kernel.name: "any-size"},
        lambda _, draw, suspects: around.cases(suspects, lambda tiles: _wanted(kernel, draw, tiles)),
    )


@dataclass(frozen=True)
class _Tiles:
    """A product of matrices that is wanted because of the number c."""

    c: int
    m: int = 19
    n: int = 17
    k: int = 18
    strides: tuple[int, int, int] = (0, 0, 0)  # of A, B and C; 0 or too small: with some gap
    Bm: int = 0  # 0: as is cheap
    Bn: int = 0
    Bk: int = 0
    half: bool = False
    around: float = 0.0  # entries of A, and of C, around this number and around its negative; 0: as usual


def _wanted(kernel: Kernel, draw: Draw, t: _Tiles) -> suspected.Wanted:
    m, n, k = t.m, t.n, t.k
    Bm, Bn, Bk = (
        block or min(most, max(16, suspected.power(-(-size // 16))))
        for block, size, most in ((t.Bm, m, 128), (t.Bn, n, 128), (t.Bk, k, 1024))
    )
    a_gap, b_gap, c_gap = (
        suspected.gap(stride, width, FAR_APART) for stride, width in zip(t.strides, (k, k, n), strict=True)
    )
    shape = Shape(m, n, k, Bm, Bn, Bk, (a_gap, b_gap, c_gap))
    tm, tn, tk = shape.tiles
    down, across = (suspected.some(count, t.c) for count in (tm, tn))

    def make(name: str) -> Case:
        random = draw.case(f"{name} {t}")
        a, b = normal_matrices(random, shape, np.float16 if t.half else np.float32)
        if t.around:
            a[:, 0::2], b[:, :] = t.around, 0.0
            a[1::2] *= -1
            b[:, 0] = np.linspace(0.5, 2.0, n)
            b[:, 1::2] = random.normal(0.0, 1.0, b[:, 1::2].shape)
        case = launch(kernel, name, "any-size", shape, a, b)
        return sampled(case, down or range(tm), across or range(tn)) if down or across else case

    run = (len(down) or tm) * (len(across) or tn)
    milliseconds = run * (0.4 + tk * (0.5 + Bm * Bn * Bk / 400_000)) + m * n * k / 20_000_000
    touched = run * (tk * Bk * (Bm + Bn) + Bm * Bn)
    elements = m * k + n * k + m * n
    what = t if down or across else replace(t, c=0)
    return suspected.Wanted(what, milliseconds, elements, touched, make)
