"""Splits and their merge: what the cases cover, whatever the key; the reference and the bounds, counted once more."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from checker import catalog
from checker.catalog.attention.launch import Shape, wide
from checker.catalog.attention.reference import forward, scores
from checker.catalog.attention.values import normal_inputs
from checker.catalog.cases import covering
from checker.catalog.split.bounds import budget, by_hand, work
from checker.catalog.split.cases import KINDS, drawn_parts, of_every_class, right_parts
from checker.catalog.split.launch import Cut, cut_of, is_split, keys_of, launch_merge, launch_split, tiles_of
from checker.catalog.split.reference import expected, merged
from checker.course.case import Case

PUZZLE = catalog.load("b3")
KEYS = ["practice", *(f"key {n}" for n in range(20))]
ODD = Shape(3, 50, 16, 16, 16, heads=2)  # 50 keys in splits of 20, as in the lesson


def made(shape: Shape, cut: Cut) -> Case:
    return launch_split("made", (), shape, cut, normal_inputs(np.random.default_rng(0), shape))


@pytest.mark.parametrize("key", KEYS)
def test_every_pair_of_classes_is_there(key: str) -> None:
    """Keys of a split by Bc, keys by those of a split, queries by Br; each with splits without keys and without any."""
    chosen = of_every_class(PUZZLE.draw(key).case("sizes"))
    of_keys = [int(covering.remainder_class(c.cut.keys, c.shape.Bc)) for c in chosen]
    of_all = [int(covering.remainder_class(c.shape.n_k, c.cut.keys)) for c in chosen]
    of_queries = [int(covering.remainder_class(c.shape.n_q, c.shape.Br)) for c in chosen]
    for one, other in ((of_keys, of_all), (of_keys, of_queries), (of_all, of_queries)):
        assert {*zip(one, other, strict=True)} == {*product(range(4), range(4))}
    empty = [c.cut.splits - -(-c.shape.n_k // c.cut.keys) for c in chosen]
    assert {*zip(of_keys, empty, strict=True)} == {*product(range(4), range(3))}
    several = [c.cut.keys > c.shape.Bc for c in chosen]
    assert {*zip(of_keys, several, strict=True)} == {*product(range(4), (True, False))} - {(1, False)}
    assert all(c.shape.n_q <= c.shape.Br and 0 <= e <= 2 for c, e in zip(chosen, empty, strict=True))


@pytest.mark.parametrize("key", KEYS)
def test_what_a_launch_promises_holds_in_every_case(key: str) -> None:
    for case in PUZZLE.cases(PUZZLE.draw(key)):
        if is_split(case):
            assert case.scalars["n_q"] <= case.constexprs["Br"], case.name
            assert cut_of(case).splits * cut_of(case).keys >= case.scalars["n_k"], case.name
            assert cut_of(case).splits * cut_of(case).keys < 2**31
        else:
            lse, Bs = wide(case, "lse_part"), int(case.constexprs["Bs"])
            assert Bs >= len(lse) and Bs & (Bs - 1) == 0
            assert np.isfinite(lse.max(axis=0)).all() and (wide(case, "o_part")[np.isinf(lse)] == 0).all(), case.name


def test_some_case_has_each_kind_of_parts_and_some_an_empty_split() -> None:
    cases = PUZZLE.cases(PUZZLE.draw())
    assert any((tiles_of(case) == 0).sum() > 1 for case in cases if is_split(case))
    kinds = {kind for case in cases if not is_split(case) for kind in case.tensors["o_ptr"].axes[1].labels}
    assert kinds >= {*KINDS}


def test_parts_of_all_splits_merge_to_attention() -> None:
    case = made(ODD, Cut(4, 20))
    right = forward(scores(case), wide(case, "v"))
    parts = expected(case)
    o, lse = merged(parts["o_part_ptr"].values, parts["lse_part_ptr"].values)
    assert np.allclose(o, right.o, atol=1e-12) and np.allclose(lse, right.lse, atol=1e-12)
    empty = {name: one.values[3] for name, one in parts.items()}
    assert (empty["o_part_ptr"] == 0).all() and (empty["lse_part_ptr"] == -np.inf).all()


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("splits", [2, 33])
def test_a_merge_of_parts_in_any_order_is_right(splits: int, order: int) -> None:
    """One after the other, in fp32, by the rule of p3; parts that are no more than fp16 are not."""
    shape = Shape(16, 1, 16, 1, 1)
    parts = drawn_parts(np.random.default_rng(splits), shape, splits)
    right = expected(launch_merge("made", (), shape, 64, parts))
    m, l, o = np.full((1, 16), -np.inf, np.float32), np.zeros((1, 16), np.float32), np.zeros((1, 16, 16), np.float32)
    for lse, one in list(zip(parts.lse, parts.o, strict=True))[::order]:
        m_new = np.maximum(m, lse)
        shift = np.where(np.isinf(m_new), np.float32(0), m_new)
        alpha, weight = np.exp(m - shift), np.exp(lse - shift)
        m, l, o = m_new, alpha * l + weight, alpha[..., None] * o + weight[..., None] * one
    assert (np.abs(o / l[..., None] - right["o_ptr"].values) <= right["o_ptr"].tolerance).all()
    assert (np.abs(m + np.log(l) - right["lse_ptr"].values) <= right["lse_ptr"].tolerance).all()
    lost, _ = merged(parts.o.astype(np.float16).astype(np.float64), parts.lse.astype(np.float64))
    assert (np.abs(lost - right["o_ptr"].values) > right["o_ptr"].tolerance).any()


def test_bounds_are_the_closed_forms() -> None:
    case, heads, n_q, n_k, d, splits = made(ODD, Cut(4, 20)), 2, 3, 50, 16, 4
    found = budget(case)
    assert found["q_ptr"].loads == splits * heads * n_q * d
    assert found["k_ptr"].loads == found["v_ptr"].least_loads == heads * n_k * d
    assert found["o_part_ptr"].stores + found["lse_part_ptr"].stores == splits * heads * n_q * (d + 1)
    assert [keys_of(case, split) for split in range(4)] == [(0, 20), (20, 40), (40, 50), (50, 50)]
    assert work(case) == 2 * heads * (2 + 2 + 1 + 0) * 16 * 16 * 16
    assert by_hand(case).size == splits * heads
    inputs = normal_inputs(np.random.default_rng(0), ODD)
    merge = launch_merge("made", (), Shape(3, 1, 16, 1, 1, 2), 4, right_parts(ODD, Cut(4, 20), inputs))
    found = budget(merge)
    assert found["o_part_ptr"].loads + found["lse_part_ptr"].loads == splits * heads * n_q * (d + 1)
    assert found["o_ptr"].stores + found["lse_ptr"].stores == heads * n_q * (d + 1)
    assert work(merge) == 0
