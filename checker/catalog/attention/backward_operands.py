"""Wrong ideas about the backward pass that take one tensor or one tile for another, or drop what was added before."""

from __future__ import annotations

import numpy as np

from checker.catalog.attention.backward import Gradients
from checker.catalog.attention.backward_mistakes import LAST_KEY
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
    settled,
)
from checker.catalog.attention.bounds import looked_at
from checker.catalog.attention.causal_mistakes import RETURNED_EARLY, future
from checker.catalog.attention.dropout import dropped
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
            "P": dropped(case, g.p) if name == "dv" else g.p,
            "dS": settled(case, g),
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
    ("dv", "dS", "P", "dS", "do"),
    ("dv", "Q", "dO", "P", "q"),
    ("dk", "P", "dS", "P", "q"),
    ("dk", "dP", "dS", "dP", "q"),
    ("dk", "dO", "Q", "dS", "do"),
    ("dq", "P", "dS", "P", "k"),
    ("dq", "dP", "dS", "dP", "k"),
    ("dq", "V", "K", "dS", "v"),
)
OPERANDS_OF_DP = (("K", "V", "do", "k"), ("Q", "dO", "q", "v"))
VARIANTS = {"S": ("S", "the masked S")}  # of a tile
# The tensors that a tile is computed from.
MADE_OF = {"P": Q_K.of | {"lse_ptr"}, "S": Q_K.of, "dP": frozenset({"do_ptr", "v_ptr"}), "dS": DK_DQ.of}
GRADIENTS = {
    "dv": ("dV", "dVj += tl.dot(tl.trans(Pij), dOi)."),
    "dk": ("dK", "dKj += tl.dot(tl.trans(dSij), Qi), times scale when it is stored."),
    "dq": ("dQ", "dQi += tl.dot(dSij, Kj), times scale when it is stored."),
}
# Why only this can stand in the product for a gradient, and what to ask of it: by the gradient, and what belongs there.
BELONGS: dict[tuple[str, str], tuple[str, str]] = {
    ("dv", "P"): (
        "V meets the weights in the forward pass, and nothing else. The tile that you use has the same shape, so "
        "nothing complains. With the lesson's numbers, weights of .25 and .75 and do of 2, dV is 0.5 and 1.5.",
        "If an element of V grows by 1, by how much does O grow? Which of the tiles S, P, dP and dS holds that number?",
    ),
    ("dv", "dO"): (
        "A gradient begins with the gradient of what was computed. V is used to compute O, so what comes back to V is "
        "what came to O. Q has the same shape, so nothing complains.",
        "Double dO, which doubles every gradient. Does your dV double?",
    ),
    ("dk", "dS"): (
        "K is used in the scores alone, so what comes back to K is the gradient of the scores. The tile that you use "
        "has the same shape, so nothing complains.",
        "All four tiles S, P, dP and dS have the same shape. Which of them says how the loss changes with a score?",
    ),
    ("dk", "Q"): (
        "A score is a key times a query. If an element of the key grows by 1, the score grows by what it is multiplied "
        "with. dO has the same shape, so nothing complains.",
        "If element 3 of a key grows by 1, by how much does its score with a query grow, with a scale of 1? In which "
        "tensor does that number stand?",
    ),
    ("dq", "dS"): (
        "Q is used in the scores alone, so what comes back to Q is the gradient of the scores. The tile that you use "
        "has the same shape, so nothing complains.",
        "All four tiles S, P, dP and dS have the same shape. Which of them says how the loss changes with a score?",
    ),
    ("dq", "K"): (
        "A score is a query times a key. If an element of the query grows by 1, the score grows by what it is "
        "multiplied with. V has the same shape, so nothing complains.",
        "If element 3 of a query grows by 1, by how much does its score with a key grow, with a scale of 1? In which "
        "tensor does that number stand?",
    ),
    ("dp", "V"): (
        "O is a sum of values, each times its weight. If a weight grows by 1, O grows by the row that it is multiplied "
        "with. K has the same shape, so nothing complains.",
        "In the lesson's numbers dp is 20 and 40, with do of 2. Which two numbers is do multiplied with, and in which "
        "tensor do they stand?",
    ),
    ("dp", "dO"): (
        "A gradient begins with the gradient of what was computed. P is used to compute O, so what comes back to P is "
        "what came to O. Q has the same shape, so nothing complains.",
        "Double dO, which doubles dP. Does your dP double?",
    ),
}


def of_gradients(*names: str) -> tuple[Misconception, ...]:
    """Wrong ideas of what goes into these gradients, of kernels for them."""
    return (
        *(
            Misconception(
                "accumulator-overwritten",
                f"{what} only the last tile that its program looks at",
                "Each tile that the loop visits adds a part. Here the part of each tile replaces the one before it: "
                "if three tiles add 3, 5 and 4, then 4 is stored instead of 12.",
                f"Add each product to what was there: {lines}.",
                question="Print the gradient after each iteration, with three tiles to visit. Does the first part "
                "still count after the third iteration?",
                signs=(_overwritten(p, ds, of).at(role),),
            )
            for name, what, of, p, ds, role, lines in (
                ("dv", "dV holds", "dv_ptr", True, False, DV, "dVj += ..."),
                ("dk", "dK holds", "dk_ptr", False, True, DK_DQ, "dKj += ..."),
                ("dk", "dK and dV hold", "dk_ptr", True, True, DV, "dKj += ..., dVj += ..."),
                ("dq", "dQ holds", "dq_ptr", False, True, DK_DQ, "dQi += ..."),
            )
            if name in names
        ),
        Misconception(
            "gradients-exchanged",
            "dK and dV are exchanged",
            "What is stored to dk_ptr is the gradient of V, and what is stored to dv_ptr is that of K. They have the "
            "same shape, so nothing complains.",
            "Store dKj, scaled, to dk_ptr, and dVj to dv_ptr.",
            question="Look at your two stores. Which of the two sums is made from P, and to which tensor does it go?",
            signs=(_exchanged(scaled=False), _exchanged(scaled=True)),
        ),
        *(
            Misconception(
                "wrong-operand",
                f"{GRADIENTS[name][0]} is computed with {what} in place of {place}",
                BELONGS[name, place][0],
                GRADIENTS[name][1],
                question=BELONGS[name, place][1],
                signs=tuple(
                    with_operands(name, x, of).at(Product(MADE_OF[tile] | {f"{of}_ptr"}))
                    for x in VARIANTS.get(tile, (tile,))
                ),
            )
            for name, what, place, tile, of in EXCHANGED
            if name in names
        ),
        *(
            Misconception(
                "wrong-operand",
                f"dP is computed with {what} in place of {place}",
                BELONGS["dp", place][0],
                "dPij = tl.dot(dOi, tl.trans(Vj)).",
                question=BELONGS["dp", place][1],
                signs=(dp_from(one, other).at(Product(frozenset({f"{one}_ptr", f"{other}_ptr"}))),),
            )
            for what, place, one, other in OPERANDS_OF_DP
        ),
    )


SIGN_REVERSED = Misconception(
    "sign-reversed",
    "The scores have the wrong sign",
    "P must be the forward pass's P, in which a large score is a large weight. With scores 0 and 1.0986, and LSE "
    "1.3863, you get the weights .25 and .08 instead of .25 and .75.",
    "Line 10 of the algorithm, without a minus: Sij = scale * tl.dot(Qi, tl.trans(Kj)).",
    question="With scores 0 and 1.0986, and LSE 1.3863, which two weights do you get? Does the larger score have "
    "the larger weight?",
    signs=(from_p(lambda case: p_of(case, -scores(case), lse_of(case), sees(case))).at(Q_K),),
)
OPERANDS = (
    RETURNED_EARLY,
    Misconception(
        "delta-of-the-gradient",
        "delta is rowsum(dO * dO)",
        "You multiplied dO by itself. delta stands for the sum of p * dp over the keys, and that also depends on V. "
        "With the lesson's numbers, o of 17.5 and do of 2, you get 4 instead of 35.",
        "delta = rowsum(dO * O): multiply the tile of dO by the tile of O, and sum along axis=1.",
        question="delta stands for the sum of p * dp over the keys. If all values double, dp doubles. Does your delta "
        "double?",
        signs=(delta_is(lambda o, do: (do * do).sum(axis=-1)).at(Part.SUM),),
    ),
    Misconception(
        "reduced-over-the-whole-tile",
        "delta is the sum over the whole tile, not over each query",
        "Without an axis, tl.sum makes one number of a tile, and all of its queries then share it. If the rows of a "
        "tile sum to 35 and 5, both queries get 40.",
        "tl.sum(Oi * dOi, axis=1) has one entry per query.",
        question="A tile of dO times O has Br rows and D columns. How many numbers must be left of it, and along which "
        "axis do you sum?",
        signs=(Writes(delta_of_tiles),),
    ),
    *of_gradients("dv", "dk", "dq"),
    SIGN_REVERSED,
    Misconception(
        "causal-upside-down",
        "The causal mask is upside down",
        "Queries see the keys after their own position instead of those before it. With 4 queries and 4 keys, query 0 "
        "must see key 0 alone, but here it sees keys 2 and 3.",
        "A query sees a key where keys[None, :] <= queries[:, None] + n_k - n_q.",
        question="With 4 queries and 4 keys, how many keys must query 3 see? How many does it see with your mask?",
        signs=tuple(_upside_down(strict).at(Part.CAUSAL_MASK) for strict in (False, True)),
    ),
    *(
        Misconception(
            "last-tile-left-out",
            f"The loop over keys ends too early, by at least {keys}",
            f"Where a tile of keys begins with {last} that its queries see, it is left out: the end of range is "
            "exclusive.",
            "End at tl.minimum(n_k, start_q + Br + n_k - n_q), one past the last key that any query of the tile sees.",
            question=LAST_KEY,
            signs=(_ending_early(early).at(Part.LOOP_END),),
        )
        for early, keys, last in (
            (1, "one key", "the last key"),
            *((n, f"{n} keys", f"one of the last {n} keys") for n in range(2, 5)),
        )
    ),
)
