"""Bounds of traffic and arithmetic against what can be counted by hand, or tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

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
from checker.catalog.matmul.reference import shape_of as matmul_shape
from checker.catalog.softmax.launch import launch
from checker.catalog.softmax.reference import blockwise_budget
from checker.course import ladder
from checker.course.case import AxisKind, Case
from checker.course.kernel import Kernel
from checker.course.puzzle import Budget

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


Bounds = Mapping[str, Budget]


def crossings(bounds: Bounds, own: str = "y_ptr") -> float:
    """How often an element crosses the memory bus, where one tensor is stored whole."""
    return sum(bound.loads + bound.stores for bound in bounds.values()) / bounds[own].stores


def nothing_square(case: Case) -> bool:
    """Whether no tensor has an element for each query and key."""
    return not any({AxisKind.QUERY, AxisKind.KEY} <= {a.kind for a in t.axes} for t in case.tensors.values())


def once(case: Case, bounds: Bounds, *names: str) -> bool:
    """Whether these tensors, where the launch has them, are moved once."""
    found = [(bounds[name], case.tensors[name].values.size) for name in names if name in bounds]
    return all((one.loads + one.stores, bool(one.loads and one.stores)) == (size, False) for one, size in found)


def fewer(loads: int, all_loads: int, block: int) -> bool:
    """Whether tiles of this side save all that they can: so many times, but for the last tile."""
    return all_loads <= loads * block < all_loads + block * loads


def in_a1(case: Case, bounds: Bounds) -> bool:
    s = matmul_shape(case)
    sides = (("a_ptr", s.Bn), ("b_ptr", s.Bm))
    return all(fewer(bounds[name].loads, s.m * s.n * s.k, side) for name, side in sides)


def in_p6(case: Case, bounds: Bounds) -> bool:
    """O once; of causal attention half of the tiles, and those that the diagonal goes through."""
    s = shape_of(case)
    half = not case.constexprs["CAUSAL"] or s.n_q > s.n_k or s.n_q < s.n_k
    most = s.heads * s.D * s.tr * (s.n_k + s.Br + s.Bc) / 2
    return once(case, bounds, "q_ptr", "o_ptr") and (half or bounds["k_ptr"].loads <= most)


def shared(case: Case) -> int:
    """Loads of a bias, if what the scores of a tile share is loaded once for each tile."""
    s, bias = shape_of(case), case.tensors["bias_ptr"].values.shape
    of_rows = s.n_q if bias[-2] > 1 else s.tr
    of_columns = s.n_k if bias[-1] > 1 else s.tc
    heads = s.heads if case.kernel == b1.ATTENTION.name else 1
    return heads * of_rows * of_columns


# What `saves` says in the ladder, of each launch of the puzzle.
SAVED: dict[str, Callable[[Case, Bounds], bool]] = {
    "w1": lambda case, bounds: once(case, bounds, "x_ptr", "y_ptr", "z_ptr"),
    "w2": lambda case, bounds: once(case, bounds, "x_ptr", "out_ptr") and case.tensors["out_ptr"].values.ndim == 1,
    "w3": lambda case, bounds: once(case, bounds, "x_ptr", "y_ptr"),
    "p1": lambda case, bounds: crossings(bounds) == 2 < (2 + 1 + 2),  # exp, sum, division
    "p2": lambda case, bounds: crossings(bounds) == 4 < (1 + 2 + 2 + 1 + 2),  # maximum, difference, exp, sum, division
    "p3": lambda case, bounds: crossings(bounds) == 3 / 4 * crossings(catalog.load("p2").budget(case)),
    "p4": lambda case, bounds: crossings(bounds) == crossings(catalog.load("p3").budget(case)),
    "a1": in_a1,
    "a3": lambda case, bounds: nothing_square(case) and once(case, bounds, "q_ptr", "o_ptr"),
    "p5": lambda case, bounds: (
        nothing_square(case)
        and {bounds["o_ptr"].loads, bounds["o_ptr"].stores} == {shape_of(case).tc * case.tensors["o_ptr"].values.size}
    ),
    "p6": in_p6,
    "p7": lambda case, bounds: nothing_square(case) and once(case, bounds, "dq_ptr", "dk_ptr", "dv_ptr"),
    "b1": lambda case, bounds: bounds["bias_ptr"].loads <= shared(case) and once(case, bounds, "dbias_ptr"),
    "b2": lambda case, bounds: nothing_square(case),
    "b3": lambda case, bounds: once(case, bounds, "k_ptr", "v_ptr", "o_part_ptr", "lse_part_ptr"),
}


@pytest.mark.parametrize("puzzle_id", [rung.id for rung in ladder.LADDER if not (rung.pytorch or rung.draft)])
def test_what_is_said_to_be_saved_is_the_bound(puzzle_id: str) -> None:
    assert ladder.RUNGS[puzzle_id].saves.endswith(".")
    puzzle = catalog.load(puzzle_id)
    for case in puzzle.cases(puzzle.draw("bounds")):
        assert SAVED[puzzle_id](case, puzzle.budget(case)), case.name
