"""Bounds of traffic and arithmetic against what can be counted by hand, or tile by tile."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from checker import catalog
from checker.catalog import b1_attention_bias as b1
from checker.catalog import p7_causal_backward as p7
from checker.catalog.attention.backward.cases import launch_with
from checker.catalog.attention.bias.launch import KINDS, OF_ALL_HEADS, attention_launch, drawn_bias, gradient_launch
from checker.catalog.attention.bounds import A_PROGRAM, A_VISIT, by_hand, keys_needed, largest_tile, visits
from checker.catalog.attention.launch import Shape, shape_of
from checker.catalog.attention.reference import sees
from checker.catalog.attention.values import normal_inputs
from checker.catalog.softmax.launch import launch
from checker.catalog.softmax.reference import blockwise_budget
from checker.course import ladder
from checker.course.case import Case
from checker.course.puzzle import Kernel

KEPT = [  # rows, columns, blocks → elements of x that two passes must read; those of a load
    (3, 35, {"BLOCK_SIZE": 16}, 3 * (35 + 35 - 16), 16),
    (3, 16, {"BLOCK_SIZE": 16}, 3 * 16, 16),
    (2, 9, {"BLOCK_SIZE": 16}, 2 * 9, 9),
    (7, 40, {"BLOCK_ROWS": 4, "BLOCK_COLS": 16}, 7 * (40 + 40 - 16), 4 * 16),
    (1, 5, {"BLOCK_ROWS": 4, "BLOCK_COLS": 16}, 5, 5),
]


@pytest.mark.parametrize(("count", "n", "blocks", "least", "at_once"), KEPT)
def test_between_two_sweeps_one_block_may_be_kept(
    count: int, n: int, blocks: dict[str, int], least: int, at_once: int
) -> None:
    case = launch(Kernel("k", ("n_cols",)), "rows", (), np.zeros((count, n), np.float32), blocks)
    bound = blockwise_budget(3)(case)["x_ptr"]
    assert (bound.least_loads, bound.least_at_once, bound.loads) == (least, at_once, 3 * count * n)


def attention_cases() -> Iterator[Case]:
    """Launches of all puzzles about attention that look at keys."""
    for puzzle_id in ("a3", "p5", "p6", "p7", "b1", "b2"):
        puzzle = catalog.load(puzzle_id)
        yield from (case for case in puzzle.cases(puzzle.draw("bounds")) if "k_ptr" in case.tensors)


def test_no_tile_of_queries_can_do_without_a_key_that_one_of_them_sees() -> None:
    for case in attention_cases():
        shape, seeing = shape_of(case), sees(case)
        for tile, needed in enumerate(keys_needed(case)):
            seen = np.flatnonzero(seeing[tile * shape.Br : (tile + 1) * shape.Br].any(axis=0))
            assert needed == (seen[-1] + 1 if seen.size else 0), case.name


def test_each_program_may_multiply_by_hand_for_the_tiles_that_it_looks_at() -> None:
    for case in attention_cases():
        if case.grid[-1] != shape_of(case).heads:
            continue  # there are no tensors of most of its heads, and no programs
        allowed = by_hand(case)
        assert allowed.size == np.prod(case.grid)
        tiles = A_VISIT * visits(case) + A_PROGRAM * allowed.size
        assert allowed.sum() == tiles * largest_tile(case), case.name


def test_no_bound_asks_for_more_than_it_allows() -> None:
    for puzzle_id in ladder.RUNGS:
        puzzle = catalog.load(puzzle_id)
        for case in puzzle.cases(puzzle.draw("bounds")):
            for name, bound in puzzle.budget(case).items():
                assert bound.least_loads <= bound.loads and bound.least_stores <= bound.stores, (case.name, name)


def test_no_more_queries_are_asked_for_at_once_than_see_a_key() -> None:
    """A loop may begin just at the first query that sees one, which loads much less than a tile."""
    random, shape = np.random.default_rng(0), Shape(32, 3, 64, 32, 16)
    case = launch_with(p7.DK_DV, "few keys", "dk-dv", shape, normal_inputs(random, shape), random)
    assert p7.budget(case)["do_ptr"].least_at_once <= 3 * 64


def test_what_a_shared_bias_costs_is_the_closed_form() -> None:
    shape, random = Shape(40, 70, 16, 16, 32, heads=3), np.random.default_rng(0)
    inputs = normal_inputs(random, shape)
    H, n_q, n_k, Tr, Tc = 3, 40, 70, 3, 3
    forms = [H * Tr * Tc, H * Tr * n_k, H * n_q * Tc, H * n_q * n_k] * 2
    for kind, loads in zip(KINDS, forms, strict=True):
        bias = drawn_bias(random, shape, inputs, kind)
        case = attention_launch(b1.ATTENTION, "full", (), shape, inputs, bias)
        assert b1.budget(case)["bias_ptr"].loads == loads, kind
    causal = attention_launch(b1.ATTENTION, "causal", (), shape, inputs, drawn_bias(random, shape, inputs), causal=True)
    visited = 16 * 64 + 16 * 64 + 8 * 70  # queries 0 to 15 see the keys up to 45, 16 to 31 up to 61, 32 to 39 up to 69
    assert b1.budget(causal)["bias_ptr"].loads == H * visited


def test_what_the_gradient_of_a_bias_costs_is_the_closed_form() -> None:
    shape, random = Shape(40, 70, 16, 16, 32, heads=3), np.random.default_rng(0)
    inputs = normal_inputs(random, shape)
    bias = drawn_bias(random, shape, inputs, OF_ALL_HEADS)
    case = gradient_launch(b1.GRADIENT, "full", (), shape, inputs, bias, inputs.q)
    loads = {name: bound.loads for name, bound in b1.budget(case).items() if bound.loads}
    of_q, of_k, rows = 3 * 3 * 40 * 16, 3 * 3 * 70 * 16, 3 * 3 * 40
    assert loads == {
        "q_ptr": of_q,
        "do_ptr": of_q,
        "k_ptr": of_k,
        "v_ptr": of_k,
        "lse_ptr": rows,
        "delta_ptr": rows,
        "bias_ptr": 40 * 70,
    }
    assert b1.budget(case)["dbias_ptr"].stores == 40 * 70
