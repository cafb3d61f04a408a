"""Cases of splits and of their merge: sizes of every class, parts of every kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from checker.catalog.attention.forward.cases import (
    FAR,
    FAR_HALF,
    FAR_ROWS,
    FURTHER,
    LONG,
    MANY_HEADS,
    CaseMaker,
    Chosen,
    of_every_order,
)
from checker.catalog.attention.launch import FAR_APART, Proves, Shape, some_heads
from checker.catalog.attention.values import Inputs
from checker.catalog.cases import covering
from checker.catalog.numbers import halves
from checker.catalog.split.launch import Cut, Parts, is_split, launch_merge, launch_split
from checker.catalog.split.reference import right_splits
from checker.course.case import Case, Role
from checker.course.puzzle import Draw

NO_PART = -np.inf  # the LSE of a split without keys
KINDS = (
    "LSEs alike",
    "LSEs of any size",
    "LSEs around +200",
    "LSEs around -200",
    "one part outweighs all others",
    "the first part is empty",
    "the last part is empty",
    "all parts but one are empty",
)


class SplitCaseMaker(CaseMaker):
    """Makes the cases of both kernels."""

    def __init__(self, draw: Draw) -> None:
        super().__init__(draw, _launch_split)

    def parts(self, name: str, shape: Shape, splits: int) -> Parts:
        """Parts of every kind, one kind a query."""
        return drawn_parts(self.random(f"parts {name} {shape.n_q} {splits}"), shape, splits)

    def merge(
        self,
        name: str,
        proves: Proves,
        shape: Shape,
        splits: int,
        Bs: int,
        dtype: type[Any] = np.float32,
        once: bool = False,
    ) -> Case:
        """Return a launch of the merge, on parts of every kind."""
        return launch_merge(name, proves, shape, Bs, self.parts(name, shape, splits), dtype, once)

    def rows(self, n_q: int, D: int = 16, heads: int = 1, far: int = 0) -> Shape:
        """Return the rows of O that a merge writes, laid out in a way that is drawn."""
        return Shape(n_q, 1, D, 1, 1, heads).apart(self.sizes, far)

    def far_splits(self) -> list[Case]:
        """Heads of Q and K so far apart that offsets pass the range of 32-bit integers, and strides that do."""
        size = 16 + self.some()
        far = self.shape(self.some(), size, heads=6, far=FAR_APART)
        rows = replace(LONG, n_q=5, Br=16).with_far_rows(self.random("far rows"))
        half, further = self.shape(5, 16, heads=6, far=FAR_APART), self.shape(5, 16, heads=2, far=2 * FAR_APART)
        return [
            self.normal(FAR, "far-offsets", far, cut=Cut(3, 14)),
            self.normal(FAR_HALF, "far-offsets", half, np.float16, cut=Cut(1, 16)),
            self.normal(FURTHER, "far-offsets", further, cut=Cut(1, 16)),
            self.normal(FAR_ROWS, "far-offsets", rows, cut=Cut(2, 160)),
        ]

    def far_merges(self) -> list[Case]:
        """Return the same of O."""
        rows = Shape(LONG.n_q, 1, 16, 1, 1, LONG.heads).with_far_rows(self.random("far rows"))
        return [
            of_programs(self.merge(FAR_ROWS, "far-offsets", rows, 2, 2), (0, LONG.n_q - 1), (1,)),
            self.merge(FAR, "far-offsets", self.rows(2, heads=6, far=FAR_APART), 3, 4),
            self.merge(FAR_HALF, "far-offsets", self.rows(1, heads=6, far=FAR_APART), 2, 2, np.float16),
            self.merge(FURTHER, "far-offsets", self.rows(1, heads=2, far=2 * FAR_APART), 2, 2),
        ]

    def of_many_heads(self) -> list[Case]:
        """More heads than 8 bits can count, of which some are run."""
        split = self.normal("many heads", "heads", MANY_HEADS.apart(self.sizes), once=True, cut=Cut(2, 4))
        merge = self.merge("many heads", "heads", self.rows(1, heads=1001), 2, 2, once=True)
        return [some_heads(case, self.sizes) for case in (split, merge)]

    def every_split(self) -> list[Case]:
        """Return the launches of `of_every_class`."""
        return [
            self.normal(c.name, c.proves("any-length"), c.shape, c.dtype, once=True, unit_scale=c.unit_scale, cut=c.cut)
            for c in of_every_class(self.sizes)
        ]

    def split_in_every_order(self, made: list[Case]) -> list[Case]:
        """Launches in which D, Br and Bc are as long, one next to the other, as in none of these.

        None has large tiles: who decodes has a query or a few, and the largest tile is what is compiled for each GPU.
        """
        return [
            self.normal(c.name, c.proves("any-length"), c.shape, c.dtype, once=True, cut=Cut(2, c.shape.n_k - 9))
            for c, _ in of_every_order(made, self.sizes, large=False)
        ]

    def every_merge(self) -> list[Case]:
        """Return every number of parts up to four, and of each class by the block."""
        counts = [(1, 2), (2, 2), (3, 4), (4, 4), (1, 16), (9, 16), (15, 16), (16, 16), (17, 32)]
        layouts = covering.besides(len(counts), self.sizes)
        made, half = [], halves()
        for (splits, Bs), (layout, on) in zip(counts, layouts, strict=True):
            heads, D = 2 if on & covering.HEADS else 1, 64 if on & covering.WIDE else 16
            shape = Shape(1 + splits % 3, 1, D, 1, 1, heads).apart(self.sizes, layout=layout)
            dtype, of = (next(half), "half") if on & covering.HALF else (np.float32, "any-count")
            made.append(self.merge(f"{splits} of {Bs}", of, shape, splits, Bs, dtype, once=True))
        return made


def _launch_split(name: str, proves: Proves, shape: Shape, inputs: Inputs, once: bool = False, **how: Any) -> Case:
    return launch_split(name, proves, shape, how.get("cut", Cut(1, shape.n_k)), inputs, once)


def drawn_parts(random: np.random.Generator, shape: Shape, splits: int) -> Parts:
    """Parts of every kind, one query after the other; O is standard normal, and 300 times as large in one part.

    An empty part has O = 0. A query of a single part has no kind.
    """
    o = random.normal(0.0, 1.0, (splits, shape.heads, shape.n_q, shape.D))
    lse = random.normal(0.0, 1.0, o.shape[:3])
    o[int(random.integers(splits))] *= 300.0
    kinds, first = [], int(random.integers(len(KINDS))) if shape.n_q < len(KINDS) else 0
    for query in range(shape.n_q):
        kind = KINDS[(first + query) % len(KINDS)]
        of, one = lse[..., query], int(random.integers(splits))
        if kind == "LSEs alike":
            of[:] = of[:1] + random.choice([0.0, -3e5, -1e12])
        elif kind == "LSEs of any size":
            of *= 30.0
        elif kind == "LSEs around +200":
            of += 200.0
        elif kind == "LSEs around -200":
            of -= 200.0
        elif kind == "one part outweighs all others":
            of[one] += 150.0
        elif splits > 1:
            empty = {"the first part is empty": [0], "the last part is empty": [splits - 1]}.get(kind)
            gone = [part for part in range(splits) if part != one] if empty is None else empty
            of[gone], o[gone, :, query] = NO_PART, 0.0
        kinds.append(kind)
    return Parts(o.astype(np.float32), lse.astype(np.float32), tuple(kinds))


def right_parts(shape: Shape, cut: Cut, inputs: Inputs) -> Parts:
    """Return what right splits store, of these inputs."""
    made = right_splits(launch_split("", (), shape, cut, inputs))
    return Parts(made["o_part_ptr"].astype(np.float32), made["lse_part_ptr"].astype(np.float32), inputs.kinds)


def of_programs(case: Case, along: Sequence[int], heads: Sequence[int] = (0,)) -> Case:
    """Return a launch with the programs of some heads only, and of some splits, or of some queries in the merge."""
    asked, axes = {}, (along, heads) if is_split(case) else (heads, along)  # as the outputs have them
    for name, tensor in case.tensors.items():
        if tensor.role is Role.OUTPUT:
            mask = np.zeros(tensor.values.shape, bool)
            mask[np.ix_(*axes)] = True
            asked[name] = mask
    programs = tuple(one + head * case.grid[0] for head in heads for one in along)
    return replace(case, programs=programs, asked=asked)


@dataclass(frozen=True)
class ChosenSplit(Chosen):
    """A launch by construction, with its cut."""

    cut: Cut


def of_class(number: int, block: int, other: int) -> int:
    """Return a remainder of this class by a block, from 1 to the block: none, 1, one fewer than the
    block, another one.
    """
    return (block, 1, block - 1, other)[number]


def of_every_class(random: np.random.Generator) -> list[ChosenSplit]:
    """Keys of a split by Bc, keys by those of a split, and queries by Br: every pair of their classes, in 16 launches.

    A Latin square: the third class is that of the sum of the first two. Each class of the keys of a split comes with no
    tile before its last one and with one, but for a remainder of 1, and with no, one and two splits without keys.
    """
    made, half = [], halves()
    for number, (layout, on) in enumerate(covering.besides(16, random)):
        i, j = divmod(number, 4)
        Br, Bc = ((16, 16), (16, 32), (32, 16), (16, 16))[(i + 2 * j) % 4]
        more = 1 if i == 1 else (i + j // 2) % 2  # tiles of a split before its last; one key alone has too few classes
        keys = more * Bc + of_class(i, Bc, int(random.integers(4, Bc - 1)))
        whole = 1 + (i + j) % 2  # splits before the last one
        last = of_class(j, keys, int(random.integers(2, keys - 1)))
        n_q = of_class((i + j) % 4, Br, int(random.integers(2, Br - 1)))
        heads, D = 2 if on & covering.HEADS else 1, 64 if on & covering.WIDE else 16
        shape = Shape(n_q, whole * keys + last, D, Br, Bc, heads).apart(random, layout=layout)
        cut = Cut(whole + 1 + (i + 2 * j) % 3, keys)
        dtype = next(half) if on & covering.HALF else np.float32
        made.append(ChosenSplit(shape, dtype, bool(on & covering.SWITCH), cut))
    return made
