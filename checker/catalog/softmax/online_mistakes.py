"""Mistakes in updating the maximum and the normaliser in one pass."""

from __future__ import annotations

from itertools import product

import numpy as np

from checker.catalog.lines import inverse_factor, minimum, ratio_of_exponentials
from checker.catalog.numbers import exp32
from checker.catalog.softmax import blockwise_mistakes
from checker.catalog.softmax.models import ABOVE_A_ROW, LATE, by_passes, guarded, max_over, online, relative, unguarded
from checker.course.case import Array
from checker.course.misconception import Ideas, Writes

idea = Ideas(__file__, blockwise_mistakes.idea)


def _no_factor(m: Array, m_new: Array) -> Array:
    return np.ones_like(m)


def _of_block(m: Array, m_block: Array) -> Array:
    return m_block


def _at_least_0_after_infinity(x: Array) -> Array:
    """Return the maximum of a row, and at least 0 if its first block is all -inf; x has shape (rows, blocks, lanes)."""
    return np.where(np.isinf(max_over(x[:, :1])), np.maximum(max_over(x), 0.0), max_over(x))


def _at_least(least: float) -> Writes:
    """Return the softmax that subtracts the maximum or this number, the larger one."""
    return online(guard=lambda m, first: np.maximum(m, least))


ONLINE = (
    idea("denominator-not-rescaled", online(_no_factor)),
    idea("new-part-rescaled-too", online(new_part_rescaled=True)),
    idea("minimum-for-maximum", online(new_max=np.minimum).at(minimum, needed=True)),
    idea("max-not-kept", online(next_max=lambda m_new, m_block: np.full_like(m_new, -np.inf))),
    idea("new-part-not-rescaled", online(block_max_in_term=True)),
    idea("rescaled-by-the-inverse", online(lambda m, m_new: exp32(m_new - m)).at(inverse_factor, needed=True)),
    idea("written-too-early", online(divided_by="running l")),
    idea("written-too-early/in-one-loop", online(_no_factor, divided_by="running l")),
    idea("written-too-early/relative", online(divided_by="last l")),
    idea("factor-overflows", *(online(late).at(ratio_of_exponentials, needed=True) for late in LATE)),
    idea(
        "subtracted-too-late",
        *(
            online(factor, guard, term=late, result=result)
            for late in LATE
            for factor, guard, result in product((relative, late), (guarded, unguarded), (late, relative))
        ),
    ),
    idea("sum-of-x", online(term=lambda x, m: x, padded=True), online(term=lambda x, m: x - m, padded=True)),
    idea("max-of-last-block", online(new_max=_of_block), online(next_max=_of_block)),
    idea("guard-in-the-maximum", by_passes(_at_least_0_after_infinity)),
    idea("guard-in-the-maximum/far-below", *map(_at_least, (0.0, *ABOVE_A_ROW))),
    idea("minus-infinity-prefix", online(guard=lambda m, first: guarded(m) if first else m)),
    idea("minus-infinity-prefix/unguarded", online(guard=unguarded)),
)
