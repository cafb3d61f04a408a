"""Cases on both sides of the numbers in an attention kernel: queries, keys, n_k - n_q, heads, strides, blocks, data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from checker.catalog.attention.launch import FAR_APART, Shape, sampled
from checker.catalog.attention.values import Inputs, normal_inputs
from checker.catalog.cases import suspected
from checker.course.case import Case
from checker.course.puzzle import Draw, Suspected, Suspects

FAR_TILES, FAR_HEADS, LONG = 14_009, 4_003, 10_007
MOST_OF_A_STEP = 1000  # between the scores of one tile and those of the next; a half holds them

Launch = Callable[[str, str, Shape, Inputs, bool, np.random.Generator], Case]
"""(kernel, name, shape, inputs, causal, random numbers for what else is needed) → the launch."""


def suspected_tiles(
    launch: Launch,
    proves: Mapping[str, str],
    both_masks: bool = False,
    by_head: bool = False,
    largest: float = np.inf,
    all_heads: Collection[str] = (),
) -> Suspected:
    """For attention. `both_masks`: full and causal, else it is what the puzzle has; `by_head`: a program is a head.

    `proves`: a property of each kernel; `largest`: absolute value that scores are around; `all_heads`: kernels that
    are full, and of which a program is a pair of tiles in all heads.
    """
    of = partial(_Tiles, by_head=by_head)
    masks = (True, False) if both_masks else (True,)

    def size(c: int, computed: bool) -> Iterator[_Tiles]:
        for causal in masks:
            yield of(c, n_q=1, n_k=c + 1, causal=causal)  # n_k - n_q is c
            yield of(c, n_q=c + 1, n_k=16, heads=2, causal=causal, strides=(c + 1, c))
        yield of(c, n_q=18, n_k=2 * c + 5, causal=True, half=not computed)
        yield of(c, n_q=17, n_k=c, strides=(c, c + 1))
        yield of(c, n_q=2, n_k=3, heads=c + 2, causal=True)
        yield of(c, n_q=3, n_k=2, heads=2, head_strides=(c, c + 1))
        yield of(c, n_q=c + 1, n_k=c + 1, causal=True)  # for products
        if computed:
            return
        yield of(c, n_q=16 * c + 19, n_k=18, Br=16)
        yield of(c, n_q=18, n_k=16 * c + 19, Bc=16)
        for D in suspected.powers_around(c, 16, 1024):
            yield of(c, n_q=19, n_k=37, D=D, causal=True)
        for Br in suspected.powers_around(c, 16, 512):
            yield of(c, n_q=Br + 3, n_k=Br + 17, Br=Br, causal=True)
        for Bc in suspected.powers_around(c, 16, 512):
            yield of(c, n_q=19, n_k=Bc + 17, Bc=Bc, causal=True)
        yield of(c, n_q=16, n_k=c - 1, causal=True, strides=(c - 1, c))
        yield of(c, n_q=18, n_k=c + 17, causal=True)
        yield of(c, n_q=16, n_k=c + 17, causal=True)
        yield of(c, n_q=c, n_k=17)
        yield of(c, n_q=c - 1, n_k=16, causal=True)
        yield of(c, n_q=c + 16, n_k=16, causal=True)
        yield of(c, n_q=2 * c + 5, n_k=20, half=True, causal=True)
        yield of(c, n_q=3, n_k=2, heads=c)
        yield of(c, n_q=2, n_k=3, heads=2, head_strides=(c + 1, c), causal=True)
        yield of(c, n_q=3, n_k=4, heads=2, head_strides=(c - 1, 2 * c + 3), causal=True)
        yield of(c, n_q=21 + c, n_k=21)  # for differences
        yield of(c, n_q=21, n_k=21 + c, causal=True)
        yield of(c, n_q=16 * c, n_k=16 * c, Br=16, Bc=16, causal=True)

    def value(number: float) -> Iterator[_Tiles]:
        c = int(number)
        yield of(c, n_q=19, n_k=37, around=min(number, largest))
        if number <= MOST_OF_A_STEP:
            yield of(c, n_q=64, n_k=37, step=number, Bc=16)
            yield of(c, n_q=65, n_k=37, step=number, Bc=16, half=True)
        if suspected.LEAST_DEPTH <= number <= suspected.LEAST_EXPONENT:
            yield of(c, n_q=3, n_k=LONG, below=number, Bc=128)

    small = ((3, 4200, 0, 16), (4200, 3, 16, 0))  # beyond 16 * 16 * 16
    around = suspected.Around(
        size,
        lambda c: (of(c, n_q=1, n_k=c), of(c, n_q=c, n_k=1)),
        value,
        pair=lambda a, b: of(a, n_q=b + 1, n_k=a + 1, causal=True),
        far=[
            of(9, n_q=1, n_k=FAR_TILES, causal=True),
            of(9, n_q=FAR_TILES, n_k=3, causal=True),
            of(9, n_q=2, n_k=3, heads=FAR_HEADS, causal=True),
        ],
        small_blocks=[of(9, n_q=n, n_k=m, Br=Br, Bc=Bc, causal=c) for n, m, Br, Bc in small for c in masks],
    )

    def cases(kernel: str, draw: Draw, suspects: Suspects) -> list[Case]:
        loops = kernel in all_heads
        return around.cases(
            suspects, lambda t: _wanted(launch, kernel, draw, replace(t, loops=loops, causal=t.causal and not loops))
        )

    return Suspected(proves, cases)


@dataclass(frozen=True)
class _Tiles:
    """A launch of attention that is wanted because of the number c."""

    c: int
    n_q: int
    n_k: int
    heads: int = 1
    causal: bool = False
    strides: tuple[int, int] = (0, 0)  # of rows, of the Q-shaped and K-shaped tensors; 0 or too small: with some gap
    head_strides: tuple[int, int] = (0, 0)
    D: int = 16
    Br: int = 0  # 0: as is cheap
    Bc: int = 0
    half: bool = False
    by_head: bool = False
    loops: bool = False  # a program is a pair of tiles, and goes over the heads
    around: float = 0.0  # scores and V around this number and around its negative; 0: as usual
    step: float = 0.0  # between the scores of the first tile of keys and those of the others, up to this number
    below: float = 0.0  # all scores just so far below the largest, and a good deal further


def _wanted(launch: Launch, kernel: str, draw: Draw, t: _Tiles) -> suspected.Wanted:
    Br, Bc = (block or min(128, max(16, suspected.power(-(-n // 16)))) for block, n in ((t.Br, t.n_q), (t.Bc, t.n_k)))
    rows = [suspected.gap(stride, t.D) for stride in t.strides]
    of_heads = [
        suspected.gap(stride, n * (t.D + gap), FAR_APART)
        for stride, n, gap in zip(t.head_strides, (t.n_q, t.n_k), rows, strict=True)
    ]
    shape = Shape(t.n_q, t.n_k, t.D, Br, Bc, t.heads, q_gaps=(rows[0], of_heads[0]), k_gaps=(rows[1], of_heads[1]))

    def make(name: str) -> Case:
        random = draw.case(f"{kernel} {name} {t}")
        inputs = normal_inputs(random, shape, np.float16 if t.half else np.float32)
        if t.around:
            inputs = around_number(inputs, t.around)
        elif t.step or t.below:
            inputs = _stepped(inputs, shape, t)
        else:
            inputs.q[:, 1:2] = 0.0  # all scores alike: then the sum of the exponentials is the number of keys
        return _sampled(launch(kernel, name, shape, inputs, t.causal, random), t.c)

    tiles, heads = (0 if t.by_head else max(shape.tr, shape.tc)), (1 if t.loops else t.heads)
    sampled = bool(suspected.some(tiles, t.c) or suspected.some(heads, t.c))
    run_tiles, run_heads = (len(suspected.some(count, t.c)) or count for count in (tiles, heads))
    run_heads = t.heads if t.loops else run_heads
    run = run_heads * (shape.tr * shape.tc if t.by_head else run_tiles * max(shape.tr, shape.tc))
    run = min(run, run_heads * shape.tr * shape.tc)
    milliseconds = run * (0.5 + Br * Bc * t.D / 400_000) + t.heads * t.n_q * t.n_k / 20_000
    elements = t.heads * max((t.n_q + t.n_k) * t.D, t.n_q * t.n_k)
    of_a_pair = 3 * Br if t.by_head else 2 * max(Br, Bc)  # rows that come and go for each pair of tiles
    touched = (run * of_a_pair + 3 * run_heads * (t.n_q + t.n_k)) * t.D
    return suspected.Wanted((kernel, t if sampled else replace(t, c=0)), milliseconds, elements, touched, make)


def around_number(inputs: Inputs, number: float) -> Inputs:
    """Scores from -2 to 2 times the number, the same along a query or not, and V on both sides of it."""
    q, k, v = inputs.q.copy(), inputs.k.copy(), inputs.v.copy()
    q[..., :2], k[..., :2] = 0.0, 1.0
    k[..., 1] = np.linspace(0.0, 1.0, k.shape[1])
    levels = np.linspace(-2 * number, 2 * number, q.shape[1]) / inputs.scale
    q[..., 0], q[..., 1] = levels, np.roll(levels, 5)
    v[..., 0], v[..., 1] = number + v[..., 0], -number + v[..., 1]
    return replace(inputs, q=q, k=k, v=v)


def _stepped(inputs: Inputs, shape: Shape, t: _Tiles) -> Inputs:
    """Scores of two levels: of the first tile of keys and of the rest, or of the first key and of the rest."""
    q, k = np.zeros_like(inputs.q), inputs.k.copy()
    k[..., 0] = np.arange(shape.n_k) >= (shape.Bc if t.step else 1)
    levels = np.linspace(0.0, 1.05 * t.step, shape.n_q) if t.step else -t.below - np.array([0.3, 1.0, 3.0])
    q[..., 0] = levels / inputs.scale
    return replace(inputs, q=q, k=k)


def _sampled(case: Case, c: int) -> Case:
    """Return the case with a few of its programs, if it has many. Where a program is a head, it is run as a whole."""
    some = [suspected.some(count, c) for count in case.grid]
    if not any(some):
        return case
    programs = [chosen or range(count) for chosen, count in zip(some, case.grid, strict=True)]
    return sampled(case, programs[0] if len(programs) > 1 else None, programs[-1])
