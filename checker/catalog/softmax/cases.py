"""Cases of a row-wise softmax: rows of every kind of value, of every length, at every distance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from checker.catalog.cases import covering, orders
from checker.catalog.numbers import BF16, as_type, half_in_words, halves
from checker.catalog.softmax.launch import (
    FAR_APART,
    Launcher,
    Proves,
    equal_gaps,
    launch,
    sampled,
    unequal_gaps,
    width_of,
)
from checker.course.case import Array, Case, as_bf16
from checker.course.kernel import Kernel
from checker.course.puzzle import Draw, Pictured

RISE, RISE_IN_FP16 = 89.0, 11.2  # their exponentials are just more than fp32 and fp16 can hold
CREEPING = 4e-6  # a maximum that grows by as much from block to block is to be followed
SMALL_TERM = np.log(0.9 * 2.0**-10)  # a block of its exponentials, added to two blocks of ones in fp16, is lost


def hard_rows(random: np.random.Generator, n: int, block: int, offset: float = 1e4) -> dict[str, Array]:
    """Rows of more than three blocks, as a safe softmax must be able to do them; name → values."""
    columns = np.arange(n)

    def normal(sigma: float = 1.0, mean: float = 0.0) -> Array:
        return random.normal(mean, sigma, n)

    def peak(position: int) -> Array:
        return np.where(columns == position, 150.0, normal())  # exp(150) is infinite: a maximum that misses it shows

    return {
        "normal, sigma 1": np.where(columns == 3, 0.0, normal()),  # a 0 is a number like any other
        "normal, sigma 4": normal(4.0),
        f"normal around +{offset:g}": normal(1.0, offset),
        f"normal around -{offset:g}": normal(1.0, -offset),
        "maximum in the first block": peak(int(random.integers(block))),
        "maximum in the middle": peak(block + int(random.integers(block))),
        "maximum in the last whole block": peak(n // block * block - 1 - int(random.integers(block))),
        "maximum in the tail": peak(n - 1),
        "ascending": np.linspace(-8, 8, n),
        "descending": np.linspace(8, -8, n),
        "all equal": np.full(n, float(random.integers(1, 9))),
        "one entry -inf": np.where(columns == random.integers(n), -np.inf, normal()),
        "one-hot": np.where(columns == random.integers(n), 30.0, -30.0),
        "normal around -20": normal(1.0, -20.0),
        "steeply ascending": np.linspace(-9 * offset, 9 * offset, n),
        "steeply descending": np.linspace(9 * offset, -9 * offset, n),
        "small whole numbers": random.integers(-3, 4, n).astype(float),
        "0, then around -200": np.where(columns == 0, 0.0, normal(1.0, -200.0)),
        f"normal around -{10 * offset:g}": normal(1.0, -10 * offset),
        "several at the maximum, far above 0": _shared_maximum(random, columns, offset),
    }


def _shared_maximum(random: np.random.Generator, columns: Array, offset: float) -> Array:
    """Return a row of which 3, 6 or 9 columns share a maximum of 7 to 9 times `offset`; the others are small.

    From 65536 up to twice that, fp32 has the multiples of 1/128. The logarithms of these counts, natural or in base 2,
    are at least an eighth of that away from one. (That of 4 in base 2 is a whole number.)
    """
    top, several = offset * int(random.integers(7, 10)), int(random.choice([3, 9, 6]))
    return np.where((columns > 0) & (columns <= several), top, random.normal(0.0, 1.0, len(columns)))


@dataclass(frozen=True)
class CaseMaker:
    """Makes the cases of one kernel, with blocks of these sizes, from what is drawn for each."""

    kernel: Kernel
    draw: Draw
    blocks: Mapping[str, int]
    launcher: Launcher = launch  # what is launched on the rows

    @property
    def width(self) -> int:
        """Columns of a block."""
        return width_of(self.blocks)

    @property
    def owned(self) -> int:
        """Rows of a program."""
        return self.blocks.get("BLOCK_ROWS", 1)

    def resized(self, width: int, owned: int = 0) -> CaseMaker:
        """Return the same with other blocks: of so many columns, and of so many rows where a block may have several."""
        *of_rows, of_columns = self.blocks
        rows = dict.fromkeys(of_rows, owned) if owned else {}
        return replace(self, blocks={**self.blocks, **rows, of_columns: width})

    def launch(self, name: str, proves: Proves, x: Array, gaps: tuple[int, int], **how: Any) -> Case:
        """Return a launch on these rows."""
        return self.launcher(self.kernel, name, proves, x, self.blocks, gaps=gaps, **how)

    def normal(self, name: str, count: int, n: int) -> Array:
        """Rows of normal numbers with sigma 2, drawn for the case of this name."""
        return _normal(self.draw.case(name), (count, n))

    def safe_cases(self) -> list[Case]:
        """Cases of every softmax that subtracts the maximum and walks its rows in blocks of columns.

        They prove the properties `values`, `any-length`, `strides`, `half`, `far-rows` and `traffic`.
        """
        block, normal = self.width, self.normal
        kinds = hard_rows(self.draw.case("kinds"), 3 * block + 1, block)
        half = hard_rows(self.draw.case("half"), 2 * block + 3, block, offset=200.0)
        of_half = ("normal, sigma 1", "maximum in the tail", "normal around +200")
        gaps = self.draw.case("gaps")

        def case(name: str, proves: Proves, x: Array, apart: tuple[int, int] | None = None, **how: Any) -> Case:
            alike = equal_gaps(gaps)  # drawn for every case, so that none depends on how others lie
            return self.launch(name, proves, x, apart or alike, **how)

        low = normal("low", 2, 3 * block) - np.array([[500], [5000]], np.float32)
        whole = np.concatenate([normal("whole", 2, 3 * block), low])
        short = normal("short", 4, block - 7) + np.array([[0], [0], [500], [-5000]], np.float32)
        every, fp16 = stacked(kinds), stacked(half, np.float16)
        huge = np.array([[-2e12], [-2e28], [2e38]], np.float32).repeat(block + 5, 1)  # a maximum may start at -1e30
        few = stacked({kind: half[kind] for kind in of_half}, np.float16)
        return [
            case("three whole blocks", ("any-length", "traffic"), whole, (0, 0)),
            case("seven short of a block", "any-length", short),
            case("one short of two blocks", "any-length", normal("two", 2, 2 * block - 1), (0, 0)),
            case("a single column", "any-length", normal("one", 2, 1)),
            case("every kind of row", ("values", "traffic"), every, kinds=(*kinds,)),
            case("x and y strided differently", "strides", normal("strides", 3, 2 * block + 1), unequal_gaps(gaps)),
            case("fp16", "half", few, kinds=of_half),
            case("fp16, a single column", "half", normal("one", 2, 1).astype(np.float16), once=True),
            case("fp16, every kind of row", "half", fp16, once=True),
            *self.far_cases(block + 5),
            *self.plain_cases(kinds, 3 * block),
            *self.of_every_size(),
            *self.resized(1024)._of_real_size(),
            self.resized(1024)._far_below(),
            self.resized(4, owned=1)._many_blocks(),
            self.resized(1).launch("as many rows as columns", "any-length", normal("alike", 5, 5), (0, 0), once=True),
            self.tall_case(),
            self.launch("rows of one huge value", "values", huge, (0, 0), once=True),
        ]

    def plain_cases(self, kinds: Mapping[str, Array], n: int) -> list[Case]:
        """Return what each property is about and nothing else: whole blocks of columns and of rows, and rows without
        gaps.
        """
        random = self.draw.case("plain")
        count = 4 * self.owned

        def case(name: str, proves: str, gaps: tuple[int, int] = (0, 0), dtype: npt.DTypeLike = np.float32) -> Case:
            return self.launch(name, proves, _normal(random, (count, n), dtype), gaps, once=True)

        every = self._whole(stacked(kinds), n)
        return [
            self.launch("every kind of row, of whole blocks", "values", every, (0, 0), once=True),
            case("strided rows of whole blocks", "strides", unequal_gaps(random)),
            case("fp16, whole blocks", "half", dtype=np.float16),
        ]

    def _whole(self, x: Array, n: int) -> Array:
        """Return the first n columns of these rows, of which some come twice if they would leave a
        tile partly empty.
        """
        return np.asarray(x[np.arange(-(-len(x) // self.owned) * self.owned) % len(x), :n])

    def far_cases(self, longest: int = 5) -> list[Case]:
        """Rows whose offsets pass the range of 32-bit integers, in fp32 and fp16; and strides that pass it."""
        random = self.draw.case("far")
        further = self.far_case(random, name="rows more than 2**31 apart", far=2 * FAR_APART, n=self.width)
        return [
            self.far_case(random, n=longest),
            self.far_case(random, np.float16, "fp16, rows more than 2**30 apart"),
            replace(further, checked_arithmetic=False),
        ]

    def far_case(
        self,
        random: np.random.Generator,
        dtype: npt.DTypeLike = np.float32,
        name: str = "rows more than 2**30 apart",
        far: int = FAR_APART,
        n: int = 5,
    ) -> Case:
        """Six rows, so far apart that offsets pass the range of 32-bit integers, also of unsigned ones."""
        return self.launch(name, "far-rows", _normal(random, (6, n), dtype), unequal_gaps(random, far))

    def of_every_size(self) -> list[Case]:
        """Columns of every class by their block, in one and in several; with tiles of rows, rows of every class too.

        Between them x and y lie in every way that two tensors can, in fp32 and in half.
        """
        random = self.draw.case("lengths")
        columns = covering.lengths(self.width, random)
        if "BLOCK_ROWS" not in self.blocks:
            more = covering.lengths(self.width, random)[4:]  # so that two tensors lie in every way
            sizes = [(int(random.integers(1, 4)), n) for n in columns] + [(int(random.integers(4, 7)), n) for n in more]
        else:
            counts = covering.lengths(self.owned, random)
            of = [(row, column) for row in range(4) for column in range(4)]
            # Which of the two is long is arranged so that every pair of classes and lengths occurs.
            sizes = [(counts[r + 4 * ((r + c) % 2)], columns[c + 4 * ((r // 2 + c // 2) % 2)]) for r, c in of]
        made, half = [], halves()
        for (count, n), (layout, on) in zip(sizes, covering.besides(len(sizes), random), strict=True):
            tail = "row-tail" if count % self.owned else "any-length"
            dtype = next(half) if on & covering.HALF else np.float32
            made.append(self.of_length(tail, (count, n), layout, dtype, random))
        return list({case.name: case for case in made}.values())

    def of_every_order(self, made: list[Case]) -> list[Case]:
        """Launches in which a tile's sides are as long, one next to the other, as in none of these."""
        random = self.draw.case("orders")
        return [
            self.resized(width, owned).of_length("any-length", (owned + 3, width + 5), covering.DENSE, dtype, random)
            for (owned, width), _, dtype in orders.missing(made, ("BLOCK_ROWS", "BLOCK_COLS"))
        ]

    def of_length(
        self, proves: str, size: tuple[int, int], layout: int, dtype: npt.DTypeLike, random: np.random.Generator
    ) -> Case:
        """Rows of this size, with x and y in one of `covering`'s layouts; padding makes whole blocks of rows."""
        x = as_type(random.normal(0.0, 2.0, size), dtype)
        gaps = covering.gaps(layout, random)
        if layout in (covering.FIRST_PADDED, covering.SECOND_PADDED):
            whole = -size[1] % self.width or self.width
            gaps = (whole, 0) if layout == covering.FIRST_PADDED else (0, whole)
        word = half_in_words(dtype)
        name, of = (f"{word}, every length", "half") if word else ("every length", proves)
        return self.launch(name, of, x, gaps, once=True, bf16=dtype is BF16)

    def _of_real_size(self) -> list[Case]:
        """Rows of 20,000 columns in blocks as on a GPU, in fp32 and in fp16.

        One has its maximum near the end; one rises by `RISE` from block to block.
        """
        random, made = self.draw.case("real"), []
        for dtype, proves in ((np.float32, "any-length"), (np.float16, "half")):
            x = _normal(random, (3, 20_000 + int(random.integers(1, 400))), dtype)
            x[1, -int(random.integers(1, 3000))] = 150
            x[2] += (np.arange(x.shape[1]) // self.width * RISE).astype(dtype)
            made.append(self.launch(f"long rows, {np.dtype(dtype)}", proves, x, equal_gaps(random), once=True))
        return made

    def _far_below(self) -> Case:
        """Return rows with all but one column so far down that each counts for nothing, but all for something."""
        random = self.draw.case("far below")
        x = np.repeat([[-16.0], [-20.5]], 40_000 + int(random.integers(1, 400)), axis=1)
        x[:, 20_000] = 0.0
        made = self.launch("all but one far below it", "values", x.astype(np.float32), (0, 0), once=True)
        return replace(made, informative=False)

    def _many_blocks(self) -> Case:
        """Return two rows of more columns than blocks of 4 to the third power have; one rises, ever so slowly."""
        random = self.draw.case("blocks")
        x = _normal(random, (2, int(random.integers(290, 330))))
        x[1] = np.arange(x.shape[1]) // self.width * CREEPING
        return self.launch("many blocks", "any-length", x, equal_gaps(random), once=True)

    def tall_case(self) -> Case:
        """Return four programs of some 135,000 rows, more than 16 bits can count.

        A kernel that counts rows modulo a power of two, or 48, 100 or 1000, has two of them meet.
        """
        random, owned = self.draw.case("tall"), self.owned
        first = int(random.integers(4_000))
        programs = tuple((first + row) // owned for row in (0, 1 << 16, 120_000, 1 << 17))
        x = np.zeros((programs[-1] * owned + owned, int(random.integers(3, 9))), np.float32)
        for program in programs:
            own = slice(program * owned, (program + 1) * owned)
            x[own] = _normal(random, x[own].shape)
        name = f"programs {', '.join(map(str, programs))} of {programs[-1] + 1}"
        return sampled(self.launch(name, "any-length", x, (0, 0), once=True), programs)

    def long_sum_case(self) -> Case:
        """Return an fp16 row of 12 blocks and a tail whose sum is one of many small terms.

        In half, all but the first two blocks are lost. Proves the property `half`.
        """
        random = self.draw.case("long sum")
        x = random.normal(SMALL_TERM, 0.05, (1, 12 * self.width + 3))
        x[:, : 2 * self.width] = 0.0
        gaps = equal_gaps(random)
        return self.launch("fp16, a sum of small terms", "half", x.astype(np.float16), gaps, once=True)

    def empty_blocks(self) -> list[Case]:
        """Blocks of nothing but -inf, at the beginning of rows for the property `prefix`, and elsewhere; also in fp16.

        Where a program owns several rows, the row of many blocks has a program for itself.
        """
        random, block, gaps = self.draw.case("prefix"), self.width, (24, 24)
        x, columns = random.normal(0.0, 2.0, (4, 5 * block + 3)), np.arange(5 * block + 3)
        elsewhere = {
            "-inf in the second block": columns // block == 1,
            "-inf from the second block on": columns >= block,
            "-inf in blocks 2 and 4": np.isin(columns // block, [1, 3]),
            "-inf for a block and a half": (columns >= block + 2) & (columns < 5 * block // 2 + 2),
        }
        x[np.stack([*elsewhere.values()])] = -np.inf
        first = {
            "-inf for one block": block,
            "-inf for two blocks": 2 * block,
            "-inf for a block and a half": 3 * block // 2,
            "-inf for one block, then around -200": block,
        }
        begin = random.normal(0.0, 2.0, (len(first), 3 * block + 5))
        begin[-1] -= 200.0
        for row, length in enumerate(first.values()):
            begin[row, :length] = -np.inf
        long = np.where(np.arange(100) < 4 * int(random.integers(17, 22)), -np.inf, random.normal(0.0, 2.0, (1, 100)))
        whole = self._whole(begin, 3 * block).astype(np.float32)
        begin, half, kinds = begin.astype(np.float32), x.astype(np.float16), (*elsewhere,)
        return [
            self.launch("beginning with -inf", "prefix", begin, gaps, kinds=(*first,)),
            self.launch("whole blocks, beginning with -inf", "prefix", whole, (0, 0), once=True),
            self.resized(4, owned=1).launch("many blocks of -inf", "prefix", long.astype(np.float32), gaps, once=True),
            self.launch("blocks of -inf", "values", x.astype(np.float32), gaps, kinds=kinds),
            self.launch("fp16, blocks of -inf", "half", half, gaps, kinds=kinds, once=True),
            self.launch("fp16, beginning with -inf", "half", begin.astype(np.float16), gaps, once=True),
        ]


def _normal(random: np.random.Generator, shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> Array:
    return random.normal(0.0, 2.0, shape).astype(dtype)


def stacked(kinds: Mapping[str, Array], dtype: npt.DTypeLike = np.float32) -> Array:
    """Return one row of each kind, one below the other."""
    return np.stack([*kinds.values()]).astype(dtype)


def large_cases(
    kernel: Kernel, blocks: Callable[[int], Mapping[str, int]], launcher: Launcher = launch
) -> Callable[[Draw], list[Case]]:
    """For a GPU: long rows, many rows, far rows, bf16. `blocks(n)` are the constexprs for rows of n."""

    def cases(draw: Draw) -> list[Case]:
        def case(name: str, title: str, count: int, n: int, bf16: bool = False) -> Case:
            x = _normal(draw.case(name), (count, n))
            proves = "half" if bf16 else "any-length"
            return launcher(kernel, title, proves, as_bf16(x) if bf16 else x, blocks(n), bf16=bf16)

        return [
            case("long", "long rows", 5, 10_007),
            case("many", "many rows", 3001, 300),
            case("bf16", "bf16", 70, 2500, bf16=True),
            CaseMaker(kernel, draw, blocks(5), launcher).far_case(draw.case("far"), np.float16),
        ]

    return cases


def pictured(
    kernel: Kernel, name: str, shape: tuple[int, int], blocks: Mapping[str, int], launcher: Launcher = launch
) -> Pictured:
    """For pictures: one launch of rows and columns that the blocks divide, but for a tail of three."""

    def cases(draw: Draw) -> list[Case]:
        x = _normal(draw.case("pictured"), (shape[0], shape[1] - 3))
        return [launcher(kernel, name, (), x, blocks, gaps=(16, 40))]

    return Pictured(cases)
