"""Wrong ideas about FlashAttention-1: O, l and m are kept finished, and brought up to date at each visit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from checker.catalog.attention.forward.mistakes import of_p
from checker.catalog.attention.forward.models import Outputs, Step, attention, from_scores, one, visits
from checker.catalog.attention.launch import shape_of
from checker.catalog.lines import inverse_factor
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Unwritten
from checker.course.text import stores_to

idea = Ideas(__file__)

# FlashAttention-1: O, l and m are kept divided and complete from visit to visit.


def _visit(
    old_o: Callable[[Array, Array], Array] = lambda l, a: l * a,
    new_o: Callable[[Array], Array] = lambda b: b,
    old_l: Callable[[Array], Array] = lambda a: a,
    new_l: Callable[[Array], Array] = lambda b: b,
    divided: Callable[[Array], Array] = lambda l: l,
) -> Step:
    """Line 11 and 12 of the algorithm, with one factor of it changed."""

    def step(o: Array, l: Array, a: Array, b: Array, l_j: Array, pv: Array) -> tuple[Array, Array]:
        l_new = old_l(a) * l + new_l(b) * l_j
        return (old_o(l, a) * o + new_o(b) * pv) / divided(l_new), l_new

    return step


def _queries_past_n_k(case: Case) -> dict[str, Array]:
    """Queries in tiles that a loop to n_k does not visit."""
    shape = shape_of(case)
    late = np.arange(shape.n_q) >= -(-shape.n_k // shape.Br) * shape.Br
    outputs = {name: case.tensors[name].values for name in ("o_ptr", "l_ptr", "m_ptr") if name in case.tensors}
    return {
        name: np.broadcast_to(late.reshape(1, -1, *[1] * (values.ndim - 2)), values.shape)
        for name, values in outputs.items()
    }


def _once(b: Array) -> Array:
    return b


def _squared(b: Array) -> Array:
    """Return the factor b, applied twice."""
    return b * b


def _inverse(b: Array) -> Array:
    return 1 / b


def _lse_kept(s: Array, v: Array, case: Case) -> Outputs:
    """Each visit leaves LSE in the place of m, and 1 in that of l: O is right all the same."""
    made = attention(s, v)
    return {"o_ptr": made["o_ptr"], "l_ptr": one(made["l_ptr"]), "m_ptr": made["lse_ptr"]}


# Numbers are those of the lesson's table: the scores 1 3 | 2 5 of one query, and the values 10 20 | 30 40.
VISITS = (
    idea(
        "rescaled-by-the-inverse",
        visits(_visit(old_o=lambda l, a: l / a)).at(inverse_factor, needed=True),
        visits(_visit(old_l=_inverse)).at(inverse_factor, needed=True),
    ),
    idea(
        "rescaled-by-the-inverse/new-part",
        visits(_visit(new_o=_inverse, new_l=_inverse)).at(inverse_factor),
        visits(_visit(new_o=_inverse)).at(inverse_factor),
        visits(_visit(new_l=_inverse)).at(inverse_factor),
    ),
    idea("accumulator-overwritten", visits(_visit(old_o=lambda l, a: 0.0 * l))),
    idea("divided-twice", visits(_visit(divided=_squared))),
    idea("multiplied-by-the-sum", visits(_visit(divided=_inverse))),
    *of_p(partial(visits, _visit()), "mij", "the factors exp(mi - mi_new) and m itself"),
    idea("max-of-last-tile", visits(_visit(), top=lambda m, m_tile: m_tile)),
    idea(
        "old-state-stored",
        visits(lambda o, l, a, b, l_j, pv: ((l * a * o + b * pv) / (a * l + b * l_j), l)).at(stores_to("l_ptr")),
    ),
    idea("tile-maximum-stored", visits(_visit(), kept_m=lambda m_new, m_tile, l: m_tile).at(stores_to("m_ptr"))),
    idea("loop-to-another-end", Unwritten(_queries_past_n_k)),
    idea("m-keeps-lse", from_scores(_lse_kept).at(stores_to("m_ptr"))),
    idea(
        "m-keeps-lse/and-l", visits(_visit(), kept_m=lambda m_new, m_tile, l: m_new + np.log(l)).at(stores_to("m_ptr"))
    ),
    idea(
        "new-part-rescaled-too",
        visits(lambda o, l, a, b, l_j, pv: (a * (l * o + b * pv) / (a * l + b * l_j), a * l + b * l_j)),
    ),
    idea("old-l-not-folded-back", visits(_visit(old_o=lambda l, a: a))),
    idea("new-part-not-rescaled", visits(_visit(new_o=one)), visits(_visit(new_l=one, new_o=one))),
    idea("new-part-not-rescaled/sum", visits(_visit(new_l=one))),
    idea("new-part-rescaled-twice", visits(_visit(new_l=_squared, new_o=_squared))),
    idea("new-part-rescaled-twice/sum", visits(_visit(new_l=_squared, new_o=_once))),
    idea("new-part-rescaled-twice/product", visits(_visit(new_l=_once, new_o=_squared))),
    idea("denominator-not-rescaled", visits(_visit(old_l=one))),
    idea("denominator-not-rescaled/with-o", visits(_visit(old_l=one, old_o=lambda l, a: l))),
    idea("not-divided", visits(lambda o, l, a, b, l_j, pv: (a * o + b * pv, a * l + b * l_j))),
    idea("not-divided/by-its-own", visits(_visit(divided=one))),
    idea("divided-by-the-old-l", visits(lambda o, l, a, b, l_j, pv: ((l * a * o + b * pv) / l, a * l + b * l_j))),
    idea(
        "divided-by-the-old-l/guarded",
        visits(lambda o, l, a, b, l_j, pv: ((l * a * o + b * pv) / np.where(l == 0, 1.0, l), a * l + b * l_j)),
    ),
)
