"""A product of matrices: what its cases cover, whatever the key; its bounds; what a right kernel may be off by."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from checker import catalog
from checker.catalog.cases import covering
from checker.catalog.matmul.cases import BLOCKS, CaseMaker, normal_matrices
from checker.catalog.matmul.launch import Shape, launch, shape_of
from checker.catalog.matmul.reference import budget, expected, work
from checker.course.case import Case

PUZZLE = catalog.load("a1")
[KERNEL] = PUZZLE.kernels
KEYS = ["practice", "autumn", "winter"]


def made(shape: Shape, dtype: type = np.float32) -> Case:
    return launch(KERNEL, "made", (), shape, *normal_matrices(np.random.default_rng(0), shape, dtype))


def factors(case: Case) -> dict[str, object]:
    s = shape_of(case)
    sides = {"m": (s.m, s.Bm), "n": (s.n, s.Bn), "k": (s.k, s.Bk)}
    of = {f"class of {name}": int(covering.remainder_class(*side)) for name, side in sides.items()}
    return (
        of | {f"several along {name}": n > block for name, (n, block) in sides.items()} | {"blocks": (s.Bm, s.Bn, s.Bk)}
    )


@pytest.mark.parametrize("key", KEYS)
def test_every_pair_of_classes_is_there(key: str) -> None:
    draw = PUZZLE.draw(key)
    cases = [factors(case) for case in CaseMaker(KERNEL, draw, draw.case("sizes")).of_every_class()]
    for one, other in combinations(cases[0], 2):
        sides = [BLOCKS if name == "blocks" else range(2 if "several" in name else 4) for name in (one, other)]
        assert {(case[one], case[other]) for case in cases} == {*product(*sides)}, (one, other)


def test_bounds_are_the_closed_forms() -> None:
    case = made(Shape(47, 81, 70, 16, 32, 32))
    found = budget(case)
    assert found["a_ptr"].loads == 3 * 47 * 70 == 9870
    assert found["b_ptr"].loads == 3 * 81 * 70 == 17010
    assert found["c_ptr"].stores == 47 * 81 == 3807
    assert work(case) == 3 * 3 * 3 * 16 * 32 * 32


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("order", [1, -1])
def test_sums_in_any_order_of_tiles_are_right(dtype: type, order: int) -> None:
    case = made(Shape(33, 20, 1000, 16, 16, 32), dtype)
    a, b = (case.tensors[name].values.astype(np.float32) for name in ("a_ptr", "b_ptr"))
    c = np.zeros((33, 20), np.float32)
    for start in range(0, 1000, 32)[::order]:
        for column in range(start, min(start + 32, 1000)):
            c += np.outer(a[:, column], b[:, column])
    right = expected(case)["c_ptr"]
    off = np.abs(c.astype(dtype) - right.values)
    assert (off <= right.tolerance).all()
    lost = np.abs(a.astype(np.float16) @ b.T.astype(np.float16) - right.values)
    assert dtype is np.float16 or (lost > right.tolerance).any()


@pytest.mark.parametrize("key", KEYS)
def test_fp16_holds_every_entry(key: str) -> None:
    for case in PUZZLE.cases(PUZZLE.draw(key)):
        if case.tensors["c_ptr"].values.dtype == np.float16:
            assert np.abs(expected(case)["c_ptr"].values).max() < 60_000
