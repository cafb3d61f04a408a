"""Cases on both sides of the numbers in a kernel: queries, keys, splits, heads, strides, blocks, data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from checker.catalog.attention.launch import FAR_APART, Shape
from checker.catalog.attention.suspected import around_number
from checker.catalog.attention.values import normal_inputs
from checker.catalog.cases import suspected
from checker.catalog.split.cases import drawn_parts, of_programs
from checker.catalog.split.launch import MERGE, SPLIT, Cut, launch_merge, launch_split
from checker.course.case import Array, Case
from checker.course.puzzle import Draw, Suspected, Suspects

FAR_KEYS, FAR_SPLITS, FAR_HEADS = 14_009, 10_007, 4_003
MOST_QUERIES = 2000  # of one tile
PROVES = {SPLIT.name: "any-length", MERGE.name: "any-count"}


@dataclass(frozen=True)
class _Sizes:
    """A launch that is wanted because of the number c; blocks of 0 are as is cheap."""

    c: int
    n_q: int = 2
    n_k: int = 37
    splits: int = 2
    keys: int = 20
    heads: int = 1
    strides: tuple[int, int] = (0, 0)  # of rows, of the Q-shaped and K-shaped tensors; 0 or too small: with some gap
    head_strides: tuple[int, int] = (0, 0)
    D: int = 16
    Br: int = 0
    Bc: int = 0
    Bs: int = 0
    half: bool = False
    around: float = 0.0  # data around this number and around its negative


def _of_split(c: int, computed: bool) -> Iterator[_Sizes]:
    yield _Sizes(c, n_k=2 * c + 5, keys=c, splits=4)
    yield _Sizes(c, n_k=c, keys=c + 1)
    yield _Sizes(c, n_q=1, n_k=c + 1, keys=c)
    yield _Sizes(c, n_q=3, splits=c + 2)
    yield _Sizes(c, n_q=min(c + 1, MOST_QUERIES), heads=2)
    yield _Sizes(c, n_q=min(c, MOST_QUERIES), n_k=c, keys=-(-c // 2), splits=3)
    yield _Sizes(c, heads=c + 2, n_k=5, keys=3)
    yield _Sizes(c, n_q=2, n_k=c + 17, keys=c + 1, strides=(c, c + 1), half=not computed)
    yield _Sizes(c, n_q=3, n_k=5, keys=3, heads=2, head_strides=(c, c + 1))
    if computed:
        return
    yield _Sizes(c, n_k=3 * c + 1, keys=c - 1, splits=5)
    yield _Sizes(c, splits=c, n_k=2 * c - 1, keys=2)
    yield _Sizes(c, splits=c + 1, n_k=c + 1, keys=1)
    for D in suspected.powers_around(c, 16, 1024):
        yield _Sizes(c, D=D)
    for Br in suspected.powers_around(c, 16, 512):
        yield _Sizes(c, n_q=Br - 3, Br=Br)
    for Bc in suspected.powers_around(c, 16, 512):
        yield _Sizes(c, n_k=Bc + 17, keys=Bc + 3, Bc=Bc)
    yield _Sizes(c, n_k=2 * c + 3, keys=c + 1, strides=(c + 1, c), half=True)
    yield _Sizes(c, heads=c, n_k=4, keys=3)
    yield _Sizes(c, n_k=4, keys=3, heads=2, head_strides=(c + 1, c))
    yield _Sizes(c, n_k=16 * c, keys=8 * c, Bc=16)


def _of_merge(c: int, computed: bool) -> Iterator[_Sizes]:
    yield _Sizes(c, splits=c)
    yield _Sizes(c, splits=c + 1)
    yield _Sizes(c, n_q=c + 1, splits=3, heads=2)
    yield _Sizes(c, heads=c + 2, splits=3)
    yield _Sizes(c, splits=3, strides=(c, 0), half=not computed)
    yield _Sizes(c, splits=3, heads=2, head_strides=(c, 0))
    if computed:
        return
    yield _Sizes(c, splits=c - 1)
    yield _Sizes(c, n_q=c, splits=2)
    yield _Sizes(c, n_q=c - 1, splits=4, half=True)
    yield _Sizes(c, heads=c, splits=2)
    for D in suspected.powers_around(c, 16, 1024):
        yield _Sizes(c, D=D, splits=5)
    for Bs in suspected.powers_around(c, 1, 1024):
        yield _Sizes(c, splits=Bs, Bs=Bs)
        yield _Sizes(c, splits=max(1, Bs // 2 + 1), Bs=Bs)
        yield _Sizes(c, splits=1, Bs=Bs)
    yield _Sizes(c, splits=3, strides=(c + 1, 0))
    yield _Sizes(c, splits=3, heads=2, head_strides=(c + 1, 0))


def _alone(c: int) -> Iterator[_Sizes]:
    yield _Sizes(c, n_q=1, n_k=c, keys=c, splits=1)
    yield _Sizes(c, n_q=min(c, MOST_QUERIES), n_k=1, keys=1, splits=1)
    yield _Sizes(c, n_q=1, n_k=c, keys=1, splits=c)


def _far(kernel: str) -> list[_Sizes]:
    if kernel == MERGE.name:
        return [_Sizes(9, n_q=1, splits=700), _Sizes(9, n_q=FAR_HEADS), _Sizes(9, n_q=1, heads=FAR_HEADS)]
    return [
        _Sizes(9, n_k=FAR_KEYS, keys=FAR_KEYS // 3, splits=4),
        _Sizes(9, n_k=FAR_SPLITS, keys=1, splits=FAR_SPLITS + 3),
        _Sizes(9, n_k=5, keys=3, heads=FAR_HEADS),
    ]


def _cases(kernel: str, draw: Draw, suspects: Suspects) -> list[Case]:
    around = suspected.Around(
        _of_merge if kernel == MERGE.name else _of_split,
        _alone,
        lambda number: iter([_Sizes(int(number), n_q=9, splits=5, around=number)]),
        pair=lambda a, b: _Sizes(a, n_q=2, n_k=a + b, keys=a, splits=b if kernel == MERGE.name else 2 + b // a),
        far=_far(kernel),
        small_blocks=[] if kernel == MERGE.name else [_Sizes(9, n_k=4200, keys=2100, Bc=16)],
    )
    return around.cases(suspects, lambda sizes: _wanted(kernel, draw, sizes))


def _wanted(kernel: str, draw: Draw, t: _Sizes) -> suspected.Wanted:
    merge = kernel == MERGE.name
    if not merge:  # every key is in some split
        t = replace(t, keys=max(1, t.keys), splits=max(t.splits, -(-t.n_k // max(1, t.keys))))
    Br = t.Br or max(16, suspected.power(t.n_q))
    Bc = t.Bc or min(128, max(16, suspected.power(-(-t.keys // 16))))
    Bs = t.Bs or suspected.power(t.splits)
    rows = [suspected.gap(stride, t.D) for stride in t.strides]
    of_heads = [
        suspected.gap(stride, n * (t.D + gap), FAR_APART)
        for stride, n, gap in zip(t.head_strides, (t.n_q, t.n_k), rows, strict=True)
    ]
    gaps = (rows[0], of_heads[0]), (rows[1], of_heads[1])
    shape = Shape(t.n_q, t.n_k, t.D, *((1, 1) if merge else (Br, Bc)), t.heads, *gaps)
    along = t.n_q if merge else t.splits
    some = [suspected.some(count, t.c) or tuple(range(count)) for count in (along, t.heads)]
    dtype = np.float16 if t.half else np.float32

    def make(name: str) -> Case:
        random = draw.case(f"{kernel} {name} {t}")
        if merge:
            parts = drawn_parts(random, shape, t.splits)
            if t.around:
                lse = _levels(t.around, parts.lse.shape)
                parts = replace(parts, lse=lse, o=(parts.o + np.sign(parts.o) * min(t.around, 1e6)).astype(np.float32))
            case = launch_merge(name, PROVES[kernel], shape, Bs, parts, dtype)
        else:
            inputs = normal_inputs(random, shape, dtype)
            inputs = around_number(inputs, t.around) if t.around else inputs
            case = launch_split(name, PROVES[kernel], shape, Cut(t.splits, t.keys), inputs)
        return of_programs(case, some[0], some[1]) if len(some[0]) * len(some[1]) < along * t.heads else case

    programs = len(some[0]) * len(some[1])
    tiles = 1 if merge else min(programs * -(-t.keys // Bc), len(some[1]) * (len(some[0]) + -(-t.n_k // Bc)))
    block = Bs * t.D if merge else Br * Bc * t.D / 16
    milliseconds = programs * 0.7 + tiles * (0.5 + block / 400_000) + 0.05 * t.splits
    elements = t.heads * max((t.n_q + t.n_k) * t.D, t.splits * t.n_q * t.D)
    touched = programs * t.D * (Bs if merge else 2 * Br) + tiles * 2 * Bc * t.D
    return suspected.Wanted((kernel, replace(t, c=0)), milliseconds, elements, touched, make)


def _levels(number: float, shape: tuple[int, ...]) -> Array:
    """LSEs from -2 to 2 times the number, along the queries, and a little apart in each query."""
    levels = np.linspace(-2 * number, 2 * number, shape[-1])
    return np.asarray(levels + 0.3 * np.arange(shape[0]).reshape(-1, 1, 1) + np.zeros(shape), np.float32)


SUSPECTED = Suspected(PROVES, _cases)
