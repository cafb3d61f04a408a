"""A name needs a prediction that fits, and a generic report says what is so."""

from __future__ import annotations

import re

import pytest

from checker.check import Conditions
from tests.conftest import check_changed


@pytest.mark.parametrize(
    ("puzzle_id", "old", "new", "id"),
    [
        ("p6", "start_q + Br + offset", "start_q + Br - 1 + offset", "loop-ends-too-early"),
        ("p6", "end_k = n_k\n", "end_k = n_k - 1\n", "loop-ends-too-early"),
        ("p7", "start_q + Br + offset", "start_q + Br - 1 + offset", "last-tile-left-out"),
        ("p7", "start_k - offset) //", "start_k - offset + 1) //", "first-tile-left-out"),
    ],
)
def test_a_mistake_at_the_edge_of_a_tile_is_named_and_marked(
    puzzle_id: str, old: str, new: str, id: str, quick: Conditions
) -> None:
    (finding,) = check_changed(puzzle_id, old, new, quick).findings
    assert finding.id == id
    assert new.strip() in dict(finding.where.source)[finding.where.line or 0]


def test_what_is_loaded_again_in_the_loop_is_no_hidden_tile(quick: Conditions) -> None:
    old = "        Sij = scale"
    again = "        if CAUSAL:\n            Qi = tl.load(q_ptr + q_offsets, mask=q_mask, other=0.0)\n"
    (finding,) = check_changed("p6", old, again + old, quick).findings
    assert finding.id == "read-too-often"


def test_without_a_name_the_sizes_are_told(quick: Conditions) -> None:
    old = "    # Line 12: divide once."
    new = "    Oi = tl.where(((n_k - n_q) % Bc + Bc) % Bc == 1, 0.5 * Oi, Oi)\n" + old
    (finding,) = check_changed("p6", old, new, quick).findings
    assert finding.id == "wrong-values"
    assert re.search(r"\(n_k - n_q\) % B. == 1; of those that came out right, none has", finding.explanation)
