"""Rung a2: FlashAttention's forward pass in PyTorch, full and causal, judged by values, memory and work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from checker.catalog.attention import values
from checker.catalog.attention.in_pytorch import KERNEL, Size, call, expected, folded, most, plain
from checker.catalog.attention.launch import Proves, Shape
from checker.catalog.attention.pytorch_mistakes import IN_PYTORCH
from checker.catalog.attention.reference import O_IS_AN_AVERAGE
from checker.catalog.attention.suspected import suspected_tiles
from checker.catalog.cases import covering
from checker.course.case import Case, Outputs
from checker.course.puzzle import Draw, Footprints, Property, Puzzle

DENSE = (0, 0), (0, 0)  # no gaps after rows and heads of Q, and of K and V
LARGEST_SCORE = 1e8  # a finite number that stands for infinity may be larger

PROPERTIES = (
    Property("values", "queries of every kind", 20),
    Property("any-length", "any number of queries and keys, any tile", 20),
    Property("causal", "causal, with as many queries as keys or fewer", 20),
    Property("hidden-queries", "queries that see no key", 5),
    Property("any-layout", "sequences and heads, however they lie in memory", 10),
    Property("double", "fp64 in and out", 5),
    Property("memory-and-work", "a few tiles at once, and no product that is not needed", 20, traffic=True),
)


def cases(draw: Draw) -> list[Case]:
    """Up to four by four tiles, square and not, full and causal; then more tiles than may be kept."""
    random, sizes = draw.case, draw.case("sizes")

    def some() -> int:
        return int(sizes.integers(1, 8))

    def size(n_q: int, n_k: int, d: int = 8, Br: int = 8, Bc: int = 8, heads: int = 1) -> Size:
        return Size(Shape(n_q, n_k, d, Br, Bc, heads, *DENSE))

    def normal(
        name: str, proves: Proves, of: Size, dtype: type = np.float32, unit_scale: bool = False, **how: bool
    ) -> Case:
        source = random(f"{name} {of.shape.n_q} {of.shape.n_k}")
        return call(name, proves, of, values.normal_inputs(source, of.every_head, dtype, unit_scale=unit_scale), **how)

    def hard(name: str, of: Size, causal: bool = False) -> Case:
        return call(name, "values", of, values.hard_inputs(random(name), of.every_head), causal)

    def every_size(causal: bool, design: Sequence[covering.Launch]) -> Iterator[Case]:
        """Calls by construction: a size of any class by its tile, and what else a call may have."""
        drawn = [covering.drawn(stored, causal, sizes) for stored in design]
        for (n_q, n_k, Br, Bc), (_, on) in zip(drawn, covering.besides(len(drawn), sizes), strict=True):
            dtype = np.float64 if on & covering.HALF else np.float32
            proves = "any-length" if not causal else "hidden-queries" if n_q > n_k else "causal"
            of = size(n_q, n_k, 8, Br, Bc, 2 if on & covering.HEADS else 1)
            unit = bool(on & covering.SWITCH)
            yield normal("every size", proves, of, dtype, unit, causal=causal, once=True)

    interleaved = Size(Shape(17 + some(), 25 + some(), 12, 6, 10, 3).interleaved(sizes), batch=2)
    apart = Size(Shape(17 + some(), 11 + some(), 8, 8, 8, 2).apart(sizes), batch=2)
    transposed = replace(size(17, 20 + some(), 12, 8, 16, 2), transposed_k=True)
    large = size(9, 20)
    large_scores = values.large_scores(random("large scores"), large.every_head, LARGEST_SCORE)
    return [
        normal("two by two tiles", ("any-length", "memory-and-work"), size(16, 16, heads=2)),
        normal("a tail of both", "any-length", size(16 + some(), 24 - some(), 12, heads=2)),
        hard("every kind of query", size(16 + some(), 32 + some(), 16, 16, 8)),
        hard("every kind of query, causal", size(24 + some(), 32 + some(), 16, 16, 32), causal=True),
        call("large scores", "values", large, large_scores),
        normal("as many queries as keys", ("causal", "memory-and-work"), size(32, 32, heads=2), causal=True),
        normal("more keys than queries", "causal", size(15, 24 + some(), heads=2), causal=True),
        normal("more queries than keys", "hidden-queries", size(27 + some(), 9), causal=True),
        normal("one query, one key, one dimension", "any-length", size(1, 1, 1), causal=True),
        normal("heads side by side in memory", "any-layout", interleaved),
        normal("rows and heads apart in memory", "any-layout", apart, causal=True),
        normal("K transposed in memory", "any-layout", transposed, causal=True),
        normal("fp64", "double", size(17, 20, heads=2), np.float64),
        normal("fp64, causal", "double", size(18, 21), np.float64, causal=True),
        normal("wide tiles", "memory-and-work", size(40 + some(), 72 + some(), 8, 16, 16, heads=2)),
        normal("many tiles", "memory-and-work", size(95, 89 + some(), 8, 16, 16, heads=2)),
        normal("many tiles", "memory-and-work", size(111, 113 + some(), 8, 16, 16, heads=2), causal=True),
        normal("tiles of one query", "causal", size(6, 9, 4, 1, 3), causal=True, once=True),
        normal("tiles of one key", "causal", size(7, 6, 4, 3, 1), causal=True, once=True),
        *every_size(False, covering.FULL[::4]),
        *every_size(True, covering.CAUSAL[::3]),
    ]


def _outside_the_range_of_v(case: Case, outputs: Outputs) -> npt.NDArray[np.bool_]:
    o = outputs["o"]
    return O_IS_AN_AVERAGE.broken(folded(case), {"o_ptr": o.reshape(-1, *o.shape[2:])})


def _around_a_number(
    _: str, name: str, shape: Shape, inputs: values.Inputs, causal: bool, random: np.random.Generator
) -> Case:
    """A call that is wanted because of a number in the text, without gaps: PyTorch has no strides to compare it with.

    What would be fp16 in a kernel is fp64 here.
    """
    shape = replace(shape, q_gaps=DENSE[0], k_gaps=DENSE[1])
    if inputs.q.dtype == np.float16:
        inputs = replace(inputs, **{x: getattr(inputs, x).astype(np.float64) for x in "qkv"})
    return call(name, "any-length", Size(shape), inputs, causal)


PUZZLE = Puzzle(
    id="a2",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    expected=expected,
    budget=lambda case: {},
    suspected=suspected_tiles(_around_a_number, {KERNEL.name: "any-length"}, both_masks=True, largest=LARGEST_SCORE),
    footprint=Footprints(most=most, plain=plain),
    misconceptions=IN_PYTORCH,
    invariants=(replace(O_IS_AN_AVERAGE, broken=_outside_the_range_of_v),),
)
