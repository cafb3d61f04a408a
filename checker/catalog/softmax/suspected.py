"""Cases on both sides of the numbers in a softmax by rows: columns, rows, programs, strides, blocks, data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from checker.catalog.cases import suspected
from checker.catalog.softmax.launch import FAR_APART, Launcher, launch, sampled
from checker.course.case import Array, Case
from checker.course.puzzle import Draw, Kernel, Suspected

FAR_COLUMNS, FAR_ROWS, LONG = 200_003, 200_003, 100_003
MANY_BLOCKS = (70, 2), (150, 4), (600, 8)  # columns beyond any product of blocks, and the block
MANY, LARGEST = 12_003, 9  # columns in many blocks; steps in a row
LARGEST_BLOCK = 1 << 17
LARGEST_EXPONENT = 110  # e to that power, or to a little less a hundred thousand times, is beyond fp32


def suspected_rows(
    kernel: Kernel, whole: bool = False, largest: float = np.inf, launcher: Launcher = launch, transposed: bool = False
) -> Suspected:
    """For a kernel by rows. `whole`: a block holds a row; `largest`: absolute value of x; `transposed`: as y is."""
    of = partial(_Rows, blocks=kernel.constexprs, whole=whole, transposed=transposed)
    rows_of = "BLOCK_ROWS" in kernel.constexprs

    def size(c: int, computed: bool) -> Iterator[_Rows]:
        yield of(2, 2 * c + 5, c, half=not computed)
        yield of(1, c, c)
        yield of(2, c + 1, c, strides=(2 * c + 1, 3 * c + 2))
        few = 3 if c < FAR_ROWS else 1  # columns
        yield of(c + 1, few, c, strides=(c, c + 1), own=1)
        yield of(c, 3, c, strides=(c + 1, c), own=4)
        yield of(c + 1, c + 1, c)  # for products
        if rows_of:
            yield of(7 + c, 7, c, own=4)  # for differences
        if computed:
            return
        yield of(2, c - 1, c, strides=(3 * c - 1, 2 * c - 2))
        yield of(2 * c + 1, 3, c, strides=(c - 1, c), own=2)
        yield of(3, 5, c, strides=(2 * c + 7, c + 3))
        if rows_of:
            yield of(c - 1, 3, c, own=4)
        if not whole:
            for width in suspected.powers_around(c, 16, 1 << 15):
                yield of(2, 2 * width + 3, c, width=width)
            yield of(1, 16 * c, c, width=16)
            yield of(1, 16 * (c + 1) + 5, c, width=16)
        if rows_of:
            for own in suspected.powers_around(c, 1, 1 << 10):
                yield of(own + 1, 19, c, own=own, width=16)

    def value(number: float) -> Iterator[_Rows]:
        c = int(number)
        if number <= largest:
            yield of(9, 83, c, around=min(number, largest / 2), width=32)
        if whole:
            return
        if suspected.LEAST_DEPTH <= number <= suspected.LEAST_EXPONENT:
            yield of(2, LONG, c, below=number, own=2, width=8192)
            yield of(2, MANY, c, below=number + np.log(16), own=2, width=16)
        if number <= LARGEST_EXPONENT:
            yield of(2, LONG, c, step=number, own=2, width=8192)

    around = suspected.Around(
        size,
        lambda c: (of(1, c, c), of(c, 1, c, own=1), of(c + 1, 1, c, own=1)),  # the last has a program c
        value,
        pair=lambda a, b: of(b + 2, a + 2, b),
        far=[of(1, FAR_COLUMNS, 9), of(FAR_ROWS, 3, 9)],
        small_blocks=[] if whole else [of(1, n, 9, width=width) for n, width in MANY_BLOCKS],
    )
    return Suspected(
        {kernel.name: "any-length"},
        lambda _, draw, suspects: around.cases(suspects, lambda rows: _wanted(kernel, launcher, draw, rows)),
    )


@dataclass(frozen=True)
class _Rows:
    """A launch of a softmax that is wanted because of the number c."""

    rows: int
    n: int
    c: int
    blocks: tuple[str, ...]
    whole: bool
    strides: tuple[int, int] = (0, 0)  # of x and y; 0 or too small: with some gap
    own: int = 2  # rows of a program, where it can own several
    width: int = 0  # columns of a block; 0: as is cheap
    half: bool = False
    around: float = 0.0  # data around this number and around its negative; 0: data as usual
    step: float = 0.0  # from the first block to the others, or from each to the next: nearly this number
    below: float = 0.0  # all data just so far below the maximum, and a good deal further; 0: data as usual
    transposed: bool = field(default=False, repr=False)  # y has rows as columns; no part of what data are drawn from


def _wanted(kernel: Kernel, launcher: Launcher, draw: Draw, r: _Rows) -> suspected.Wanted:
    width = suspected.power(r.n) if r.whole else r.width or max(16, suspected.power(-(-r.n // 16)))
    own = r.own if "BLOCK_ROWS" in r.blocks else 1
    constexprs = dict(zip(r.blocks, (own, width) if "BLOCK_ROWS" in r.blocks else (width,), strict=True))
    count = -(-r.rows // own)
    programs = suspected.some(count, r.c)
    run = len(programs) or count
    steps = -(-r.n // width)
    widths = r.n, r.rows if r.transposed else r.n
    x_gap, y_gap = (suspected.gap(stride, width, FAR_APART) for stride, width in zip(r.strides, widths, strict=True))

    def make(name: str) -> Case:
        random = draw.case(f"{name} {r}")
        x = _data(random, r.around) if r.around else random.normal(0.0, 2.0, (r.rows, r.n))
        if r.below:
            x = np.repeat([[-r.below - 0.3], [-r.below - 3.0]], r.n, axis=1)
            x[:, int(random.integers(r.n))] = 0.0
        elif r.step:
            x = 0.98 * r.step * np.stack([np.minimum(np.arange(r.n) // width, most) for most in (1, LARGEST)])
        elif not r.around and r.rows == 2:
            x[1] = x[1, 0]  # then the sum of the exponentials is n_cols
        case = launcher(
            kernel, name, "any-length", x.astype(np.float16 if r.half else np.float32), constexprs, gaps=(x_gap, y_gap)
        )
        return sampled(case, programs) if programs else case

    rows_run = min(run * own, r.rows)
    milliseconds = run * (0.3 + steps * (0.5 + width * own / 30_000)) + r.rows * r.n / 20_000
    touched = 4 * rows_run * r.n if width * own <= LARGEST_BLOCK else suspected.MOST_TOUCHED + 1
    return suspected.Wanted(r if programs else replace(r, c=0), milliseconds, r.rows * r.n, touched, make)


def _data(random: np.random.Generator, around: float) -> Array:
    """Nine rows of 83 values on both sides of a number, of its negative, and of such distances from the maximum."""
    n = 83
    peak = np.zeros(n)
    peak[int(random.integers(n))] = 2 * around
    return np.stack(
        [
            random.normal(around, 1.0, n),
            random.normal(-around, 1.0, n),
            np.linspace(-2 * around, 2 * around, n),
            np.linspace(2 * around, 0, n),
            peak,
            np.linspace(-2 * around, -around / 2, n),
            np.full(n, around),
            random.normal(0.0, 1.0, n),
            random.normal(-0.95 * around, 0.01 * around, n),
        ]
    )
