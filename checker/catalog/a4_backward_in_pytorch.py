"""Puzzle a4: the backward pass in PyTorch, full and causal, judged by values, memory and work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from checker.catalog.attention.backward.cases import delta_of_zero, large_values
from checker.catalog.attention.launch import Proves, Shape
from checker.catalog.attention.pytorch.backward import KERNEL, call_back, expected
from checker.catalog.attention.pytorch.backward_mistakes import BACKWARD_IN_PYTORCH
from checker.catalog.attention.pytorch.calls import (
    PROPERTIES,
    Size,
    in_pytorch,
    most,
    of_every_size,
    plain,
    plain_calls,
    size,
    steps,
)
from checker.catalog.attention.space import spaces
from checker.catalog.attention.values import Inputs, hard_inputs, normal_inputs
from checker.course.case import Array, Case
from checker.course.puzzle import Draw, Footprints, Puzzle
from checker.course.question import Question, largest, products

LARGEST = 5e4  # score: those of twice that size are off by a hundredth in fp32, and P by as much


def cases(draw: Draw) -> list[Case]:
    """Up to four by four tiles, square and not, full and causal; then more tiles than may be kept."""
    random, sizes = draw.case, draw.case("sizes")

    def some() -> int:
        return int(sizes.integers(1, 8))

    def gradient(source: np.random.Generator, inputs: Inputs) -> Array:
        """Return a normal dO, with a row of one number like any other."""
        do: Array = source.normal(0.0, 1.0, inputs.q.shape)
        do[:, int(source.integers(do.shape[1]))] = 0.5
        return do

    def normal(
        name: str, proves: Proves, of: Size, dtype: type = np.float32, unit_scale: bool = False, **how: bool
    ) -> Case:
        source = random(f"{name} {of.shape.n_q} {of.shape.n_k}")
        inputs = normal_inputs(source, of.every_head, dtype, unit_scale=unit_scale)
        return call_back(name, proves, of, inputs, gradient(source, inputs), **how)

    def hard(name: str, of: Size, causal: bool = False) -> Case:
        source = random(name)
        inputs = hard_inputs(source, of.every_head)
        return call_back(name, "values", of, inputs, gradient(source, inputs), causal)

    interleaved = Size(Shape(17 + some(), 25 + some(), 12, 6, 10, 3).interleaved(sizes), batch=2)
    apart = Size(Shape(17 + some(), 19 + some(), 8, 8, 8, 2).apart(sizes), batch=2)
    transposed = replace(size(17, 20 + some(), 12, 8, 16, 2), transposed_k=True)
    large, cancelling = size(9, 20), size(18 + some(), 26)
    large_inputs = large_values(random("large values"), large.every_head)
    cancelling_inputs = delta_of_zero(random("a delta of 0"), cancelling.every_head)
    return [
        normal("two by two tiles", ("any-length", "memory-and-work"), size(16, 16, heads=2)),
        normal("a tail of both", "any-length", size(16 + some(), 24 - some(), 12, heads=2)),
        hard("every kind of query", size(16 + some(), 32 + some(), 16, 16, 8)),
        hard("every kind of query, causal", size(24 + some(), 32 + some(), 16, 16, 32), causal=True),
        call_back("large values", "values", large, *large_inputs, once=True),
        call_back("a delta of 0", "values", cancelling, *cancelling_inputs, causal=True, once=True),
        normal("as many queries as keys", ("causal", "memory-and-work"), size(32, 32, heads=2), causal=True),
        normal("more keys than queries", "causal", size(15, 24 + some(), heads=2), causal=True),
        normal("more queries than keys", "hidden-queries", size(27 + some() % 6, 9), causal=True),
        normal("one query, one key, one dimension", "any-length", size(1, 1, 1), causal=True),
        normal("tiles of one query", "causal", size(6, 9, 4, 1, 3), causal=True, once=True),
        normal("tiles of one key", "causal", size(7, 8, 4, 3, 1), causal=True, once=True),
        normal("heads side by side in memory", "any-layout", interleaved),
        normal("rows and heads apart in memory", "any-layout", apart, causal=True),
        normal("K transposed in memory", "any-layout", transposed, causal=True),
        normal("fp64", "double", size(17, 20, heads=2), np.float64),
        normal("fp64, causal", "double", size(18, 21), np.float64, causal=True),
        normal("wide tiles", "memory-and-work", size(40 + some(), 72 + some(), 8, 16, 16, heads=2)),
        normal("many tiles", "memory-and-work", size(95, 89 + some(), 8, 16, 16, heads=2)),
        normal("many tiles", "memory-and-work", size(111, 113 + some(), 8, 16, 16, heads=2), causal=True),
        *of_every_size(normal, sizes, causal=False),
        *of_every_size(normal, sizes, causal=True),
        *plain_calls(normal, hard, sizes),
    ]


def _of_a_point(
    _: str, name: str, shape: Shape, inputs: Inputs, at: Mapping[str, int], random: np.random.Generator
) -> Case:
    """Return the call of a point."""
    do: Array = random.normal(0.0, 1.0, inputs.q.shape)
    return call_back(name, "any-length", *in_pytorch(shape, inputs), do, at["CAUSAL"] == 1)


def _causal_call(Br: int) -> Case:
    random, of = np.random.default_rng(0), size(256, 256, 16, Br, 32)
    inputs = normal_inputs(random, of.shape)
    return call_back("causal", (), of, inputs, random.normal(size=inputs.q.shape), causal=True)


SQUARE_TILES, TALL_TILES = _causal_call(32), _causal_call(64)
QUESTIONS = (
    Question(
        "tiles",
        "256 queries and keys, one head, d = 16, Br = Bc = 32, and causal: how many of the 8 by 8 tiles are computed?",
        SQUARE_TILES,
        products(5 * 32, 32, 16),  # a tile takes part in five products
        "They are the tiles of the forward pass, 1 + 2 + … + 8 = 36, whichever side is in the outer loop.",
        course=36,
    ),
    Question(
        "tiles_tall",
        "256 queries and keys, one head, d = 16, Br = 64, Bc = 32, and causal: how many of the 4 by 8 tiles are "
        "computed?",
        TALL_TILES,
        products(5 * 64, 32, 16),
        "The four rows of tiles see 2, 4, 6 and 8 tiles of keys.",
        course=20,
    ),
    Question(
        "largest",
        "256 queries and keys, one head, d = 16, Br = Bc = 32, and causal: how many numbers are in the largest tensor "
        "that your function makes? P would have 256 · 256 = 65,536.",
        SQUARE_TILES,
        largest,
        "Nothing is larger than a gradient, with 256 · 16 numbers; a tile of P has 32 · 32.",
    ),
)

PUZZLE = Puzzle(
    id="a4",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    expected=expected,
    budget=lambda case: {},
    steps=steps,
    spaces=spaces(_of_a_point, {KERNEL.name: "any-length"}, masks=(0, 1)),
    footprint=Footprints(most=most, plain=plain),
    misconceptions=BACKWARD_IN_PYTORCH,
    questions=QUESTIONS,
)
