"""Puzzle a2: FlashAttention's forward pass in PyTorch, full and causal, judged by values, memory and work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from checker.catalog.attention import values
from checker.catalog.attention.launch import Proves, Shape
from checker.catalog.attention.pytorch.calls import (
    KERNEL,
    PROPERTIES,
    Size,
    call,
    expected,
    folded,
    in_pytorch,
    most,
    of_every_size,
    plain,
    plain_calls,
    size,
    steps,
)
from checker.catalog.attention.pytorch.mistakes import IN_PYTORCH
from checker.catalog.attention.reference import O_IS_AN_AVERAGE
from checker.catalog.attention.space import spaces
from checker.course.case import Case, Outputs
from checker.course.puzzle import Draw, Footprints, Puzzle
from checker.course.question import Question, largest, products

LARGEST_SCORE = 1e8  # a finite number that stands for infinity may be larger


def cases(draw: Draw) -> list[Case]:
    """Up to four by four tiles, square and not, full and causal; then more tiles than may be kept."""
    random, sizes = draw.case, draw.case("sizes")

    def some() -> int:
        return int(sizes.integers(1, 8))

    def normal(
        name: str, proves: Proves, of: Size, dtype: type = np.float32, unit_scale: bool = False, **how: bool
    ) -> Case:
        source = random(f"{name} {of.shape.n_q} {of.shape.n_k}")
        return call(name, proves, of, values.normal_inputs(source, of.every_head, dtype, unit_scale=unit_scale), **how)

    def hard(name: str, of: Size, causal: bool = False) -> Case:
        return call(name, "values", of, values.hard_inputs(random(name), of.every_head), causal)

    interleaved = Size(Shape(17 + some(), 25 + some(), 12, 6, 10, 3).interleaved(sizes), batch=2)
    apart = Size(Shape(17 + some(), 24 + some(), 8, 8, 8, 2).apart(sizes), batch=2)
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
        normal("more queries than keys", "hidden-queries", size(27 + some() % 6, 9), causal=True),
        normal("one query, one key, one dimension", "any-length", size(1, 1, 1), causal=True),
        normal("heads side by side in memory", "any-layout", interleaved),
        normal("rows and heads apart in memory", "any-layout", apart, causal=True),
        normal("K transposed in memory", "any-layout", transposed, causal=True),
        normal("fp64", "double", size(17, 20, heads=2), np.float64),
        normal("fp64, causal", "double", size(18, 21), np.float64, causal=True),
        normal("wide tiles", "memory-and-work", size(40 + some(), 72 + some(), 8, 16, 16, heads=2)),
        normal("many tiles", "memory-and-work", size(95, 89 + some(), 8, 16, 16, heads=2)),
        normal("many tiles", "memory-and-work", size(111, 113 + some(), 8, 16, 16, heads=2), causal=True),
        normal("long rows in small tiles", "memory-and-work", size(8, 600, 2, 4, 4), once=True),  # a row is too much
        normal("tiles of one query", "causal", size(6, 9, 4, 1, 3), causal=True, once=True),
        normal("tiles of one key", "causal", size(7, 8, 4, 3, 1), causal=True, once=True),
        *of_every_size(normal, sizes, causal=False),
        *of_every_size(normal, sizes, causal=True),
        *plain_calls(normal, hard, sizes),
    ]


def _outside_the_range_of_v(case: Case, outputs: Outputs) -> npt.NDArray[np.bool_]:
    o = outputs["o"]
    return O_IS_AN_AVERAGE.broken(folded(case), {"o_ptr": o.reshape(-1, *o.shape[2:])})


def _of_a_point(
    _: str, name: str, shape: Shape, inputs: values.Inputs, at: Mapping[str, int], random: np.random.Generator
) -> Case:
    """Return the call of a point."""
    return call(name, "any-length", *in_pytorch(shape, inputs), at["CAUSAL"] == 1)


ALL_QUERIES, LAST_QUERIES = (
    call(
        "causal",
        (),
        size(n_q, 256, 16, 32, 32),
        values.normal_inputs(np.random.default_rng(0), size(n_q, 256, 16, 32, 32).shape),
        causal=True,
    )
    for n_q in (256, 128)
)
TILES = products(2 * 32, 32, 16)  # a tile of scores takes part in two products
QUESTIONS = (
    Question(
        "tiles",
        "256 queries and keys, one head, d = 16, Br = Bc = 32, and causal: how many of the 8 by 8 tiles of scores are "
        "computed?",
        ALL_QUERIES,
        TILES,
        "The first row of tiles sees one tile of keys and each row sees one more, and 1 + 2 + … + 8 = 36.",
        course=36,
    ),
    Question(
        "tiles_late",
        "128 queries, 256 keys, one head, d = 16, Br = Bc = 32, and causal: how many of the 4 by 8 tiles of scores are "
        "computed?",
        LAST_QUERIES,
        TILES,
        "The queries are the last 128 positions, so these are the last four of the eight rows: 5 + 6 + 7 + 8 = 26.",
        course=26,
    ),
    Question(
        "largest",
        "256 queries and keys, one head, d = 16, Br = Bc = 32, and causal: how many numbers are in the largest tensor "
        "that your function makes? All scores would be 256 · 256 = 65,536.",
        ALL_QUERIES,
        largest,
        "Nothing is larger than O itself, with 256 · 16 numbers; a tile of scores has 32 · 32.",
    ),
)

PUZZLE = Puzzle(
    id="a2",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    expected=expected,
    budget=lambda case: {},
    steps=steps,
    spaces=spaces(_of_a_point, {KERNEL.name: "any-length"}, masks=(0, 1)),
    footprint=Footprints(most=most, plain=plain),
    misconceptions=IN_PYTORCH,
    invariants=(replace(O_IS_AN_AVERAGE, broken=_outside_the_range_of_v),),
    questions=QUESTIONS,
)
