"""Pairs of tiles that a kernel visits, in order, and those that it skips."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checker import catalog
from checker.sandbox.protocol.records import DOT, LOAD
from checker.trace import record, run, words
from tests.conftest import ROOT
from tests.trace.traces import BESIDE_DIAGONAL, STEMS, pairs_of, said, solution, traced, trail, wrong


def test_flash_attention_1_goes_down_the_columns() -> None:
    pairs = pairs_of(solution("p5"))
    assert trail(pairs) == {0: [(i, j) for j in range(4) for i in range(4)]}
    assert [v.number for v in pairs.visits] == list(range(1, 17))
    assert words.order(pairs) == words.COLUMN_BY_COLUMN
    assert not pairs.skipped and not pairs.hidden


def test_flash_attention_2_goes_along_the_rows_and_skips_what_is_hidden() -> None:
    pairs = pairs_of(solution("p6"))
    assert trail(pairs) == {i: [(i, j) for j in range(i + 1)] for i in range(4)}
    assert words.order(pairs) == words.ROW_BY_ROW
    assert pairs.skipped == pairs.hidden == BESIDE_DIAGONAL
    assert "6 of 16 pairs of tiles skipped, which the mask hides" in said(solution("p6"))


def test_the_backward_pass_goes_both_ways() -> None:
    delta, dk_dv, dq = solution("p7").launches
    assert delta.pairs is None
    assert trail(pairs_of(solution("p7"), 1)) == {j: [(i, j) for i in range(j, 4)] for j in range(4)}
    assert trail(pairs_of(solution("p7"), 2)) == {i: [(i, j) for j in range(i + 1)] for i in range(4)}
    assert dk_dv.pairs is not None and dq.pairs is not None
    assert (words.order(dk_dv.pairs), words.order(dq.pairs)) == (words.COLUMN_BY_COLUMN, words.ROW_BY_ROW)


def test_tiles_that_are_not_skipped_are_seen() -> None:
    trace = wrong("p6_blocks_not_skipped")
    assert pairs_of(trace).skipped == frozenset()
    assert "6 visited in vain: the mask hides all of them" in said(trace)
    assert "none of 16 pairs of tiles skipped" in said(trace)


def test_tiles_that_are_skipped_although_they_count_are_seen() -> None:
    text = (ROOT / "solutions" / f"{STEMS['p6']}.py").read_text()
    assert "start_q + Br + offset" in text
    trace = traced("p6", text.replace("start_q + Br + offset", "start_q + offset"))
    assert pairs_of(trace).skipped - BESIDE_DIAGONAL == {(i, i) for i in range(4)}
    assert "4 of them would have counted" in said(trace)


def test_a_product_without_loads_is_told() -> None:
    trace = wrong("p6_hidden_tiles_masked_only")
    assert pairs_of(trace).effort == 1.6
    assert "tl.dot multiplies 1.6 times as much" in said(trace)
    assert "tl.dot" not in said(solution("p6"))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=12), st.integers(1, 3), st.booleans())
def test_visits_are_pairs_of_what_was_loaded_last(trail: list[tuple[int, int]], products: int, reload: bool) -> None:
    """Whatever is reused and however often is multiplied: the pairs come back, each once in a row."""
    [case] = run.cases_of(catalog.load("p6"))
    names = list(case.tensors)
    kinds: list[tuple[int, int]] = []
    touched: list[range] = []
    last: dict[str, int] = {}
    for pair in trail:
        for name, tile in zip(("q_ptr", "k_ptr"), pair, strict=True):
            if reload or last.get(name) != tile:
                kinds.append((LOAD, names.index(name)))
                touched.append(range(tile * 256, (tile + 1) * 256))
            last[name] = tile
        kinds += [(DOT, 0)] * products
        touched += [range(0)] * products
    log = SimpleNamespace(
        kind=np.array([kind for kind, _ in kinds], np.int32),
        tensor=np.array([tensor for _, tensor in kinds], np.int32),
        program=np.zeros(len(kinds), np.int32),
        distinct=np.array([len(some) for some in touched], np.int32),
        elements=np.array([e for some in touched for e in some], np.int32),
    )
    found = list(record._visits(case, SimpleNamespace(log=log), {"q_ptr": "query", "k_ptr": "key"}))  # type: ignore[arg-type]
    once = [pair for n, pair in enumerate(trail) if n == 0 or pair != trail[n - 1]]
    assert [(v.query_tile, v.key_tile) for v in found] == once
    assert [v.number for v in found] == list(range(1, len(once) + 1))
