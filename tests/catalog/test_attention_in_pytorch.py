"""The expected values of a2 are those of PyTorch's own operations; its budget has no room for whole matrices."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from checker import catalog
from checker.catalog.attention.pytorch.calls import most, plain
from checker.course.case import Array, Case, Tensor
from tests.conftest import importable

A2 = catalog.load("a2")
KEYS = ["practice", *(f"key {n}" for n in range(40))]


def cases(key: str) -> list[Case]:
    return A2.cases(A2.draw(key))


def positions(case: Case) -> tuple[Array, Array]:
    """Of each query the last key that it sees, as a column, and of each key its own place."""
    n_q, n_k = case.tensors["q"].values.shape[2], case.tensors["k"].values.shape[2]
    return np.arange(n_q)[:, None] + n_k - n_q if case.constexprs["causal"] else np.full((n_q, 1), n_k), np.arange(n_k)


@pytest.mark.parametrize("key", KEYS[:3])
def test_expected_values_are_those_of_plain_attention(key: str) -> None:
    torch = importable("torch")
    for case in cases(key):
        q, k, v = (torch.from_numpy(case.tensors[name].values.astype(np.float64)) for name in "qkv")
        last, keys = positions(case)
        hidden = torch.from_numpy(keys > last)
        s = (case.scalars["scale"] * (q @ k.transpose(2, 3))).masked_fill(hidden, -float("inf"))
        o = torch.where(hidden.all(dim=1)[:, None], 0.0, torch.softmax(s, dim=3) @ v)
        for name, right in (("o", o), ("lse", torch.logsumexp(s, dim=3))):
            expected = A2.expected(case)[name]
            assert expected.values.shape == expected.tolerance.shape == case.tensors[name].values.shape
            with np.errstate(invalid="ignore"):
                off = np.abs(expected.values - right.numpy())
            assert ((expected.values == right.numpy()) | (off <= expected.tolerance / 100 + 1e-300)).all(), case.name


def span(tensor: Tensor) -> Any:
    """The places in memory of all elements."""
    at = np.zeros((1,) * tensor.values.ndim, np.int64)
    for axis, (extent, stride) in enumerate(zip(tensor.values.shape, tensor.strides, strict=True)):
        at = at + np.arange(extent).reshape([-1 if n == axis else 1 for n in range(tensor.values.ndim)]) * stride
    return at


def in_tiles_seen(case: Case) -> int:
    """How many scores of one head stand in tiles of which any is seen."""
    last, keys = positions(case)
    sees = keys <= last
    Br, Bc = int(case.constexprs["Br"]), int(case.constexprs["Bc"])
    starts = itertools.product(range(0, sees.shape[0], Br), range(0, sees.shape[1], Bc))
    tiles = [sees[i : i + Br, j : j + Bc] for i, j in starts]
    return sum(tile.size for tile in tiles if tile.any())


@pytest.mark.parametrize("puzzle_id", ["a2", "a4"])
def test_no_two_elements_share_a_place(puzzle_id: str) -> None:
    puzzle = catalog.load(puzzle_id)
    for case in puzzle.cases(puzzle.draw()):
        for tensor in case.tensors.values():
            at = span(tensor)
            assert np.unique(at).size == at.size == tensor.values.size


def test_what_may_be_multiplied_is_two_products_for_each_tile_that_is_seen() -> None:
    for case in cases("practice"):
        batch, heads, _, d = case.tensors["q"].values.shape
        assert most(case).products == 2 * batch * heads * d * in_tiles_seen(case) <= plain(case).products


@pytest.mark.parametrize("key", KEYS)
def test_some_case_has_no_room_for_scores_strips_masks_or_lists(key: str) -> None:
    """For every key, full and causal alike, but for strips: one of them is enough."""
    found = set()
    for case in cases(key):
        batch, heads, n_q, d = case.tensors["q"].values.shape
        n_k, Br, Bc = case.tensors["k"].values.shape[2], int(case.constexprs["Br"]), int(case.constexprs["Bc"])
        if "memory-and-work" not in case.proves:
            continue
        enough, h = most(case), batch * heads
        sizes = {"scores": h * n_q * n_k, "keys": h * Br * n_k, "queries": h * n_q * Bc, "mask": n_q * n_k}
        found |= {(what, bool(case.constexprs["causal"])) for what, size in sizes.items() if size > enough.largest}
        if enough.products // (2 * d) > enough.at_once:  # scores that are seen, in whole tiles
            found.add(("list", bool(case.constexprs["causal"])))
        if enough.products < plain(case).products:
            found.add(("work", True))
    wanted = {(what, causal) for what in ("scores", "mask", "list") for causal in (False, True)}
    assert found >= wanted | {("keys", False), ("queries", False), ("work", True)}
    assert len({case.name for case in cases(key)}) == len(cases(key))
