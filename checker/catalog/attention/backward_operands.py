"""Wrong ideas about the backward pass that take one tensor or one tile for another, or drop what was added before."""

from __future__ import annotations

import numpy as np

from checker.catalog.attention.backward import Gradients
from checker.catalog.attention.backward_models import (
    DK_DQ,
    DV,
    collected_of,
    delta_is,
    delta_of,
    delta_of_tiles,
    ended_early,
    from_ds,
    from_gradients,
    from_p,
    lse_of,
    of_last_tile,
    p_of,
    product,
)
from checker.catalog.attention.bounds import looked_at
from checker.catalog.attention.causal_mistakes import RETURNED_EARLY, future
from checker.catalog.attention.launch import wide
from checker.catalog.attention.mistakes import Q_K
from checker.catalog.attention.reference import scores, sees
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Part, Product, Writes


def _exchanged(scaled: bool) -> Writes:
    """dK and dV stored to each other's tensors; `scaled`: the scale stays with the tensor, not with the gradient."""

    def formula(case: Case, g: Gradients) -> dict[str, Array]:
        right = collected_of(case, g.p, g.ds, "dk_ptr")
        factor = float(case.scalars["scale"]) if scaled else 1.0
        return {"dk_ptr": right["dv_ptr"] * factor, "dv_ptr": right["dk_ptr"] / factor} if right else {}

    return from_gradients(formula)


def with_operands(name: str, tile: str, of: str) -> Writes:
    """One gradient as the product of another tile with another tensor; the others are right."""

    def formula(case: Case, g: Gradients) -> dict[str, Array]:
        looked = looked_at(case)
        tiles = {
            "P": g.p,
            "dS": g.ds,
            "S": np.where(looked, scores(case), 0.0),
            "the masked S": np.where(sees(case), scores(case), 0.0),
            "dP": np.where(looked, g.dp, 0.0),
        }
        x = tiles[tile] * (1.0 if name == "dv" else float(case.scalars["scale"]))
        right = collected_of(case, g.p, g.ds, f"{name}_ptr")
        return {**right, f"{name}_ptr": (x if name == "dq" else x.swapaxes(1, 2)) @ wide(case, of)} if right else {}

    return from_gradients(formula)


def _overwritten(p: bool, ds: bool, only: str) -> Writes:
    """Gradients of the last tile alone, where P or dS goes into them."""

    def formula(case: Case, g: Gradients) -> dict[str, Array]:
        last = of_last_tile(case, g.p), of_last_tile(case, g.ds)
        return collected_of(case, last[0] if p else g.p, last[1] if ds else g.ds, only)

    return from_gradients(formula)


def dp_from(one: str, other: str) -> Writes:
    """All gradients with the product of two other tensors in place of dO Vᵀ."""
    return from_ds(lambda case, g: g.p * (product(case, one, other) - delta_of(case)))


def _upside_down(strict: bool) -> Writes:
    return from_p(lambda case: p_of(case, scores(case), lse_of(case), future(case, strict) & looked_at(case)))


def _ending_early(early: int) -> Writes:
    return from_gradients(lambda case, g: collected_of(case, g.p, ended_early(case, g.ds, early), "dq_ptr"))


# Products with another operand: the gradient, what stands in it, in place of what, and then the tile and the tensor.
EXCHANGED = (
    ("dv", "S", "P", "S", "do"),
    ("dv", "dP", "P", "dP", "do"),
    ("dv", "Q", "dO", "P", "q"),
    ("dk", "P", "dS", "P", "q"),
    ("dk", "dP", "dS", "dP", "q"),
    ("dk", "dO", "Q", "dS", "do"),
    ("dq", "P", "dS", "P", "k"),
    ("dq", "dP", "dS", "dP", "k"),
    ("dq", "V", "K", "dS", "v"),
)
VARIANTS = {"S": ("S", "the masked S")}  # of a tile
# The tensors that a tile is computed from.
MADE_OF = {"P": Q_K.of | {"lse_ptr"}, "S": Q_K.of, "dP": frozenset({"do_ptr", "v_ptr"}), "dS": DK_DQ.of}
FORMULAS = {
    "dv": ("dV", "dV = P^T dO.", "dVj += tl.dot(tl.trans(Pij), dOi)."),
    "dk": (
        "dK",
        "dK = scale * dS^T Q, by the chain rule from S = scale * Q K^T.",
        "dKj += tl.dot(tl.trans(dSij), Qi).",
    ),
    "dq": ("dQ", "dQ = scale * dS K, by the chain rule from S = scale * Q K^T.", "dQi += tl.dot(dSij, Kj)."),
}

OPERANDS = (
    RETURNED_EARLY,
    Misconception(
        "delta-of-the-gradient",
        "delta is rowsum(dO * dO)",
        "delta is the product of the output with its own gradient: one factor is O.",
        "delta = rowsum(dO * O).",
        signs=(delta_is(lambda o, do: (do * do).sum(axis=-1)).at(Part.SUM),),
    ),
    Misconception(
        "reduced-over-the-whole-tile",
        "delta is the sum over the whole tile, not over each query",
        "Without an axis, tl.sum makes one number of a tile: all of its queries then share it.",
        "tl.sum(Oi * dOi, axis=1) has one entry per query.",
        signs=(Writes(delta_of_tiles),),
    ),
    *(
        Misconception(
            "accumulator-overwritten",
            f"{what} only the last tile that its program looks at",
            "The product of each tile replaces the one before it: = stands where += belongs.",
            "Add each product to what was there: dKj += ..., dVj += ..., dQi += ....",
            signs=(_overwritten(p, ds, of).at(role),),
        )
        for what, of, p, ds, role in (
            ("dV holds", "dv_ptr", True, False, DV),
            ("dK holds", "dk_ptr", False, True, DK_DQ),
            ("dK and dV hold", "dk_ptr", True, True, DV),
            ("dQ holds", "dq_ptr", False, True, DK_DQ),
        )
    ),
    Misconception(
        "gradients-exchanged",
        "dK and dV are exchanged",
        "What is stored to dk_ptr is the gradient of V, and what is stored to dv_ptr that of K.",
        "Store dKj, scaled, to dk_ptr, and dVj to dv_ptr.",
        signs=(_exchanged(scaled=False), _exchanged(scaled=True)),
    ),
    *(
        Misconception(
            "wrong-operand",
            f"{FORMULAS[name][0]} is computed with {what} in place of {place}",
            FORMULAS[name][1],
            FORMULAS[name][2],
            signs=tuple(
                with_operands(name, x, of).at(Product(MADE_OF[tile] | {f"{of}_ptr"}))
                for x in VARIANTS.get(tile, (tile,))
            ),
        )
        for name, what, place, tile, of in EXCHANGED
    ),
    *(
        Misconception(
            "wrong-operand",
            f"dP is computed with {what} in place of {place}",
            "P V is the output, so the gradient of P is dP = dO V^T.",
            "dPij = tl.dot(dOi, tl.trans(Vj)).",
            signs=(dp_from(one, other).at(Product(frozenset({f"{one}_ptr", f"{other}_ptr"}))),),
        )
        for what, place, one, other in (("K", "V", "do", "k"), ("Q", "dO", "q", "v"))
    ),
    Misconception(
        "sign-reversed",
        "The scores have the wrong sign",
        "P must be the forward pass's P: exp(scale * Q K^T - LSE), without a minus.",
        "Sij = scale * tl.dot(Qi, tl.trans(Kj)).",
        signs=(from_p(lambda case: p_of(case, -scores(case), lse_of(case), sees(case))).at(Q_K),),
    ),
    Misconception(
        "causal-upside-down",
        "The causal mask is upside down",
        "Queries see the keys after their own position instead of those before it.",
        "Query i sees key j if j <= i + n_k - n_q.",
        signs=tuple(_upside_down(strict).at(Part.CAUSAL_MASK) for strict in (False, True)),
    ),
    *(
        Misconception(
            "last-tile-left-out",
            f"The loop over keys ends too early, by at least {keys}",
            f"Where a tile of keys begins with {last} that its queries see, it is left out: the end of range is "
            "exclusive.",
            "End at min(n_k, start_q + Br + n_k - n_q), one past the last key that any query of the tile sees.",
            signs=(_ending_early(early).at(Part.LOOP_END),),
        )
        for early, keys, last in (
            (1, "one key", "the last key"),
            *((n, f"{n} keys", f"one of the last {n} keys") for n in range(2, 5)),
        )
    ),
)
