"""How much of a tile must be loaded at once."""

from __future__ import annotations

import numpy as np

from checker.catalog import p7_causal_backward as p7
from checker.catalog.attention.backward_cases import launch_with
from checker.catalog.attention.launch import Shape
from checker.catalog.attention.values import normal_inputs


def test_no_more_queries_are_asked_for_at_once_than_see_a_key() -> None:
    """A loop may begin just at the first query that sees one, which loads much less than a tile."""
    random, shape = np.random.default_rng(0), Shape(32, 3, 64, 32, 16)
    case = launch_with(p7.DK_DV, "few keys", "dk-dv", shape, normal_inputs(random, shape), random)
    assert p7.budget(case)["do_ptr"].least_at_once <= 3 * 64
