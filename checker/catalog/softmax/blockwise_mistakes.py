"""What kernels that walk a row in blocks would write, with a wrong idea of its maximum, its sum or its loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from checker.catalog.numbers import exp32
from checker.catalog.softmax.mistakes import shifted, total, y_is
from checker.catalog.softmax.reference import softmax
from checker.catalog.softmax.rows import block_size
from checker.course.case import Array, Case
from checker.course.misconception import Part, Unwritten, Writes
from checker.course.words import Ideas

idea = Ideas(__file__)

Exponential = Callable[[Array, Array], Array]  # of x relative to m


def relative(x: Array, m: Array) -> Array:
    """exp(x - m), as it should be."""
    return exp32(x - m)


# What is the same on paper, and subtracts after the exponential.
LATE: tuple[Exponential, ...] = (lambda x, m: exp32(x) / exp32(m), lambda x, m: exp32(x) * exp32(-m))


def blocks(x: Array, case: Case) -> list[Array]:
    """The row's blocks of columns, the last one as short as it is."""
    return [x[:, at : at + block_size(case)] for at in range(0, x.shape[1], block_size(case))]


def _padding(x: Array, case: Case) -> int:
    return int(-x.shape[1] % block_size(case))


def with_max(x: Array, m: Array) -> Array:
    """The softmax with another maximum."""
    e = exp32(x - m)
    return np.asarray(e / total(e))


def _padded_sum(x: Array, case: Case, m: Array) -> Array:
    padding = _padding(x, case) * exp32(-m) if _padding(x, case) else 0.0
    return np.asarray(exp32(x - m) / (total(exp32(x - m)) + padding))


def top(x: Array) -> Array:
    """Each row's maximum, kept as a column."""
    return np.asarray(x.max(axis=-1, keepdims=True))


def _padded_top(x: Array, case: Case) -> Array:
    """Each row's maximum with the padding, which is 0."""
    return np.maximum(top(x), 0.0) if _padding(x, case) else top(x)


def filled(x: Array, case: Case) -> Array:
    """The row in blocks, shape (rows, blocks, block size), filled up with -inf."""
    padded = np.pad(x, ((0, 0), (0, _padding(x, case))), constant_values=-np.inf)
    return padded.reshape(len(x), -1, block_size(case))


def _by_lane(x: Array, case: Case) -> Array:
    """The softmax with a maximum of each lane, over all blocks, instead of one of the row."""
    lanes = filled(x, case)
    e = exp32(lanes - lanes.max(axis=1, keepdims=True))
    made = e / e.sum(axis=(1, 2), keepdims=True)
    return np.asarray(made.reshape(len(x), -1)[:, : x.shape[1]])


def _sums_by_lane(x: Array, case: Case, maxima_too: bool) -> Array:
    """The softmax with a sum of each lane, over all blocks; `maxima_too`: and with a maximum of each lane."""
    lanes = filled(x, case)
    e = exp32(lanes - lanes.max(axis=1 if maxima_too else (1, 2), keepdims=True))
    made = e / e.sum(axis=1, keepdims=True)
    return np.asarray(made.reshape(len(x), -1)[:, : x.shape[1]])


def _last_loaded(x: Array, case: Case, in_sum: bool) -> Array:
    """Each block as the softmax of the last one's x; `in_sum`: it was summed in place of each of them, too."""
    lanes = filled(x, case)
    e = exp32(lanes[:, -1:] - lanes.max(axis=(1, 2), keepdims=True))
    l = e.sum(axis=(1, 2)) * lanes.shape[1] if in_sum else total(exp32(shifted(x)))[:, 0]
    made = np.repeat(e, lanes.shape[1], axis=1) / l[:, None, None]
    return np.asarray(made.reshape(len(x), -1)[:, : x.shape[1]])


def _divided_too_early(x: Array, case: Case) -> Array:
    """Each block divided by the sum of the blocks up to it."""
    lanes = filled(x, case)
    e = exp32(lanes - lanes.max(axis=(1, 2), keepdims=True))
    made = e / np.cumsum(e.sum(axis=2), axis=1)[:, :, None]
    return np.asarray(made.reshape(len(x), -1)[:, : x.shape[1]])


def _of_smallest(x: Array, case: Case) -> Array:
    """The softmax with the largest of the blocks' minima instead of the maximum."""
    return with_max(x, filled(x, case).min(axis=2).max(axis=1)[:, None])


def _without_tail(x: Array, case: Case) -> Array:
    """The softmax with the sum of whole blocks alone."""
    e = exp32(shifted(x))
    return np.asarray(e / total(e[:, : x.shape[1] - x.shape[1] % block_size(case)]))


def _padded_with(number: float) -> Writes:
    """The softmax of the row filled up to whole blocks with a number."""

    def formula(x: Array, case: Case) -> Array:
        m = np.maximum(top(x), number) if _padding(x, case) else top(x)
        return np.asarray(exp32(x - m) / (total(exp32(x - m)) + _padding(x, case) * exp32(number - m)))

    return y_is(formula)


def _of_zeroed(x: Array, case: Case, in_result: bool) -> Array:
    """The softmax with 0 for each -inf and for the padding; `in_result`: when it writes as well, not just before."""
    zeroed = np.where(np.isneginf(x), 0.0, x)
    m = _padded_top(zeroed, case)
    sums = total(exp32(zeroed - m)) + _padding(x, case) * exp32(-m)
    return np.asarray(exp32((zeroed if in_result else x) - m) / sums)


def _sum_of_own(x: Array, case: Case) -> Array:
    """Divided by the sum of exponentials that are relative to each block's own maximum."""
    return np.asarray(exp32(shifted(x)) / sum(total(exp32(shifted(block))) for block in blocks(x, case)))


def _result_of_own(x: Array, case: Case) -> Array:
    """Each block's exponentials relative to its own maximum, divided by the row's sum."""
    own = np.concatenate([exp32(shifted(block)) for block in blocks(x, case)], axis=1)
    return np.asarray(own / total(exp32(shifted(x))))


def _of_lse(x: Array, case: Case) -> Array:
    """Exponentials relative to log(sum(exp(x))), one number in fp32."""
    lse = (top(x) + np.log(total(exp32(shifted(x))))).astype(np.float32)
    return exp32(x - lse)


def _minus_outside(x: Array, case: Case, in_sum: bool, in_result: bool) -> Array:
    """exp(x) - m in place of exp(x - m), in the sum, where padded lanes count as well, or in the result, or in both."""
    lanes, m = filled(x, case), top(x)
    l = (exp32(lanes) - m[:, None]).sum(axis=(1, 2))[:, None] if in_sum else total(relative(x, m))
    return np.asarray((exp32(x) - m if in_result else relative(x, m)) / l)


def _over_sum_of_x(x: Array, case: Case, m: Array) -> Array:
    """Divided by the sum of x - m, where padded lanes hold -inf."""
    return np.asarray(exp32(shifted(x)) / (filled(x, case).sum(axis=(1, 2))[:, None] - m * x.shape[1]))


def _tail(case: Case) -> dict[str, Array]:
    values = case.tensors["y_ptr"].values
    whole = values.shape[1] // block_size(case) * block_size(case)
    return {"y_ptr": np.broadcast_to(np.arange(values.shape[1]) >= whole, values.shape)}


def _past_first_block(case: Case) -> dict[str, Array]:
    values = case.tensors["y_ptr"].values
    return {"y_ptr": np.broadcast_to(np.arange(values.shape[1]) >= block_size(case), values.shape)}


# Wrong ideas about walking a row in blocks, for every softmax that subtracts the maximum.
BLOCKWISE = (
    idea("first-block-only", Unwritten(_past_first_block, line=Part.START_TIMES_STEP)),
    idea("first-block-only/loop-to-block", Unwritten(_past_first_block, line=Part.RANGE_TO_BLOCK)),
    idea("tail-left-out", Unwritten(_tail)),
    idea("first-block-only/written", Unwritten(_past_first_block)),
    idea("max-by-lane", y_is(_by_lane).at(Part.MAXIMUM)),
    idea(
        "sum-by-lane",
        y_is(lambda x, case: _sums_by_lane(x, case, maxima_too=False)).at(Part.EXPONENTIALS_BY_LANE),
    ),
    idea(
        "sum-by-lane/maximum-too",
        y_is(lambda x, case: _sums_by_lane(x, case, maxima_too=True)).at(Part.EXPONENTIALS_BY_LANE),
    ),
    idea("x-not-loaded-again", y_is(lambda x, case: _last_loaded(x, case, in_sum=False))),
    idea("x-not-loaded-again/later-passes", y_is(lambda x, case: _last_loaded(x, case, in_sum=True))),
    idea("written-too-early", y_is(_divided_too_early)),
    idea("own-maximum-in-sum", y_is(_sum_of_own).at(Part.NORMALISER)),
    idea("own-maximum-in-result", y_is(_result_of_own)),
    idea(
        "not-the-maximum",
        y_is(lambda x, _: with_max(x, top(np.abs(x)))).at(Part.MAXIMUM),
        y_is(lambda x, case: with_max(x, top(np.abs(x)) + (np.inf if _padding(x, case) else 0.0))).at(Part.MAXIMUM),
    ),
    idea("not-the-maximum/mean", y_is(lambda x, _: with_max(x, x.mean(axis=-1, keepdims=True)))),
    idea("not-the-maximum/first-element", y_is(lambda x, _: with_max(x, x[:, :1]))),
    idea("minimum-for-maximum", y_is(_of_smallest).at(Part.MINIMUM, needed=True)),
    idea("minimum-for-maximum/running", y_is(lambda x, _: np.full_like(x, np.nan)).at(Part.MINIMUM, needed=True)),
    idea("block-local", y_is(lambda x, case: np.concatenate([softmax(b) for b in blocks(x, case)], axis=1))),
    idea(
        "no-max-subtraction", y_is(lambda x, _: exp32(x) / total(exp32(x))).at(Part.UNSHIFTED_EXPONENTIAL, needed=True)
    ),
    idea("max-forgotten-in-result", y_is(lambda x, _: exp32(x) / total(exp32(shifted(x))))),
    idea(
        "subtracted-too-late",
        *(
            y_is(lambda x, _, late=late: late(x, top(x)) / total(late(x, top(x))))  # type: ignore[misc]
            for late in LATE
        ),
        *(
            y_is(lambda x, _, late=late: relative(x, top(x)) / total(late(x, top(x))))  # type: ignore[misc]
            for late in LATE
        ),
        *(
            y_is(lambda x, _, late=late: late(x, top(x)) / total(relative(x, top(x))))  # type: ignore[misc]
            for late in LATE
        ),
    ),
    idea(
        "subtracted-outside",
        y_is(lambda x, case: _minus_outside(x, case, in_sum=True, in_result=False)).at(Part.NORMALISER),
        y_is(lambda x, case: exp32(shifted(x)) / (total(exp32(x)) - top(x) * len(blocks(x, case)))).at(Part.NORMALISER),
        y_is(lambda x, case: _minus_outside(x, case, in_sum=True, in_result=True)).at(Part.NORMALISER),
    ),
    idea("subtracted-outside/result", y_is(lambda x, case: _minus_outside(x, case, in_sum=False, in_result=True))),
    idea(
        "sum-of-x",
        y_is(lambda x, case: _over_sum_of_x(x, case, np.zeros_like(top(x)))).at(Part.NORMALISER),
        y_is(lambda x, case: _over_sum_of_x(x, case, top(x))).at(Part.NORMALISER),
    ),
    idea("max-forgotten-in-sum", y_is(lambda x, _: exp32(shifted(x)) / total(exp32(x))).at(Part.NORMALISER)),
    idea("lse-as-the-state", y_is(_of_lse)),
    idea("max-of-last-block", y_is(lambda x, case: with_max(x, top(blocks(x, case)[-1]))).at(Part.MAXIMUM)),
    idea(
        "first-block-again", y_is(lambda x, case: softmax(x[:, np.arange(x.shape[1]) % block_size(case)])).at(Part.LOAD)
    ),
    idea(
        "max-starts-at-zero", y_is(lambda x, _: with_max(x, np.maximum(top(x), 0.0))).at(Part.START_ABOVE, needed=True)
    ),
    idea(
        "max-starts-too-high",
        *(
            y_is(lambda x, _, start=start: with_max(x, np.maximum(top(x), start))).at(  # type: ignore[misc]
                Part.START_ABOVE, needed=True
            )
            for start in (-100.0, -1e3, -1e4, -65504.0)
        ),
    ),
    idea("padding-in-max", y_is(lambda x, case: with_max(x, _padded_top(x, case))).at(Part.PADDING, needed=True)),
    idea(
        "padding-in-max/a-number",
        *(_padded_with(number).at(Part.PADDING) for number in (-1e4, -1e3, -1e5, -65504.0, -100.0)),
    ),
    idea(
        "sums-padded-lanes",
        y_is(lambda x, case: _padded_sum(x, case, top(x))).at(Part.ZEROED_PADDING, needed=True),
        y_is(lambda x, case: _padded_sum(x, case, _padded_top(x, case))).at(Part.ZEROED_PADDING, needed=True),
    ),
    idea(
        "sums-padded-lanes/infinity",
        *(
            y_is(lambda x, case, both=both: _of_zeroed(x, case, both)).at(  # type: ignore[misc]
                Part.ZEROED_INFINITY, needed=True
            )
            for both in (False, True)
        ),
        y_is(lambda x, case: _padded_sum(x, case, top(x))).at(Part.ZEROED_INFINITY, needed=True),
    ),
    idea("sums-padded-lanes/sum", y_is(lambda x, case: _padded_sum(x, case, top(x))).at(Part.LOAD)),
    idea(
        "sums-padded-lanes/maximum-and-sum",
        y_is(lambda x, case: _padded_sum(x, case, _padded_top(x, case))).at(Part.LOAD),
    ),
    idea(
        "sum-of-last-block",
        y_is(lambda x, case: exp32(shifted(x)) / total(exp32(blocks(x, case)[-1] - top(x)))).at(
            Part.SUM_STARTED_IN_LOOP, needed=True
        ),
    ),
    idea(
        "sum-of-last-block/last-block",
        y_is(lambda x, case: exp32(shifted(x)) / total(exp32(blocks(x, case)[-1] - top(x)))).at(Part.NORMALISER),
    ),
    idea("sum-not-kept", y_is(lambda x, _: exp32(shifted(x)) / 0.0).at(Part.NORMALISER)),
    idea("tail-not-summed", y_is(_without_tail)),
)
