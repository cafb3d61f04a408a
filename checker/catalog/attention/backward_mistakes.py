"""Wrong ideas about the backward pass."""

from __future__ import annotations

from functools import partial

import numpy as np

from checker.catalog.attention.backward_models import (
    DV,
    another_mask,
    before_the_first_query,
    collected_of,
    delta_in_half,
    delta_is,
    delta_of,
    from_ds,
    from_gradients,
    from_late_loop,
    from_p,
    in_base_two,
    in_half,
    lse_of,
    nan_from_hidden,
    nan_from_padding,
    p_of,
    scaled,
    tile_delta,
    tile_max,
    with_transposed,
    without_last_tile,
)
from checker.catalog.attention.bounds import looked_at
from checker.catalog.attention.mistakes import Q_K
from checker.catalog.attention.reference import offset, scores, sees
from checker.course.misconception import Misconception, Part, Reaches, Writes

MISTAKES = (
    Misconception(
        "delta-of-the-output",
        "delta is rowsum(O * O)",
        "delta is the product of the output with its own gradient.",
        "delta = rowsum(dO * O).",
        signs=(delta_is(lambda o, do: (o * o).sum(axis=-1)),),
    ),
    Misconception(
        "delta-of-the-gradient",
        "delta is rowsum(dO)",
        "delta is the product of the output with its own gradient.",
        "delta = rowsum(dO * O).",
        signs=(delta_is(lambda o, do: do.sum(axis=-1)),),
    ),
    Misconception(
        "delta-in-half",
        "O * dO was computed in fp16",
        "Each product was rounded to fp16 before the sum: a thousandth of it is lost.",
        "Convert both right after the load, .to(tl.float32).",
        signs=(Writes(lambda case: delta_in_half(case, rounded=False)),),
    ),
    Misconception(
        "delta-in-half",
        "delta was computed in fp16",
        "Each product, and the sum of them, was rounded to fp16: a thousandth is lost at every step.",
        "Convert O and dO right after the load, .to(tl.float32).",
        signs=(Writes(lambda case: delta_in_half(case, rounded=True)),),
    ),
    Misconception(
        "delta-missing",
        "delta is missing in dS",
        "The gradient of a softmax is dS = P * (dP - delta): delta keeps each row's probabilities summing to 1. "
        "Without it, dS = P * dP.",
        "Load delta and subtract it: dSij = Pij * (dPij - delta_i[:, None]).",
        signs=(from_ds(lambda case, g: g.p * g.dp).at(Part.DS),),
    ),
    Misconception(
        "delta-added",
        "delta is added to dP",
        "dS = P * (dP - delta), with a minus.",
        "dSij = Pij * (dPij - delta_i[:, None]).",
        signs=(from_ds(lambda case, g: g.p * (g.dp + delta_of(case))).at(Part.DS),),
    ),
    Misconception(
        "delta-of-one-tile",
        "delta was computed from one tile only",
        "rowsum(P * dP) is delta if it runs over all keys. Over the keys of one tile it is something else for each "
        "tile.",
        "Load delta: it was computed once for each query, from dO and O.",
        signs=(from_ds(lambda case, g: g.p * (g.dp - tile_delta(case, g))),),
    ),
    Misconception(
        "ds-without-p",
        "dS lacks the factor P",
        "dS is dP - delta, but the softmax's own derivative is missing.",
        "dSij = Pij * (dPij - delta_i[:, None]).",
        signs=(from_ds(lambda case, g: np.where(sees(case), g.dp - delta_of(case), 0.0)).at(Part.DS),),
    ),
    Misconception(
        "ds-without-p",
        "dS lacks the factor P",
        "dS is dP - delta, but the softmax's own derivative is missing, and with it the mask.",
        "dSij = Pij * (dPij - delta_i[:, None]).",
        signs=(from_ds(lambda case, g: np.where(looked_at(case), g.dp - delta_of(case), 0.0)).at(Part.DS),),
    ),
    Misconception(
        "delta-outside-the-product",
        "delta is subtracted from the product",
        "dS is P * dP - delta, but delta belongs into the parentheses.",
        "dSij = Pij * (dPij - delta_i[:, None]).",
        signs=(from_ds(lambda case, g: np.where(looked_at(case), g.p * g.dp - delta_of(case), 0.0)).at(Part.DS),),
    ),
    Misconception(
        "base-two",
        "2**x was used where e**x is asked for",
        "exp(x) = exp2(x * log2(e)), for S and for LSE alike: LSE is a natural logarithm.",
        "Use tl.exp; or multiply both S and LSE by log2(e) = 1.4426950408889634 before tl.exp2.",
        signs=(from_p(lambda case: in_base_two(case, 1.0)).at(Part.EXPONENTIAL),),
    ),
    Misconception(
        "base-two",
        "log2(e) was folded into S, but not into LSE",
        "exp(x) = exp2(x * log2(e)), for S and for LSE alike: LSE is a natural logarithm.",
        "Multiply LSE by log2(e) = 1.4426950408889634 as well.",
        signs=(from_p(lambda case: in_base_two(case, float(np.log2(np.e)))),),
    ),
    Misconception(
        "accumulator-in-half",
        "A gradient is accumulated in fp16",
        "Each gradient is a sum over all queries or keys: fp16 ends at 65504, and loses a thousandth at every step "
        "besides.",
        "Accumulate in fp32, tl.zeros(..., tl.float32); tl.store converts at the end.",
        signs=(from_gradients(in_half),),
    ),
    Misconception(
        "scale-missing",
        "The scale is missing in the gradient",
        "S = scale * Q K^T, so by the chain rule dQ = scale * dS K and dK = scale * dS^T Q.",
        "Multiply by scale once, before the gradient is stored.",
        signs=(scaled(lambda scale: 1 / scale, "dq_ptr", "dk_ptr"),),
    ),
    Misconception(
        "scale-twice",
        "The scale was applied twice to the gradient",
        "dK = scale * dS^T Q. If Q was multiplied by the scale already, the factor is in there.",
        "Multiply by scale once.",
        signs=(scaled(lambda scale: scale, "dq_ptr", "dk_ptr"),),
    ),
    Misconception(
        "scale-on-dv",
        "dV was scaled",
        "dV = P^T dO has no scale: V is multiplied with P, not with scores.",
        "Store dV as it is.",
        signs=(scaled(lambda scale: scale, "dv_ptr"),),
    ),
    Misconception(
        "scores-not-scaled",
        "The scores are not scaled",
        "P must be the forward pass's P: exp(scale * Q K^T - LSE).",
        "Sij = scale * tl.dot(Qi, tl.trans(Kj)).",
        signs=(
            from_p(
                lambda case: p_of(
                    case,
                    scores(case) / float(case.scalars["scale"]),
                    lse_of(case),
                    sees(case),
                )
            ).at(Q_K),
        ),
    ),
    Misconception(
        "lse-missing",
        "P is exp(S), not exp(S - LSE)",
        "LSE holds the maximum and the normaliser of the forward pass: without it P is not normalised, and overflows.",
        "Pij = exp(Sij - LSEi[:, None]).",
        signs=(from_p(lambda case: p_of(case, scores(case), 0.0, sees(case))).at(Part.EXPONENTIAL),),
    ),
    Misconception(
        "tile-max-for-lse",
        "P is taken relative to the tile's own maximum instead of LSE",
        "The backward pass needs neither a maximum nor a sum of its own: exp(S - LSE) is P, finished.",
        "Pij = exp(Sij - LSEi[:, None]).",
        signs=(from_p(lambda case: p_of(case, scores(case), tile_max(case), sees(case))).at(Part.EXPONENTIAL),),
    ),
    Misconception(
        "mask-forgotten",
        "The causal mask is missing",
        "In tiles on the diagonal, P of hidden entries is exp(S - LSE), not 0: they had no part in LSE.",
        "Pij = tl.where(keys[None, :] <= queries[:, None] + n_k - n_q, exp(...), 0.0).",
        signs=(from_p(lambda case: another_mask(case, None)),),
    ),
    Misconception(
        "causal-top-left",
        "The causal mask is aligned top-left",
        "The mask is j <= i. Queries are the last n_q positions of n_k: the last query sees all keys.",
        "Query i sees key j if j <= i + n_k - n_q.",
        signs=(from_p(lambda case: another_mask(case, 0)).at(Part.CAUSAL_MASK),),
    ),
    Misconception(
        "causal-off-by-one",
        "The diagonal is hidden: no query sees its own key",
        "The mask is j < i + n_k - n_q, one key too few.",
        "Query i sees key j if j <= i + n_k - n_q.",
        signs=(from_p(lambda case: another_mask(case, offset(case) - 1)).at(Part.CAUSAL_MASK),),
    ),
    Misconception(
        "causal-off-by-one",
        "Each query sees one key of the future",
        "The mask is j <= i + n_k - n_q + 1, one key too many.",
        "Query i sees key j if j <= i + n_k - n_q.",
        signs=(from_p(lambda case: another_mask(case, offset(case) + 1)).at(Part.CAUSAL_MASK),),
    ),
    Misconception(
        "hidden-rows-nan",
        "Queries that see no key bring NaN into the gradients",
        "Their LSE is -inf. Where a score was set to -inf before the exponential, -inf - (-inf) is NaN, and it "
        "spreads to every row that the tile is added to.",
        "Hide entries after the exponential: tl.where(visible, tl.exp(Sij - LSEi[:, None]), 0.0).",
        signs=(from_gradients(nan_from_hidden),),
    ),
    Misconception(
        "padding-infinite",
        "Queries past the last one bring NaN into dK and dV",
        "Lanes of the last tile that are no query hold an infinity. LSE does if it was loaded with "
        "other=-float('inf'): exp(S - LSE) is then infinite, and infinity times dO is NaN, although dO is 0 there.",
        "Load lanes that are no query as 0, LSE too; or set P to 0 there: tl.where(queries[:, None] < n_q, ..., 0.0).",
        signs=(from_gradients(nan_from_padding),),
    ),
    Misconception(
        "tile-transposed",
        "A tile is multiplied in the wrong orientation",
        "dV = P^T dO and dK = dS^T Q: rows of P and dS are queries, rows of dV and dK are keys. With square tiles "
        "the shapes fit without the transposition, too.",
        "tl.dot(tl.trans(Pij), dOi), and tl.dot(tl.trans(dSij), Qi).",
        signs=(from_gradients(lambda case, g: with_transposed(case, g, p=True, ds=True)),),
    ),
    Misconception(
        "tile-transposed",
        "P is multiplied in the wrong orientation",
        "dV = P^T dO: rows of P are queries, rows of dV are keys. With square tiles the shapes fit without the "
        "transposition, too.",
        "tl.dot(tl.trans(Pij), dOi).",
        signs=(from_gradients(lambda case, g: with_transposed(case, g, p=True, ds=False)).at(DV),),
    ),
    Misconception(
        "tile-transposed",
        "dS is multiplied in the wrong orientation",
        "dK = dS^T Q and dQ = dS K: rows of dS are queries. With square tiles the shapes fit either way.",
        "tl.dot(tl.trans(dSij), Qi) for dK, tl.dot(dSij, Kj) for dQ.",
        signs=(from_gradients(lambda case, g: with_transposed(case, g, p=False, ds=True)),),
    ),
    *(
        Misconception(
            "first-tile-left-out",
            "The loop over queries begins too late",
            why,
            "Begin at max(0, j * Bc - (n_k - n_q)) // Br * Br.",
            signs=(from_gradients(partial(from_late_loop, first=first)).at(Part.LOOP_BEGIN),),
        )
        for why, first in (
            (
                "Its beginning lacks n_k - n_q: with more keys than queries, a key is seen by queries that many "
                "positions earlier.",
                lambda start, offset, Br, Bc: start // Br * Br,
            ),
            (
                "Its beginning was rounded up to a whole tile, but the tile on the diagonal is only partly hidden.",
                lambda start, offset, Br, Bc: -(-max(0, start - offset) // Br) * Br,
            ),
            (
                "It begins one tile past the one on the diagonal, which is only partly hidden.",
                lambda start, offset, Br, Bc: max(0, start - offset + Br) // Br * Br,
            ),
            (
                "It begins at the first query that sees the tile's last key; the queries before it see the other keys.",
                lambda start, offset, Br, Bc: max(0, start + Bc - 1 - offset) // Br * Br,
            ),
            *(
                (
                    f"It begins at least {'one query' if early == 1 else f'{early} queries'} too late. Where a tile of "
                    "queries ends just there, it is left out, although some of it sees a key.",
                    lambda start, offset, Br, Bc, early=early: max(0, start - offset + early) // Br * Br,
                )
                for early in range(1, 5)
            ),
        )
    ),
    Misconception(
        "begins-before-the-first-query",
        "The loop over queries begins before the first one",
        "j * Bc - (n_k - n_q) is negative where a key is seen by all queries: the first tile then lies before "
        "the tensor.",
        "Begin at tl.maximum(0, ...) // Br * Br.",
        signs=(Reaches(before_the_first_query),),
    ),
    Misconception(
        "last-tile-left-out",
        "The last tile of keys that a query sees is left out",
        "The loop ends one tile too early: the tile on the diagonal is only partly hidden, and must be looked at.",
        "End at min(n_k, (i + 1) * Br + n_k - n_q).",
        signs=(
            from_gradients(lambda case, g: collected_of(case, g.p, without_last_tile(case, g.ds), "dq_ptr")).at(
                Part.LOOP_END
            ),
        ),
    ),
    Misconception(
        "v-for-do",
        "dV was computed with V's gradient of the scores",
        "dV = P^T dO, but P was replaced by dS.",
        "dVj += tl.dot(tl.trans(Pij), dOi).",
        signs=(from_gradients(lambda case, g: collected_of(case, g.ds, g.ds, "dv_ptr")),),
    ),
)
