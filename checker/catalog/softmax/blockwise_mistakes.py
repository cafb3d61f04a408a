"""Mistakes in walking a row in blocks, for every softmax that subtracts the maximum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from checker.catalog.lines import (
    maximum,
    minimum,
    normaliser,
    range_to_block,
    ratio_of_exponentials,
    start_above,
    start_times_step,
    started_in_loop,
    unshifted,
    zeroed_infinity,
    zeroed_padding,
)
from checker.catalog.softmax.mistakes import y_is
from checker.catalog.softmax.models import (
    ABOVE_A_ROW,
    BLOCK,
    LANE,
    LATE,
    NEAR_A_ROW,
    by_passes,
    max_over,
    relative,
    sum_over,
)
from checker.catalog.softmax.reference import softmax
from checker.catalog.softmax.rows import block_size, columns
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Load, Mask, Unwritten, Writes
from checker.course.text import Line

idea = Ideas(__file__)


def _unwritten_from(column: Callable[[Case], int], line: Line | None = None) -> Unwritten:
    """Return outputs that lack this column of each row and all after it."""

    def elements(case: Case) -> dict[str, Mask]:
        shape = case.tensors["y_ptr"].values.shape
        return {"y_ptr": np.broadcast_to(np.arange(shape[1]) >= column(case), shape)}

    return Unwritten(elements, line=line)


def _whole_blocks(case: Case) -> int:
    """Return the number of columns in whole blocks."""
    return columns(case) // block_size(case) * block_size(case)


def _max_of_lane(x: Array) -> Array:
    return max_over(x, LANE)


def _max_of_block(x: Array) -> Array:
    return max_over(x, BLOCK)


def _max_of_magnitudes(x: Array) -> Array:
    return max_over(np.abs(x))


def _sum_of_last_block(e: Array) -> Array:
    return sum_over(e[:, -1:])


def _last_block(x: Array) -> Array:
    return x[:, -1:]


def _lse(x: Array) -> Array:
    """Return log(sum(exp(x))) of each row, rounded to fp32."""
    return np.asarray((max_over(x) + np.log(sum_over(relative(x, max_over(x))))).astype(np.float32))


def _starting_at(start: float) -> Writes:
    """Return the softmax with a running maximum that starts at this number."""
    return by_passes(lambda x: np.maximum(max_over(x), start)).at(start_above, needed=True)


BLOCKWISE = (
    idea("first-block-only", _unwritten_from(block_size, start_times_step)),
    idea("first-block-only/loop-to-block", _unwritten_from(block_size, range_to_block)),
    idea("tail-left-out", _unwritten_from(_whole_blocks)),
    idea("first-block-only/written", _unwritten_from(block_size)),
    idea("max-by-lane", by_passes(_max_of_lane).at(maximum)),
    idea("x-not-loaded-again", by_passes(x_in_result=_last_block)),
    idea(
        "x-not-loaded-again/later-passes",
        by_passes(l=lambda e: _sum_of_last_block(e) * e.shape[1], x_in_result=_last_block),
    ),
    idea("written-too-early", by_passes(l=lambda e: np.cumsum(sum_over(e, BLOCK), axis=1))),
    idea("own-maximum-in-result", by_passes(m_in_result=_max_of_block)),
    idea("not-the-maximum", by_passes(_max_of_magnitudes, other_in_max=0.0), by_passes(_max_of_magnitudes)),
    idea("not-the-maximum/mean", by_passes(lambda x: np.nanmean(x, axis=(1, 2), keepdims=True), other_in_max=np.nan)),
    idea("not-the-maximum/first-element", by_passes(lambda x: x[:, :1, :1])),
    idea(
        "minimum-for-maximum", by_passes(lambda x: max_over(x.min(axis=BLOCK, keepdims=True))).at(minimum, needed=True)
    ),
    idea("minimum-for-maximum/running", by_passes(lambda x: np.full_like(x, np.nan)).at(minimum, needed=True)),
    idea("block-local", by_passes(_max_of_block, lambda e: sum_over(e, BLOCK))),
    idea("no-max-subtraction", by_passes(np.zeros_like).at(unshifted, needed=True)),
    idea("max-forgotten-in-result", by_passes(m_in_result=np.zeros_like)),
    idea(
        "subtracted-too-late",
        *(by_passes(term=late, result=late).at(ratio_of_exponentials, needed=True) for late in LATE),
        *(by_passes(term=late).at(ratio_of_exponentials, needed=True) for late in LATE),
        *(by_passes(result=late).at(ratio_of_exponentials, needed=True) for late in LATE),
    ),
    idea("sum-of-x", by_passes(term=lambda x, m: x), by_passes(term=lambda x, m: x - m)),
    idea("lse-as-the-state", by_passes(_lse, np.ones_like)),
    idea("max-of-last-block", by_passes(lambda x: max_over(_last_block(x))).at(maximum)),
    idea("first-block-again", y_is(lambda x, c: softmax(x[:, np.arange(x.shape[1]) % block_size(c)])).at(Load.LAST)),
    idea("max-starts-at-zero", _starting_at(0.0)),
    idea("max-starts-too-high", *map(_starting_at, ABOVE_A_ROW)),
    idea("padding-in-max", by_passes(other_in_max=0.0).at(Load.PADDED, needed=True)),
    idea("padding-in-max/a-number", *(by_passes(other=number).at(Load.PADDED) for number in NEAR_A_ROW)),
    idea(
        "sums-padded-lanes",
        by_passes(other=0.0, other_in_max=-np.inf).at(zeroed_padding, needed=True),
        by_passes(other=0.0).at(zeroed_padding, needed=True),
    ),
    idea(
        "sums-padded-lanes/infinity",
        by_passes(other=0.0, zeroed="in statistics").at(zeroed_infinity, needed=True),
        by_passes(other=0.0, zeroed="everywhere").at(zeroed_infinity, needed=True),
        by_passes(other=0.0, other_in_max=-np.inf).at(zeroed_infinity, needed=True),
    ),
    idea("sums-padded-lanes/sum", by_passes(other=0.0, other_in_max=-np.inf).at(Load.LAST)),
    idea("sums-padded-lanes/maximum-and-sum", by_passes(other=0.0).at(Load.LAST)),
    idea("sum-of-last-block", by_passes(l=_sum_of_last_block).at(started_in_loop, needed=True)),
    idea("sum-of-last-block/last-block", by_passes(l=_sum_of_last_block)),
    idea("sum-not-kept", by_passes(l=lambda e: 0.0 * sum_over(e)).at(normaliser)),
)
