"""Puzzle c1: attention as a function of autograd, by the learner's own kernels of p6 and p7. Practice only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from checker.catalog.attention.launch import Proves, Shape
from checker.catalog.attention.pytorch.autograd import BACKWARD, FORWARD, Layout, call, expected, steps
from checker.catalog.attention.pytorch.autograd_mistakes import IN_AUTOGRAD
from checker.catalog.attention.space import spaces
from checker.catalog.attention.values import Inputs
from checker.catalog.numbers import BF16
from checker.course.case import Case
from checker.course.kernel import Kernel
from checker.course.puzzle import Draw, Property, Puzzle
from checker.course.question import Question, launched, launches

PROPERTIES = (
    Property("output", "O, with any number of sequences, heads, queries and keys", 25),
    Property("gradients", "dQ, dK and dV, with any of these numbers", 30),
    Property("any-layout", "however Q, K, V and dO lie in memory", 25),
    Property("half", "half precision in and out", 5),
    Property("own-kernels", "each of your kernels, launched once", 15, traffic=True),
)

LAYOUTS = (
    ("heads side by side in memory", dict.fromkeys(("q", "k", "v"), Layout.SIDE_BY_SIDE)),
    ("Q, K and V cut from one tensor", dict.fromkeys(("q", "k", "v"), Layout.PACKED)),
    ("K dense, V with its heads side by side", {"v": Layout.SIDE_BY_SIDE}),
    ("rows apart in memory", dict.fromkeys(("q", "k", "v"), Layout.PADDED)),
)
GRADIENTS = (("dO with its heads side by side", {"do": Layout.SIDE_BY_SIDE}), ("dO of a sum", {"do": Layout.EXPANDED}))


def cases(draw: Draw) -> list[Case]:
    """Each direction with one sequence and several, square and not, and however its tensors lie."""
    sizes = draw.case("sizes")

    def some(most: int = 8) -> int:
        return int(sizes.integers(1, most))

    def of(kernel: Kernel, proves: str) -> list[Case]:
        def made(name: str, what: Proves, *shape: int, informative: bool = True, **how: object) -> Case:
            word = kernel.name.removeprefix("attention_")
            source = draw.case(f"{word} {name}")
            return call(kernel, f"{word}: {name}", what, source, shape, informative=informative, **how)  # type: ignore[arg-type]

        layouts = LAYOUTS if kernel is FORWARD else (*LAYOUTS, *GRADIENTS)
        n, square = 17 + some(), 24 + some()
        return [
            made("one sequence, one head", (proves, "own-kernels"), 1, 1, square, square, 16),
            made("several sequences and heads", (proves, "own-kernels"), 2, 3, n, n, 16),
            made("more keys than queries", proves, 2, 2, 9 + some(), 150 + some(), 16),
            made("more queries than keys", proves, 2, 2, 150 + some(), 9 + some(), 16),
            made("several tiles", proves, 1, 2, 130 + some(), 130 + some(), 32),
            *(made(name, "any-layout", 2, 3, n, n, 16, layouts=layout) for name, layout in layouts),
            made("one head, cut from a tensor of one", "any-layout", 2, 1, n, n, 16, layouts=Layout.SIDE_BY_SIDE),
            made("fp16", "half", 2, 2, square, square, 32, dtype=np.float16),
            made("one query, one key", proves, 2, 2, 1, 1, 16, informative=False),
            *([made("bf16", "half", 2, 2, n, n, 32, dtype=BF16, informative=False)] if kernel is BACKWARD else []),
        ]

    return [*of(FORWARD, "output"), *of(BACKWARD, "gradients")]


ASKED = call(BACKWARD, "a step of a model", (), np.random.default_rng(0), (2, 3, 200, 200, 16))
QUESTIONS = (
    Question(
        "launches",
        "2 sequences of 200 tokens with 3 heads, and BLOCK = 64: how many kernels do the forward and the backward pass "
        "launch together?",
        ASKED,
        launches,
        "One makes O, one delta, one dQ, and one dK with dV, and a larger batch only changes their grids.",
    ),
    Question(
        "programs",
        "The same call: how many programs do all of these launches run together?",
        ASKED,
        launched,
        "200 tokens are four tiles of 64, there are 2 · 3 heads, and each of the four kernels has a program for each "
        "tile of each head.",
        course=96,
    ),
)


def programs(case: Case, kernel: str, blocks: Mapping[str, int]) -> int:
    """Return a program for each tile of each head of each sequence."""
    side, block = ("k", "Bc") if kernel == "dk_dv_kernel" else ("q", "Br")
    batch, heads, n = (int(one) for one in case.tensors[side].values.shape[:3])
    return batch * heads * -(-n // blocks.get(block, 1))


PROVES = {FORWARD.name: "output", BACKWARD.name: "gradients"}


def _of_a_point(
    kernel: str, name: str, shape: Shape, inputs: Inputs, _: Mapping[str, int], random: np.random.Generator
) -> Case:
    function, sizes = (FORWARD, BACKWARD)[kernel == BACKWARD.name], (1, shape.heads, shape.n_q, shape.n_k, shape.D)
    made = call(function, f"{kernel.removeprefix('attention_')}: {name}", PROVES[kernel], random, sizes)
    return replace(made, scalars={"scale": inputs.scale})


PUZZLE = Puzzle(
    id="c1",
    kernels=(FORWARD, BACKWARD),
    properties=PROPERTIES,
    cases=cases,
    expected=expected,
    budget=lambda case: {},
    steps=steps,
    programs=programs,
    spaces=spaces(_of_a_point, PROVES),
    misconceptions=IN_AUTOGRAD,
    questions=QUESTIONS,
)
