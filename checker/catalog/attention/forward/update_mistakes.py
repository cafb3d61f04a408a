"""Where no idea fits: which parts of the step from tile to tile differ. Models made by machine, part by part.

Whatever a forward kernel calls things, its step is O = (f O + g P V) / h and l = p l + q sum(P), and its end is O / e
and an LSE. Each part is exchanged for what else is at hand there, by itself and together with another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from checker.catalog.attention.dropped import dropped
from checker.catalog.attention.forward.models import Outputs, from_scores, last_looked_at, tiles, with_lse
from checker.catalog.attention.launch import shape_of
from checker.catalog.numbers import exp32
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Part, Writes
from checker.course.words import Ideas

idea = Ideas(__file__)


@dataclass(frozen=True, eq=False)
class Visit:
    """What is at hand when a tile is visited, each with a last axis of 1. P is relative to the tile's own maximum."""

    l: Array  # before the visit
    new_l: Array  # after it
    sum: Array  # of P
    old: Array  # exp(m - m_new)
    new: Array  # exp(the tile's maximum - m_new)


Factor = Callable[[Visit], Array]
Parts = Mapping[str, Factor]  # by the letters of the formula


def _one(v: Visit) -> Array:
    return np.ones_like(v.l)


_AT_HAND: tuple[Factor, ...] = (
    _one,
    lambda v: v.l,
    lambda v: v.new_l,
    lambda v: v.sum,
    lambda v: 1 / v.l,
    lambda v: 1 / v.new_l,
    lambda v: 1 / v.sum,
)
_OF_OLD: tuple[Factor, ...] = (*_AT_HAND, *((lambda v, x=x: v.old * x(v)) for x in _AT_HAND), lambda v: 1 / v.old)
_OF_NEW: tuple[Factor, ...] = (
    *_AT_HAND,
    *((lambda v, x=x: v.new * x(v)) for x in (*_AT_HAND, lambda v: v.new, lambda v: v.old)),
)
_OF_L: tuple[Factor, ...] = (_one, lambda v: v.l, lambda v: v.old, lambda v: v.old**2, lambda v: 1 / v.old)
_ELSE: Mapping[str, tuple[Factor, ...]] = {
    "f": _OF_OLD,
    "g": _OF_NEW,
    "h": _AT_HAND[:4],
    "p": _OF_L,
    "q": (_one, lambda v: v.old, lambda v: v.new * v.old, lambda v: v.new**2),
    "e": (_one, lambda v: v.l, lambda v: v.new_l, lambda v: v.sum, lambda v: v.new_l**2),
}
_LINES = {**dict.fromkeys("fghe", Part.ACCUMULATOR), **dict.fromkeys("pq", Part.NORMALISER)}
_TOGETHER = (*combinations("fghe", 2), ("p", "q"))

# Puzzle p5 keeps O divided from visit to visit; all others divide it at the end.
KEPT_DIVIDED: Parts = {
    "f": lambda v: v.l * v.old,
    "g": lambda v: v.new,
    "h": lambda v: v.new_l,
    "p": lambda v: v.old,
    "q": lambda v: v.new,
    "e": _one,
}
DIVIDED_AT_THE_END: Parts = {**KEPT_DIVIDED, "f": lambda v: v.old, "h": _one, "e": lambda v: v.new_l}


def stepping(parts: Parts) -> Writes:
    """The outputs of a kernel whose step has these parts."""

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        o = np.zeros((*s.shape[:-1], v.shape[-1]))
        l = np.zeros((*s.shape[:-1], 1))
        m, last, end = np.full_like(l, -np.inf), last_looked_at(case), np.ones_like(l)
        for j, (s_j, v_j) in enumerate(tiles(s, v, case)):
            m_j = s_j.max(axis=-1, keepdims=True)
            m_new = np.maximum(m, m_j)
            shift = np.where(np.isinf(m_new), 0.0, m_new)
            p = exp32(s_j - np.where(np.isinf(m_j), 0.0, m_j))
            at_hand = Visit(l, l, p.sum(axis=-1, keepdims=True), exp32(m - shift), exp32(m_j - shift))
            new_l = parts["p"](at_hand) * l + parts["q"](at_hand) * at_hand.sum
            at_hand = Visit(l, new_l, at_hand.sum, at_hand.old, at_hand.new)
            of_tile = dropped(case, p, j * shape_of(case).Bc) @ v_j
            new_o = (parts["f"](at_hand) * o + parts["g"](at_hand) * of_tile) / parts["h"](at_hand)
            here = (j <= last)[:, None]
            o, l, m, end = (
                np.where(here, now, before)
                for now, before in ((new_o, o), (new_l, l), (m_new, m), (parts["e"](at_hand), end))
            )
        return with_lse(m, l, o / np.where(end == 0, 1.0, end))

    return from_scores(formula)


def by_part(right: Parts, of: Callable[[Writes], Writes] = lambda sign: sign) -> tuple[Misconception, ...]:
    """Steps that differ from the right one in a part, and then in two.

    `right`: those of the algorithm that is asked for; `of`: what a program of another kind writes with such a step.
    """
    ones = (
        idea(
            "part-of-the-update",
            *(of(stepping({**right, part: factor})).at(_LINES[part]) for factor in factors),
            part=part,
        )
        for part, factors in _ELSE.items()
    )
    twos = (
        idea(
            "part-of-the-update/two",
            *(of(stepping({**right, one: a, other: b})).at(_LINES[one]) for a, b in product(_ELSE[one], _ELSE[other])),
            part=one,
            other=other,
        )
        for one, other in _TOGETHER
    )
    return (*ones, *twos)
