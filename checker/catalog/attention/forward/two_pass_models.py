"""Outputs of kernels that read K twice, with wrong ideas of a pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from checker.catalog.attention.forward.models import Outputs, Over, from_scores, in_whole_tiles, padded, reduced, tiles
from checker.catalog.attention.launch import shape_of
from checker.catalog.numbers import exp32
from checker.course.case import Array, Case
from checker.course.misconception import Writes
from checker.course.verdict import Traffic


@dataclass(frozen=True, eq=False)
class Tile:
    """Values of pass 2 at a tile of keys; all but the scores with a last axis of 1."""

    s: Array
    m: Array  # what pass 1 found
    l: Array
    last_m: Array  # maximum of the last tile of keys alone

    @property
    def own(self) -> Array:
        """Exponentials relative to the tile's own maximum."""
        return exp32(self.s - self.s.max(axis=-1, keepdims=True))


Scores = Callable[[Array, Array, float], Array]  # (right ones, those with a tail of 0, scale) → those of a pass
End = Callable[[Array, Array], Array]  # (O, l) → O


def _right(s: Array, with_tail: Array, scale: float) -> Array:
    return s


def unscaled_scores(s: Array, with_tail: Array, scale: float) -> Array:
    """Return those of a pass that forgets the scale."""
    return s / scale


def scores_with_tail(s: Array, with_tail: Array, scale: float) -> Array:
    """Return those of a pass that does not hide keys past the end: they were loaded as 0."""
    return with_tail


def _as_it_is(o: Array, l: Array) -> Array:
    return o


def passes(
    first: Scores = _right,
    second: Scores = _right,
    top: Callable[[Array, Array], Array] = np.maximum,
    old_l: Callable[[Array], Array] = lambda a: a,
    own: bool = False,
    new_too: bool = False,
    hidden_too: bool = False,
    over: Over = "",
    p: Callable[[Array, Array], Array] = lambda s, m: exp32(s - m),
    unscaled: Callable[[Array, Array, float], Array] | None = None,
    weights: Callable[[Tile], Array] | None = None,
    kept: float = 1.0,
    each: End = _as_it_is,
    last: End = _as_it_is,
    kept_m: Callable[[Array, Array], Array] = lambda m, m_new: m_new,
) -> Writes:
    """Return what a kernel writes that has two passes over K, and its own ideas of them.

    `first` and `second` are the scores of the passes. Pass 1: `top(m, m_tile)` is the running maximum,
    `kept_m(m, m_new)` what is kept of it, `old_l` the factor of the normaliser, given exp(m - m_new); `own`: a tile's
    exponentials are relative to its own maximum; `new_too`: their sum gets the factor of the old one; `hidden_too`:
    the maximum is taken before scores are hidden; `over`: which reductions run over the whole tile.

    `p(s, m)` are the exponentials of both passes, or `unscaled(s, m, scale)` if the scores themselves are not scaled.

    Pass 2: `weights` are its probabilities, `kept` the factor of O before they are added, `each` what is done to O
    after each tile, and `last` after all of them.
    """

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        scale, count, block = float(case.scalars["scale"]), s.shape[1], shape_of(case).Bc
        kind = case.tensors["v_ptr"].values.dtype
        s = in_whole_tiles(s / scale if unscaled else s, case)
        with_tail, v = padded(s, v, case)

        def exponentials(s: Array, m: Array) -> Array:
            return unscaled(s, m, scale) if unscaled else p(s, m)

        l = np.zeros((*s.shape[:-1], 1))
        m = m_j = np.full_like(l, -np.inf)
        for j, (s_j, _) in enumerate(tiles(first(s, with_tail, scale), v, case)):
            compared = with_tail[..., j * block : (j + 1) * block] if hidden_too else s_j
            m_j = reduced(np.max, compared, case, over in ("max", "both"))
            m_new = top(m, m_j)
            l_j = reduced(np.sum, exponentials(s_j, m_j if own else m_new), case, over in ("sum", "both"))
            factor = old_l(exp32(m - m_new))
            l, m = factor * l + (factor * l_j if new_too else l_j), kept_m(m, m_new)

        o, s = np.zeros((*s.shape[:-1], v.shape[-1])), second(s, with_tail, scale)
        for s_j, v_j in tiles(s, v[:, : s.shape[-1]], case):
            p_j = weights(Tile(s_j, m, l, m_j)) if weights else exponentials(s_j, m) / l
            o = each(kept * o + p_j.astype(kind).astype(np.float64) @ v_j, l)
        return {"o_ptr": last(o, l)[:, :count]}

    return from_scores(formula)


def three_passes(case: Case, moved: Mapping[str, Traffic]) -> bool:
    """K is read three times as often as one pass does, V once."""
    once = shape_of(case).tr * case.tensors["k_ptr"].values.size
    return moved["k_ptr"].loads == 3 * once and moved["v_ptr"].loads == once
