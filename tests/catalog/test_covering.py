"""The coverage of the cases is a function of their sizes alone, and the same for every key."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest

from checker import catalog
from checker.catalog.attention.forward.cases import FAR_ROWS, of_every_class
from checker.catalog.attention.launch import shape_of
from checker.catalog.attention.reference import is_causal
from checker.catalog.cases import covering, orders
from checker.course.case import AxisKind, Case, Role, Tensor
from checker.course.puzzle import Draw
from tests.conftest import STEMS_OF_KERNELS
from tests.covering import all_covered, every

KEYS = ["practice", *(f"key {n}" for n in range(100))]
CAUSAL = pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])

ROWS = ["p1", "p2", "p3", "p4"]
ATTENTION = ["a3", "p5", "p6", "p7", "b1", "b2"]


POSITIONS = "positions beyond 2**32"  # of b2, which has a few heads of very many


def cases_of(puzzle: str, key: str) -> list[Case]:
    of = catalog.load(puzzle)
    return of.cases(of.draw(key))


def design(causal: bool) -> tuple[covering.Launch, ...]:
    return covering.CAUSAL if causal else covering.FULL


@CAUSAL
def test_a_design_covers_all_that_any_launch_can(causal: bool) -> None:
    assert all_covered(design(causal), causal) == all_covered(every(causal), causal)


@CAUSAL
def test_every_boundary_is_met_in_every_class_under_every_relation_of_blocks(causal: bool) -> None:
    of_mask = ["start of queries", "start of the mask", "end of the mask"]
    boundaries = ["end of keys", *of_mask] if causal else ["end of keys"]
    wanted = set(itertools.product(["Br = Bc", "Br < Bc", "Br > Bc"], boundaries, range(4)))
    assert wanted <= all_covered(design(causal), causal)


@CAUSAL
def test_no_key_draws_launches_that_cover_less(causal: bool) -> None:
    wanted = all_covered(design(causal), causal)
    drawn = set()
    for key in KEYS:
        chosen = of_every_class(Draw("test", key).case("sizes"), causal=causal)
        launches = [(c.shape.n_q, c.shape.n_k, c.shape.Br, c.shape.Bc) for c in chosen]
        assert all_covered(launches, causal) >= wanted, key
        drawn.add(tuple(launches))
    assert len(drawn) > 90, "sizes are drawn, not fixed"


def test_lengths_have_every_class_in_one_block_and_in_several() -> None:
    for key, block in itertools.product(KEYS, (4, 8, 16, 32)):
        lengths = covering.lengths(block, Draw("test", key).case("sizes"))
        found = {(int(covering.remainder_class(n, block)), n > block) for n in lengths}
        assert found == set(itertools.product(range(4), (False, True))), (key, block)


def in_half(tensor: Tensor) -> bool:
    """Whether it is fp16 or bf16."""
    return tensor.bf16 or tensor.values.dtype == np.float16


@pytest.mark.parametrize("puzzle", [*STEMS_OF_KERNELS])
def test_each_kernel_is_run_in_each_type(puzzle: str) -> None:
    """Of what it gets or what it gives: the merge of b3 gets fp32 alone."""
    for key, kernel in itertools.product(KEYS, catalog.load(puzzle).kernels):
        own = [case for case in cases_of(puzzle, key) if case.kernel == kernel.name]
        types = {t.type for case in own for t in case.tensors.values()}
        assert {"float32", "float16", "bfloat16"} <= types, (key, kernel.name)


def test_a_model_trains_in_bf16_and_so_does_the_function_of_c1() -> None:
    """Both ways at once: the backward pass runs on what the forward pass has left."""
    [case] = [case for case in cases_of("c1", "practice") if case.tensors["q"].bf16]
    assert "do" in case.tensors and case.tensors["dq"].bf16


def factors(puzzle: str, case: Case) -> list[tuple[str, int]]:
    """The factors of a launch of a puzzle of rows, by name."""
    sizes = [(case.scalars["n_cols"], case.constexprs.get("BLOCK_COLS") or case.constexprs["BLOCK_SIZE"])]
    if "BLOCK_ROWS" in case.constexprs:
        sizes.append((case.scalars["n_rows"], case.constexprs["BLOCK_ROWS"]))
    found = []
    for axis, (n, block) in zip(("columns", "rows"), sizes, strict=False):
        found += [(f"{axis} by block", int(covering.remainder_class(n, int(block)))), (f"{axis} long", int(n > block))]
    return found


@pytest.mark.parametrize("puzzle", ["p2", "p3", "p4", "w3"])
def test_rows_have_every_pair_of_classes(puzzle: str) -> None:
    names = ["columns by block", "columns long", "rows by block", "rows long"][: 4 if puzzle in ("p4", "w3") else 2]
    values = [range(4), range(2)] * 2
    wanted = {
        frozenset(zip((a, b), both, strict=True))
        for (a, x), (b, y) in itertools.combinations(zip(names, values, strict=False), 2)
        for both in itertools.product(x, y)
    }
    for key in KEYS:
        cases = [case for case in cases_of(puzzle, key) if not case.programs]
        assert wanted <= {frozenset(p) for c in cases for p in itertools.combinations(factors(puzzle, c), 2)}, key


@pytest.mark.parametrize("puzzle", ["p1", "w2"])
def test_rows_of_one_block_have_every_class_that_exists_and_the_longest_whole_one_in_fp32_and_in_half(
    puzzle: str,
) -> None:
    for key in KEYS:
        cases = cases_of(puzzle, key)
        sizes = {(int(c.scalars["n_cols"]), int(c.constexprs["BLOCK_SIZE"])) for c in cases}
        longest = [c.tensors["x_ptr"] for c in cases if c.scalars["n_cols"] == c.constexprs["BLOCK_SIZE"] == 256]
        assert {in_half(x) for x in longest} == {True, False}, key
        assert (1, 1) in sizes
        for block in (8, 16, 32):
            lengths = {n for n, of in sizes if of == block}
            assert {block // 2 + 1, block - 1, block} < lengths, (key, block)


def test_vectors_have_every_class_in_fp32_and_in_half() -> None:
    wanted = set(itertools.product(range(4), (False, True), (False, True)))
    for key in KEYS:
        found = set()
        for case in (case for case in cases_of("w1", key) if not case.programs):
            n, block = int(case.scalars["n"]), int(case.constexprs["BLOCK_SIZE"])
            if block > 4:  # or a remainder is of several classes
                of = int(covering.remainder_class(n, block)), n > block
                found.add((*of, in_half(case.tensors["x_ptr"])))
        assert found == wanted, key


def test_a_vector_without_end_is_larger_than_any_gpu_and_its_offsets_leave_32_bits() -> None:
    for key in KEYS:
        far = [case for case in cases_of("w1", key) if case.programs]
        for case in far:
            starts = [program * int(case.constexprs["BLOCK_SIZE"]) for program in case.programs]
            assert sum(start > 2**31 for start in starts) >= 3 and starts[-1] > 2**32
        (on_gpu,) = (case for case in far if not case.once)
        assert 3 * 4 * on_gpu.scalars["n"] > 400e9, "bytes"


# Whether a puzzle, or one kernel of it, is causal.
MASKS = {
    "a3": [False],
    "p5": [False],
    "p6": [False, True],
    "p7": [True],
    "b1": [False, True],
    "b2": [False],
    "dbias_kernel": [False],
}


@pytest.mark.parametrize("puzzle", ATTENTION)
@pytest.mark.parametrize("key", KEYS[:4])
def test_a_puzzle_runs_what_the_design_asks_for(puzzle: str, key: str) -> None:
    cases = cases_of(puzzle, key)
    for kernel in {case.kernel for case in cases if "k_ptr" in case.tensors}:
        for causal in MASKS.get(kernel) or MASKS[puzzle]:
            own = [c for c in cases if c.kernel == kernel and c.name.count("every size") and is_causal(c) == causal]
            shapes = [shape_of(case) for case in own]
            assert all_covered([(s.n_q, s.n_k, s.Br, s.Bc) for s in shapes], causal) >= all_covered(
                design(causal), causal
            )


@pytest.mark.parametrize("key", KEYS[:4])
@pytest.mark.parametrize("puzzle", ["w3", "p4", "a1", *ATTENTION, "b3"])
def test_the_sides_of_a_tile_are_in_every_order(puzzle: str, key: str) -> None:
    """Under each mask, in both precisions; in each, but for decoding, some tile has 128 queries and keys."""
    for kernel in catalog.load(puzzle).kernels:
        own = [case for case in cases_of(puzzle, key) if case.kernel == kernel.name]
        sides = [name for name in kernel.constexprs if name not in ("CAUSAL", "Bs")]
        masks = {case.constexprs.get("CAUSAL") for case in own}
        wanted = {*itertools.product(orders.every(len(sides)), masks, (False, True))}
        found = set()
        for case in own:
            lengths = [int(case.constexprs[name]) for name in sides]
            half = any(in_half(tensor) for tensor in case.tensors.values())
            found.add((orders.order(lengths), case.constexprs.get("CAUSAL"), half))
        assert wanted == found
        if "Bc" in sides and puzzle != "b3":
            large = [c for c in own if c.constexprs["Br"] == c.constexprs["Bc"] == 128]
            assert {c.constexprs.get("CAUSAL") for c in large} == masks
            assert {any(in_half(tensor) for tensor in c.tensors.values()) for c in large} == {False, True}


def test_orders_are_those_of_any_lengths() -> None:
    assert [len(orders.every(count)) for count in (1, 2, 3)] == [1, 3, 13]
    assert orders.order([64, 16, 64]) == (1, 0, 1) and orders.order([16, 64, 32]) == (0, 2, 1)


def real(cases: Iterable[Case], **constexprs: int) -> list[Case]:
    return [c for c in cases if all(c.constexprs.get(name) == value for name, value in constexprs.items())]


@pytest.mark.parametrize("key", KEYS[:4])
def test_every_kernel_runs_at_real_sizes(key: str) -> None:
    for puzzle in (*ROWS, *ATTENTION):
        for kernel in catalog.load(puzzle).kernels:
            cases = [c for c in cases_of(puzzle, key) if c.kernel == kernel.name]
            dtypes = {c.tensors[next(iter(c.tensors))].values.dtype.name for c in cases if is_real(c)}
            assert dtypes == {"float16", "float32"}, kernel.name
            far = [c for c in cases if c.checked_arithmetic and "2**31" not in c.name and POSITIONS not in c.name]
            assert far
            assert {c.tensors[next(iter(c.tensors))].values.dtype.name for c in far} == {"float16", "float32"}
            if puzzle in ATTENTION:
                rows = [c for c in far if FAR_ROWS in c.name]
                far = [c for c in far if c not in rows]
                assert rows and all(rows_are_far(c) for c in rows)
            for tensor in (t for c in far for t in c.tensors.values() if t.strides[0] > 2**30):
                assert tensor.values.shape[0] == 6
                assert 2**30 < tensor.strides[0] < 2**31 and tensor.strides[0] & (tensor.strides[0] - 1)
                assert 5 * tensor.strides[0] > 2**32
            if "heads" in kernel.parameters:
                continue  # a program goes over all of them: many would take long
            others = ("many of both", POSITIONS, FAR_ROWS)
            [tall] = [c for c in cases if c.programs and not any(name in c.name for name in others)]
            assert max(tall.programs) + 1 == np.prod(tall.grid)
            assert any((b - a).bit_count() == 1 for a, b in itertools.combinations(tall.programs, 2) if b > a + 16)
            assert tall.tensors[next(iter(tall.tensors))].values.shape[0] > (65_536 if puzzle in ROWS else 256)


def rows_are_far(case: Case) -> bool:
    """Return whether rows of Q and K begin beyond 2**32 elements, and those of a tile within 2**31 from its first."""
    matrices = [t for t in case.tensors.values() if t.values.ndim == 3 and t.axes[-1].kind is AxisKind.DIMENSION]
    tiles = [(t.values.shape[1], t.strides[1], t.axes[1].block) for t in matrices]
    return all((n - 1) * stride > 2**32 and block * stride < 2**31 for n, stride, block in tiles)


NEEDED = {  # what a case of a property asks for whatever its sizes are
    "far-rows": {"strides", "row-tail", "any-size", "any-k"},
    "far-offsets": {"heads"},
    "hidden-queries": {"causal"},
}


@pytest.mark.parametrize("key", KEYS[:4])
@pytest.mark.parametrize("puzzle", [stem.split("_")[0] for stem in STEMS_OF_KERNELS])
def test_each_property_has_a_case_that_asks_for_nothing_else(puzzle: str, key: str) -> None:
    """So that what loses one of them need not lose the others."""
    of_values = {p.name for p in catalog.load(puzzle).properties if not p.traffic}
    plain = {
        name
        for case in cases_of(puzzle, key)
        for name in case.proves
        if (case.asks & of_values) <= NEEDED.get(name, set())
    }
    assert of_values <= plain


@pytest.mark.parametrize("puzzle", [stem.split("_")[0] for stem in STEMS_OF_KERNELS])
def test_one_of_them_does_not_fill_its_blocks_where_that_is_meant(puzzle: str) -> None:
    """Else a mask that is missing would be lost with the strides, or with half precision, as the key has it."""
    loaded = catalog.load(puzzle)
    of_values = {p.name for p in loaded.properties if not p.traffic}
    for key in range(200 if puzzle in ROWS else 4):  # where strides are drawn launch by launch
        cases = loaded.cases(loaded.draw(f"key {key}"))
        for name in of_values & {"any-length", "any-size", "any-k", "row-tail"}:
            own = [case for case in cases if name in case.proves and not case.asks & of_values]
            assert any(in_part(case) for case in own), (name, key)


def in_part(case: Case) -> bool:
    """Whether a tensor has an axis that is no multiple of its blocks."""
    axes = [pair for t in case.tensors.values() for pair in zip(t.values.shape, t.axes, strict=False)]
    return any(axis.block and extent % axis.block for extent, axis in axes)


def is_real(case: Case) -> bool:
    """Blocks as on a GPU: 1024 columns or more, or tiles of 64 x 64 with D = 128 in fp16, D = 64 in fp32."""
    if "D" not in case.constexprs:
        block = case.constexprs.get("BLOCK_COLS") or case.constexprs["BLOCK_SIZE"]
        return block >= 1024 and case.scalars["n_cols"] > block // 2
    half = next(iter(case.tensors.values())).values.dtype == np.float16
    return case.constexprs["Br"] == case.constexprs.get("Bc", 64) == 64 and case.constexprs["D"] == (
        128 if half else 64
    )


@pytest.mark.parametrize("puzzle", [*ROWS, "w2", "w3", *ATTENTION])
def test_strides_are_drawn_from_the_key(puzzle: str) -> None:
    """No stride can be guessed: over a few keys each tensor has many."""
    seen: dict[tuple[str, str], set[int]] = {}
    for key in KEYS[:8]:
        for case in cases_of(puzzle, key):
            for scalar, value in case.scalars.items():
                if scalar.endswith("_stride"):
                    seen.setdefault((case.kernel, scalar), set()).add(int(value))
            assert all(
                t.role is Role.INPUT or np.isnan(t.values).all() or t.role is Role.STATE for t in case.tensors.values()
            )
    assert all(len(values) > 40 for values in seen.values())


def layouts(cases: Iterable[Case], first: str, second: str) -> set[str]:
    """How two kinds of tensors lie in these launches."""
    found = set()
    for case in cases:
        if first not in case.tensors or second not in case.tensors:
            continue
        one, other = case.tensors[first], case.tensors[second]
        x, y = one.strides[-2], other.strides[-2]
        dense = x == one.values.shape[-1], y == other.values.shape[-1]
        order = "alike" if x == y else "first wider" if x > y else "second wider"
        found.add(
            {(True, True): "dense", (False, True): "first padded", (True, False): "second padded"}.get(dense, order)
        )
    return found


ALL_LAYOUTS = {"dense", "first padded", "second padded", "alike", "first wider", "second wider"}


@pytest.mark.parametrize("key", KEYS[:4])
@pytest.mark.parametrize("puzzle", [*ROWS, *ATTENTION])
def test_tensors_lie_in_every_way_in_every_check(puzzle: str, key: str) -> None:
    pair = ("x_ptr", "y_ptr") if puzzle in ROWS else ("q_ptr", "k_ptr")
    for kernel in catalog.load(puzzle).kernels:
        own = [c for c in cases_of(puzzle, key) if c.kernel == kernel.name]
        if pair[0] in kernel.parameters:
            assert layouts(own, *pair) == ALL_LAYOUTS, (kernel.name, key)


@pytest.mark.parametrize("key", KEYS[:4])
@pytest.mark.parametrize("puzzle", ATTENTION)
def test_every_pair_of_what_a_launch_has_besides_its_sizes_occurs(puzzle: str, key: str) -> None:
    wanted = {
        frozenset(pair) for pair in itertools.product([(name, on) for name in FACTS for on in (False, True)], repeat=2)
    }
    wanted = {pair for pair in wanted if len({name for name, _ in pair}) == 2}
    for kernel in catalog.load(puzzle).kernels:
        own = [c for c in cases_of(puzzle, key) if c.kernel == kernel.name and "every size" in c.name]
        facts = [[(name, of(case)) for name, of in FACTS.items()] for case in own if "k_ptr" in case.tensors]
        pairs = {frozenset(pair) for some in facts for pair in itertools.combinations(some, 2)}
        assert not facts or wanted == pairs, (kernel.name, key, wanted - pairs)


FACTS = {
    "half": lambda case: in_half(case.tensors["k_ptr"]),
    "heads": lambda case: case.tensors["k_ptr"].values.shape[0] > 1,
    "wide": lambda case: case.constexprs["D"] > 16,
    "scale of 1": lambda case: case.scalars["scale"] == 1.0,
}


@pytest.mark.parametrize("key", KEYS[:12])
def test_every_kind_of_bias_meets_every_class_of_sizes(key: str) -> None:
    """Each set of strides that are 0, with each class of queries and of keys, in both types, full and causal."""
    kinds = list(itertools.product((False, True), repeat=3))
    wanted = {
        *itertools.product(kinds, ("queries", "keys"), range(4)),
        *itertools.product(kinds, ("half", "causal", "heads"), (False, True)),
    }
    found: set[tuple[object, ...]] = set()
    for case in cases_of("b1", key):
        if case.kernel == "attention_bias_kernel":
            kind, shape = tuple(case.scalars[f"bias_{of}_stride"] > 0 for of in ("head", "row", "col")), shape_of(case)
            found.add((kind, "queries", int(covering.remainder_class(shape.n_q, shape.Br))))
            found.add((kind, "keys", int(covering.remainder_class(shape.n_k, shape.Bc))))
            found.add((kind, "half", in_half(case.tensors["bias_ptr"])))
            found |= {(kind, "causal", is_causal(case)), (kind, "heads", shape.heads > 1)}
    assert wanted <= found, wanted - found


@pytest.mark.parametrize("key", KEYS[:4])
def test_a_bias_lies_in_every_way(key: str) -> None:
    """Dense, with padded rows, with keys some elements apart, and transposed; of both kernels."""
    for kernel in ("attention_bias_kernel", "dbias_kernel"):
        found = set()
        for case in (c for c in cases_of("b1", key) if c.kernel == kernel):
            of_row, of_key = (int(case.scalars[f"bias_{of}_stride"]) for of in ("row", "col"))
            if of_row and of_key and min(case.tensors["bias_ptr"].values.shape[-2:]) > 1:
                dense = of_row == case.tensors["bias_ptr"].values.shape[-1]
                apart = "transposed" if of_row == 1 else "spread" if of_key > 1 else "dense" if dense else "padded"
                found.add(apart)
        assert found == {"dense", "padded", "spread", "transposed"}, (kernel, found)
