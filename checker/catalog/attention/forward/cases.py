"""Cases of attention: sizes of every class, heads that lie everywhere, queries of every kind."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from checker.catalog.attention.launch import FAR_APART, FAR_ROW, Proves, Shape, sampled, some_heads
from checker.catalog.attention.reference import sees
from checker.catalog.attention.values import (
    LARGEST_ON_GPU,
    drawn_factor,
    hard_inputs,
    in_bf16,
    large_scores,
    long_sums,
    normal_inputs,
    scores_far_below,
)
from checker.catalog.cases import covering, orders
from checker.catalog.numbers import half_in_words, halves
from checker.course.case import Case
from checker.course.puzzle import Draw, Pictured

EVERY = "every size"
FAR, FURTHER = "heads more than 2**30 apart", "heads more than 2**31 apart"
FAR_HALF = f"fp16, {FAR}"
FAR_ROWS = "rows that span more than 2**32"
MANY_HEADS = Shape(5, 7, 16, 16, 16, 1001)  # more than 8 bits can count, of a tile each
LARGE_SIDE = 128  # of a tile
PLAIN = Shape(32, 32, 16, 16, 16, q_gaps=(0, 0), k_gaps=(0, 0))  # two by two whole tiles, one after the other
PICTURED = Shape(64, 64, 16, 16, 16)  # four by four tiles, for pictures
# On a GPU: a wide head, one of the usual width, and heads that lie far apart, where they take memory.
LARGE, NARROW = Shape(1061, 1109, 128, 32, 64, heads=2), Shape(700, 900, 64, 64, 64, heads=3)
FAR_HEADS = Shape(16, 16, 16, 16, 16, 3, (8, FAR_APART + 8), (16, FAR_APART + 24))
LONG = Shape(320, 320, 16, 64, 64, heads=2)  # five by five tiles, for rows that lie far apart
FAR_ON_GPU = Shape(160, 160, 16, 32, 32, q_gaps=(FAR_ROW, 0), k_gaps=(FAR_ROW + 16, 0))


class CaseMaker:
    """Makes the cases of a puzzle: sizes are drawn one after the other, values for each case by itself.

    `launch(name, proves, shape, inputs, once=..., **how)` is the puzzle's own.
    """

    def __init__(self, draw: Draw, launch: Callable[..., Case]) -> None:
        self.random, self.sizes, self._launch = draw.case, draw.case("sizes"), launch

    def some(self) -> int:
        """Return a number below 16, the smallest block."""
        return int(self.sizes.integers(1, 16))

    def shape(self, n_q: int, n_k: int, D: int = 16, Br: int = 16, Bc: int = 16, heads: int = 1, far: int = 0) -> Shape:
        """These sizes, laid out in a way that is drawn."""
        return Shape(n_q, n_k, D, Br, Bc, heads).apart(self.sizes, far)

    def normal(
        self,
        name: str,
        proves: Proves,
        shape: Shape,
        dtype: type[Any] = np.float32,
        once: bool = False,
        unit_scale: bool = False,
        **how: Any,
    ) -> Case:
        """Return a launch on normal inputs; if it is chosen for its sizes, with a scale of any size."""
        source = self.random(f"{name} {shape.n_q} {shape.n_k}")
        factor = drawn_factor(self.sizes, dtype) if once else 1.0
        inputs = normal_inputs(source, shape, dtype, factor, unit_scale)
        return self._launch(name, proves, shape, inputs, once=once, **how)

    def hard(self, name: str, proves: Proves, shape: Shape, huge: float = 300.0, **how: Any) -> Case:
        """Return a launch on queries of every kind."""
        return self._launch(name, proves, shape, hard_inputs(self.random(name), shape, huge=huge), **how)

    def far_cases(self, size: int, *masks: dict[str, Any]) -> list[Case]:
        """Heads so far apart that offsets pass the range of 32-bit integers, under each mask, and strides that do."""
        far = [self.shape(size, size, heads=6, far=FAR_APART) for _ in masks]
        half, further = self.shape(16, 16, heads=6, far=FAR_APART), self.shape(16, 16, heads=2, far=2 * FAR_APART)
        return [
            *(self.normal(FAR, "far-offsets", shape, **mask) for shape, mask in zip(far, masks, strict=True)),
            self.normal(FAR_HALF, "far-offsets", half, np.float16, **masks[-1]),
            self.normal(FURTHER, "far-offsets", further, **masks[0]),
        ]

    def far_rows(self, **how: Any) -> Case:
        """Return a launch whose rows lie so far apart that offsets pass the range of 32-bit integers, but not in one
        tile.
        """
        return first_and_last(self.normal(FAR_ROWS, "far-offsets", LONG.with_far_rows(self.random("far rows")), **how))

    def plain_cases(
        self, values: str = "values", sizes: str = "any-length", whole: Shape = PLAIN, **how: Any
    ) -> list[Case]:
        """Return what each property is about and nothing else: whole tiles, of one head, without gaps.

        `values` and `sizes`: the properties of queries of every kind, and of any number of queries and keys.
        """
        tails, heads = replace(whole, n_q=whole.n_q - 7, n_k=whole.n_k - 7), replace(whole, heads=2).apart(self.sizes)
        return [
            self.hard("every kind of query, of whole tiles", values, whole, once=True, **how),
            self.normal("a tail of both, of one head", sizes, tails, once=True, **how),
            self.normal("two heads of whole tiles", "heads", heads, once=True, **how),
            self.normal("fp16, whole tiles", "half", whole, np.float16, once=True, **how),
        ]

    def plain_causal(self, **how: Any) -> list[Case]:
        """Causal attention and nothing else; and queries that see no key."""
        more_queries = replace(PLAIN, n_k=16)
        return [
            self.normal("whole tiles of one head", "causal", PLAIN, causal=True, once=True, **how),
            self.normal("whole tiles of one head", "hidden-queries", more_queries, causal=True, once=True, **how),
        ]

    def many_heads(self) -> Case:
        """More heads than 8 bits can count, of which some are run."""
        return some_heads(self.normal("many heads", "heads", MANY_HEADS.apart(self.sizes), once=True), self.sizes)

    def every_class(self, proves: str, **mask: bool) -> list[Case]:
        """Return the launches of `of_every_class`; `mask`: `causal`, if the puzzle has both."""
        causal, made = mask.get("causal", False), []
        for c in of_every_class(self.sizes, causal=causal):
            of = c.proves("hidden-queries" if causal and c.shape.n_q > c.shape.n_k else proves)
            made.append(self.normal(c.name, of, c.shape, c.dtype, once=True, unit_scale=c.unit_scale, **mask))
        return made

    def every_order(self, made: list[Case], full: str = "any-length", causal: str = "") -> list[Case]:
        """Launches of `of_every_order` besides these; what a full and a causal one prove."""
        return [
            self.normal(c.name, c.proves(causal if mask else full), c.shape, c.dtype, once=True, **_mask(mask))
            for c, mask in of_every_order(made, self.sizes)
        ]

    def far_below(self, n_q: int = 32, **how: Any) -> Case:
        """Return a launch whose scores lie far below that of one key, or hardly rise, in a hundred tiles."""
        random = self.random("far below")
        shape = Shape(n_q, 11_000 + int(random.integers(1, 200)), 16, 16, 128)
        inputs = scores_far_below(random, shape)
        made = self._launch("all scores but one far below it", "values", shape, inputs, once=True, **how)
        return replace(made, informative=False)

    def long_sum(self, **mask: bool) -> Case:
        """fp16 inputs that show what is added up in half: many small terms."""
        random = self.random("long sum")
        shape = Shape(16, 384, 16, 16, 16).apart(random)
        sums = long_sums(random, shape)
        return self._launch("fp16, a sum of small terms", "half", shape, sums, once=True, **mask)

    def on_gpu(self, **mask: bool) -> list[Case]:
        """Launches for a GPU alone: heads of the usual width in bf16, large scores, heads that lie far apart."""
        some = Shape(17, 40, 16, 16, 16)
        large = large_scores(self.random("large"), some, LARGEST_ON_GPU)
        return [
            self._launch("large scores", "any-length", some, large, **mask),
            self.large("bf16", "bf16", "half", NARROW, bf16=True, **mask),
            self.large("far", FAR, "far-offsets", FAR_HEADS),
            self.large("far rows", FAR_ROWS, "far-offsets", FAR_ON_GPU),
        ]

    def large(self, seed: str, name: str, proves: str, shape: Shape, bf16: bool = False, **how: Any) -> Case:
        """Return a launch for a GPU in fp16, or in bf16, with inputs drawn for `seed`."""
        inputs = normal_inputs(self.random(seed), shape, np.float32 if bf16 else np.float16)
        return self._launch(name, proves, shape, in_bf16(inputs) if bf16 else inputs, **how)


def first_and_last(case: Case) -> Case:
    """Return the launch with only the last of its heads, and where a tile is a program the first and the last one."""
    tiles = (0, case.grid[0] - 1) if len(case.grid) > 1 else None
    return sampled(case, tiles, (case.grid[-1] - 1,))


def pictured(launch: Callable[..., Case], beside: str | None = None, **how: Any) -> Pictured:
    """For pictures: four by four tiles, next to those of another puzzle if there is one."""

    def cases(draw: Draw) -> list[Case]:
        return [launch("four by four tiles", (), PICTURED, normal_inputs(draw.case("pictured"), PICTURED), **how)]

    return Pictured(cases, sees=sees, beside=beside)


@dataclass(frozen=True)
class Chosen:
    """A launch by construction: its shape, the type of its inputs, and whether its scale is 1."""

    shape: Shape
    dtype: type[Any]
    unit_scale: bool

    @property
    def name(self) -> str:
        """What a report calls the case."""
        return f"{EVERY}, {word}" if (word := half_in_words(self.dtype)) else EVERY

    def proves(self, otherwise: str) -> str:
        """Return the property that it is evidence for: that of its type, but for queries that see no key, or of its
        sizes.
        """
        return "half" if self.dtype is not np.float32 and otherwise != "hidden-queries" else otherwise


def of_every_class(random: np.random.Generator, *, causal: bool) -> list[Chosen]:
    """Small launches of all classes that the design asks for, with every pair of what else they may have."""
    design = covering.CAUSAL if causal else covering.FULL
    sizes = sorted({covering.drawn(stored, causal, random) for stored in design}, key=lambda s: (s[0] > s[1], s))
    made, half, wide = [], halves(), itertools.cycle((64, 32))
    for (n_q, n_k, Br, Bc), (layout, on) in zip(sizes, covering.besides(len(sizes), random), strict=True):
        heads, D = 2 if on & covering.HEADS else 1, next(wide) if on & covering.WIDE else 16
        shape = Shape(n_q, n_k, D, Br, Bc, heads).apart(random, layout=layout)
        made.append(Chosen(shape, next(half) if on & covering.HALF else np.float32, bool(on & covering.SWITCH)))
    return made


def _mask(causal: bool | None) -> dict[str, bool]:
    """As a launch of a puzzle takes it that has both masks, or one."""
    return {} if causal is None else {"causal": causal}


def of_every_order(
    made: Sequence[Case], random: np.random.Generator, *, large: bool = True
) -> list[tuple[Chosen, bool | None]]:
    """Launches in which D, Br and Bc are as long, one next to the other, as in none of these; each with its mask.

    They are small; `large`: but for two with tiles of 128 queries and keys, one in fp32, one in half, under each mask.
    """
    switch = "CAUSAL" if "CAUSAL" in made[0].constexprs else ""
    wanted = [*orders.missing(made, ("D", "Br", "Bc"), switch)]
    if large:
        masks = (False, True) if switch else (None, None)
        wanted += [((16, LARGE_SIDE, LARGE_SIDE), *of) for of in zip(masks, (np.float32, np.float16), strict=True)]
    chosen = []
    for (D, Br, Bc), on, dtype in wanted:
        n_q, n_k = (int(random.integers(side // 2 + 1, side)) for side in (Br, Br + Bc))
        shape = Shape(n_q, max(n_q, n_k), D, Br, Bc).apart(random)
        chosen.append((Chosen(shape, dtype, False), on))
    return chosen


def of_other_blocks(random: np.random.Generator) -> list[Shape]:
    """n_k a multiple of Br and not of Bc, n_q one of Bc and not of Br; heads interleaved in Q or in K alone."""
    n_q, n_k = (int(n) for n in random.integers(17, 31, 2))
    wide, tall = Shape(n_q, 48, 16, 16, 32, 2), Shape(48, 48 + n_k, 16, 32, 16, 2)
    return [wide.interleaved(random, k=False), tall.interleaved(random, q=False)]
