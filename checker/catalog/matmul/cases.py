"""Cases of a product of matrices: sizes of every class, rows of every kind, rows that lie anywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from checker.catalog.cases import covering, orders
from checker.catalog.matmul.launch import FAR_APART, Proves, Shape, launch, sampled
from checker.catalog.numbers import BF16, as_type, half_in_words, halves
from checker.catalog.softmax.cases import SMALL_TERM
from checker.course.case import Array, Case, as_bf16
from checker.course.kernel import Kernel
from checker.course.puzzle import Draw, Pictured

# Blocks of the launches of every class: square, and each side the longest and the shortest.
BLOCKS = ((16, 16, 16), (16, 32, 16), (32, 16, 32), (16, 16, 32))

LARGEST_HALF = 50_000.0  # of an entry of C in fp16, which ends at 65504


def normal_matrices(
    random: np.random.Generator, shape: Shape, dtype: npt.DTypeLike = np.float32
) -> tuple[Array, Array]:
    """Standard normal A and B; one row of A holds one number throughout, and one of B holds 0: rows like any other."""
    a, b = (as_type(random.normal(0.0, 1.0, (rows, shape.k)), dtype) for rows in (shape.m, shape.n))
    for x, number in ((a, 0.5), (b, 0.0)):
        if len(x) > 4:
            x[int(random.integers(len(x)))] = number
    return a, b


def hard_matrices(
    random: np.random.Generator, shape: Shape, dtype: npt.DTypeLike, large: float
) -> tuple[Array, Array, tuple[str, ...]]:
    """Return a and B with rows of every kind, one after the other, and what those of A hold.

    Some sums pass 65504, which is where fp16 ends, before they come back. In fp16, no entry of C does.
    """
    m, n, k = shape.m, shape.n, shape.k
    columns = np.arange(k)

    def normal(sigma: float = 1.0) -> Array:
        return random.normal(0.0, sigma, k)

    def one_hot(column: int) -> Array:
        return np.where(columns == column, 1.0, 0.0)

    of_a = {
        "normal": normal(),
        "all 0": np.zeros(k),
        "all negative": -np.abs(normal()),
        "large": normal(large),
        "small": normal(1e-3),
        "1 in the first tile, else 0": one_hot(int(random.integers(min(shape.Bk, k)))),
        "1 at the end, else 0": one_hot(k - 1),
        "all equal": np.full(k, float(random.integers(2, 9))),
        "ascending": np.linspace(-4.0, 8.0, k),
        "all 200": np.full(k, 200.0),
    }
    of_b = [
        normal(),
        np.where(columns < k // 2, 200.0, -200.0),
        np.abs(normal()),
        normal(large / 8),
        one_hot(k - 1),
        np.linspace(3.0, -2.0, k),
        normal(0.01),
    ]
    kinds = [*of_a]
    a = np.stack([of_a[kinds[row % len(kinds)]] for row in range(m)])
    b = np.stack([of_b[row % len(of_b)] for row in range(n)])
    if dtype == np.float16:
        a /= np.maximum(1.0, np.abs(a @ b.T).max(axis=1, keepdims=True) / LARGEST_HALF)
    return a.astype(dtype), b.astype(dtype), tuple(kinds[row % len(kinds)] for row in range(m))


@dataclass(frozen=True)
class CaseMaker:
    """Makes the cases of a kernel. Values are drawn for each case by itself, sizes one after the other from `sizes`."""

    kernel: Kernel
    draw: Draw
    sizes: np.random.Generator

    def some(self) -> int:
        """Return a number below 16, the smallest block."""
        return int(self.sizes.integers(2, 16))

    def launch(self, name: str, proves: Proves, shape: Shape, *matrices: Any, **how: Any) -> Case:
        """Return a launch with these matrices."""
        return launch(self.kernel, name, proves, shape, *matrices, **how)

    def normal(
        self, name: str, proves: Proves, shape: Shape, dtype: npt.DTypeLike = np.float32, once: bool = False
    ) -> Case:
        """Return a launch on normal matrices, which lie in a way that is drawn."""
        random = self.draw.case(f"{name} {shape}")
        return self.launch(name, proves, shape.apart(random), *normal_matrices(random, shape, dtype), once=once)

    def hard(self, name: str, proves: Proves, shape: Shape, dtype: npt.DTypeLike, large: float, **how: Any) -> Case:
        """Return a launch on rows of every kind."""
        random = self.draw.case(name)
        return self.launch(name, proves, shape.apart(random), *hard_matrices(random, shape, dtype, large), **how)

    def plain_cases(self) -> list[Case]:
        """Return what each property is about and nothing else: whole tiles, and rows without gaps."""
        random, whole = self.draw.case("plain"), Shape(48, 32, 32, gaps=(0, 0, 0))

        def case(name: str, proves: str, shape: Shape, dtype: npt.DTypeLike = np.float32) -> Case:
            return self.launch(name, proves, shape, *normal_matrices(random, shape, dtype), once=True)

        every = hard_matrices(random, whole, np.float32, 1e4)
        return [
            self.launch("every kind of row, of whole tiles", "values", whole, *every, once=True),
            case("tails along m and n alone", "any-size", replace(whole, m=41, n=23)),
            case("a tail along k alone", "any-k", replace(whole, k=39)),
            case("whole tiles, strided", "strides", whole.apart(random)),
            case("fp16, whole tiles", "half", whole, np.float16),
        ]

    def far_cases(self) -> list[Case]:
        """Rows so far apart that offsets pass the range of 32-bit integers, in fp32 and fp16; and strides that do."""
        random, six = self.draw.case("far"), Shape(6, 6, 16 + self.some())
        made = []
        for name, dtype, far in (
            ("rows more than 2**30 apart", np.float32, FAR_APART),
            ("fp16, rows more than 2**30 apart", np.float16, FAR_APART),
            ("rows more than 2**31 apart", np.float32, 2 * FAR_APART),
        ):
            matrices = normal_matrices(random, six, dtype)
            made.append(self.launch(name, "far-rows", six.apart(random, far), *matrices))
        return made

    def of_every_class(self) -> list[Case]:
        """Sizes of every class by their blocks, in one tile and in several, with matrices that lie in every way.

        An orthogonal array: of the classes of m, n and k, whether each has several tiles, and the blocks, every pair
        occurs. Its columns are r, c, r + c and two more sums, in the field of four elements.
        """
        made, half = [], halves()
        twice = (0, 2, 3, 1)  # times the element 2
        rows = [(r, c, r ^ c, r ^ twice[c], r ^ twice[twice[c]]) for r in range(4) for c in range(4)]
        for (*classes, several, blocks), (layout, on) in zip(rows, self._besides(len(rows)), strict=True):
            long = several & 1, several >> 1, (several & 1) ^ (several >> 1)
            Bm, Bn, Bk = BLOCKS[blocks]
            m, n, k = (
                covering.lengths(block, self.sizes)[one + 4 * more]
                for block, one, more in zip((Bm, Bn, Bk), classes, long, strict=True)
            )
            a_gap, b_gap = covering.gaps(layout, self.sizes)
            c_gap = int(self.sizes.choice([0, a_gap, self.some()]))
            shape = Shape(m, n, k, Bm, Bn, Bk, (a_gap, b_gap, c_gap))
            made.append(self._of_size(shape, next(half) if on & covering.HALF else np.float32))
        return made

    def of_every_order(self, made: list[Case]) -> list[Case]:
        """Small launches in which the tile's sides are as long, one next to the other, as in none of these."""
        found = []
        for (Bm, Bn, Bk), _, dtype in orders.missing(made, ("Bm", "Bn", "Bk")):
            m, n, k = (side + self.some() - 8 for side in (Bm, Bn, Bk))
            found.append(self._of_size(Shape(m, n, k, Bm, Bn, Bk), dtype))
        return found

    def _of_size(self, shape: Shape, dtype: type[Any]) -> Case:
        """Return a launch that is chosen for its sizes."""
        name = "every size" + (f", {word}" if (word := half_in_words(dtype)) else "")
        proves = "half" if word else "any-k" if shape.k % shape.Bk else "any-size"
        matrices = normal_matrices(self.sizes, shape, dtype)
        return self.launch(name, proves, shape, *matrices, once=True, bf16=dtype is BF16)

    def _besides(self, count: int) -> list[tuple[int, int]]:
        return covering.besides(count, self.sizes)

    def long_sum(self) -> Case:
        """fp16 sums of many small terms: in half, all but those of the first two tiles are lost."""
        random, shape = self.draw.case("long sum"), Shape(16, 16, 384)
        b = np.exp(random.normal(SMALL_TERM, 0.05, (shape.n, shape.k)))
        b[:, : 2 * shape.Bk] = 1.0
        ones = np.ones((shape.m, shape.k), np.float16)
        return self.launch("fp16, a sum of small terms", "half", shape, ones, b.astype(np.float16), once=True)

    def many_tiles(self) -> list[Case]:
        """More than 16 steps, or tiles a side; and more rows than 16 bits can count, of which some are run."""
        normal, some = partial(self.normal, once=True), self.some
        last = 8500 + 10 * some()
        tall, wide = (16 * last + some(), some(), some()), (some(), 16 * last + some(), some())
        few = 0, int(self.sizes.integers(4200, 8000)), last
        return [
            normal("many steps", "any-k", Shape(some(), some(), 290 + some())),
            sampled(normal("many of both", "any-size", Shape(290 + some(), 275 + some(), 20)), (0, 18), (0, 17)),
            sampled(normal(f"row tiles {few}", "any-size", Shape(*tall)), few, (0,)),
            sampled(normal(f"column tiles {few}", "any-size", Shape(*wide)), (0,), few),
        ]

    def of_real_size(self) -> list[Case]:
        """Return the largest tiles that are timed, in fp16; and large ones in fp32."""
        normal, some = partial(self.normal, once=True), self.some
        return [
            normal("real tiles", "any-size", Shape(64 + some(), 128 + some(), 70 + some(), 64, 64, 32)),
            normal("real tiles", "half", Shape(128 + some(), 128, 128 + some(), 128, 128, 64), np.float16),
            normal("tall tiles", "any-size", Shape(140 + some(), 20 + some(), 30 + some(), 128, 16, 16)),
            normal("wide tiles", "half", Shape(20 + some(), 140 + some(), 30 + some(), 16, 128, 16), np.float16),
            normal("deep tiles", "any-k", Shape(20 + some(), 20 + some(), 140 + some(), 16, 16, 128)),
        ]


def large_cases(kernel: Kernel, draw: Draw) -> list[Case]:
    """For a GPU: large matrices, bf16, and rows that lie far apart."""
    large, half = Shape(1037, 1109, 1061, 128, 128, 64), Shape(700, 900, 515, 64, 128, 32)
    a, b = normal_matrices(draw.case("bf16"), half)
    return [
        launch(kernel, "large matrices", "any-size", large, *normal_matrices(draw.case("large"), large, np.float16)),
        launch(kernel, "bf16", "half", half, as_bf16(a), as_bf16(b), bf16=True),
        CaseMaker(kernel, draw, draw.case("sizes")).far_cases()[1],
    ]


def pictured(kernel: Kernel) -> Pictured:
    """For pictures: C has three by three tiles, and k three steps."""
    shape = Shape(45, 48, 48)

    def cases(draw: Draw) -> list[Case]:
        return [launch(kernel, "three by three tiles", (), shape, *normal_matrices(draw.case("pictured"), shape))]

    return Pictured(cases)
