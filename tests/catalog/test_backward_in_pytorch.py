"""The expected values of a4 are PyTorch's gradients; its budget has no room for whole matrices."""

from __future__ import annotations

import numpy as np
import pytest

from checker import catalog
from checker.catalog.attention.pytorch.calls import most, plain
from checker.course.case import Case, Role
from tests.catalog.test_attention_in_pytorch import in_tiles_seen, positions
from tests.conftest import importable

A4 = catalog.load("a4")
KEYS = ["practice", *(f"key {n}" for n in range(40))]


def cases(key: str) -> list[Case]:
    return A4.cases(A4.draw(key))


@pytest.mark.parametrize("key", KEYS[:3])
def test_expected_values_are_those_of_automatic_differentiation(key: str) -> None:
    """O and LSE are given in the type of the call, and what is lost by that is within the tolerance."""
    torch = importable("torch")
    for case in cases(key):
        given = {name: torch.from_numpy(tensor.values.astype(np.float64)) for name, tensor in case.tensors.items()}
        q, k, v = leaves = [given[name].requires_grad_() for name in "qkv"]
        last, keys = positions(case)
        hidden = torch.from_numpy(keys > last)
        alone = hidden.all(dim=1)[:, None]
        s = case.scalars["scale"] * (q @ k.transpose(2, 3))
        # A softmax of nothing but -inf has no gradient: queries without keys see all of them, and give nothing.
        p = torch.softmax(s.masked_fill(hidden & ~alone, -float("inf")), dim=3) * ~alone
        gradients = torch.autograd.grad(p @ v, leaves, given["do"])
        lse = torch.logsumexp(s.masked_fill(hidden, -float("inf")), dim=3)
        double = case.tensors["q"].values.dtype == np.float64
        for name, right in zip(("dq", "dk", "dv"), gradients, strict=True):
            expected = A4.expected(case)[name]
            assert expected.values.shape == expected.tolerance.shape == case.tensors[name].values.shape
            off = np.abs(expected.values - right.numpy())
            assert (off <= expected.tolerance / (100 if double else 1)).all(), (case.name, name)
        for name, right in (("o", p @ v), ("lse", lse)):
            close = 1e-12 if double else 1e-6
            assert np.allclose(case.tensors[name].values, right.detach().numpy(), rtol=close, atol=close), case.name


@pytest.mark.parametrize("key", KEYS[:3])
def test_fp32_is_not_good_enough_for_fp64(key: str) -> None:
    """What is rounded to fp32 at the very end is out of bounds already."""
    for case in cases(key):
        if case.tensors["q"].values.dtype == np.float64:
            assert any(
                (np.abs(of.values.astype(np.float32) - of.values) > of.tolerance).any()
                for of in A4.expected(case).values()
            ), case.name


def test_what_may_be_multiplied_is_five_products_for_each_tile_that_is_seen_in_either_order() -> None:
    """And delta once."""
    for case in cases("practice"):
        batch, heads, n_q, d = case.tensors["q"].values.shape
        tiles, delta = 5 * batch * heads * d * in_tiles_seen(case), batch * heads * n_q * d
        assert most(case).products == tiles + delta
        assert tiles <= plain(case).products


@pytest.mark.parametrize("key", KEYS)
def test_some_case_has_no_room_for_scores_strips_masks_lists_or_more_work(key: str) -> None:
    """For every key, full and causal alike, but for strips: one of them is enough."""
    found = set()
    for case in cases(key):
        batch, heads, n_q, d = case.tensors["q"].values.shape
        n_k, Br, Bc = case.tensors["k"].values.shape[2], int(case.constexprs["Br"]), int(case.constexprs["Bc"])
        if "memory-and-work" not in case.proves:
            continue
        enough, h, causal = most(case), batch * heads, bool(case.constexprs["causal"])
        sizes = {"scores": h * n_q * n_k, "keys": h * Br * n_k, "queries": h * n_q * Bc, "mask": n_q * n_k}
        found |= {(what, causal) for what, size in sizes.items() if size > enough.largest}
        in_tiles = enough.products - h * n_q * d
        outputs = sum(tensor.values.size for tensor in case.tensors.values() if tensor.role is Role.OUTPUT)
        if in_tiles // (5 * d) + outputs > enough.at_once:  # scores that are seen, in whole tiles
            found.add(("list", causal))
        if enough.products < plain(case).products:
            found.add(("work", causal))
        assert h * n_q * d < 5 * h * Br * Bc * d  # what delta may cost is no room for a tile that is hidden
    wanted = {(what, causal) for what in ("scores", "mask", "list") for causal in (False, True)}
    assert found >= wanted | {("keys", False), ("queries", False), ("work", True)}
    assert len({case.name for case in cases(key)}) == len(cases(key))
