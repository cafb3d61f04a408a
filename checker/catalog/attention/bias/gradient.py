"""The gradient of a bias that all heads share: dB is the sum of dS over the heads, and the scale is no factor of it.

S = scale·QKᵀ + B, so ∂S/∂B = 1 for each head: dB = Σ_h dS_h, with dS = P ∘ (dP - delta) as in the backward pass.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checker.catalog.attention.backward.gradients import gradients
from checker.catalog.attention.bounds import keys_needed
from checker.catalog.attention.launch import shape_of, wide
from checker.catalog.attention.reference import score_error, scores
from checker.catalog.numbers import EPS32, dot_eps
from checker.course.case import Case
from checker.course.puzzle import Budget, Expected


def expected_gradient(case: Case) -> Mapping[str, Expected]:
    """dB in float64, with a running-error bound.

    P errs by the error of its exponent, S - LSE, relatively: by `score_error`, and by what a folded log2(e) costs of S
    and LSE. dP is a dot product of D terms, as a score is. P and dS meet in no product of tiles, so nothing is rounded
    to fp16; the sum over the heads is, once a head, to fp32.
    """
    g, shape = gradients(case), shape_of(case)
    sizes = np.max(np.abs(scores(case)), axis=-1, keepdims=True) + np.abs(wide(case, "lse"))[..., None]
    relative = score_error(case) + EPS32 * (16 + 4 * sizes)
    products = np.abs(wide(case, "do")) @ np.abs(wide(case, "v")).swapaxes(1, 2)
    delta = np.abs(wide(case, "delta"))[..., None]
    of_dp = max(4.0, shape.D**0.5) * dot_eps(case) * products + 4 * EPS32 * (np.abs(g.dp) + delta)
    errors = g.p * (relative * np.abs(g.dp - wide(case, "delta")[..., None]) + (1 + relative) * of_dp)
    errors += EPS32 * (4 + shape.heads) * np.abs(g.ds)
    return {"dbias_ptr": Expected(g.ds.sum(axis=0), errors.sum(axis=0) + 1e-30)}


def gradient_budget(case: Case) -> Mapping[str, Budget]:
    """Return what belongs to queries once for each tile of keys, and the other way round; the bias and dB once."""
    s = shape_of(case)
    q, k = s.heads * s.n_q * s.tc, s.heads * s.n_k * s.tr
    by_keys, by_queries = "each tile of keys", "each tile of queries"
    rows, keys = (n % block or block for n, block in ((s.n_q, s.Br), (s.n_k, s.Bc)))
    part = -(-rows * keys // 8)
    of_q = Budget(q * s.D, least_loads=q * s.D, least_at_once=-(-rows * s.D // 8), anew=by_keys)
    of_k = Budget(k * s.D, least_loads=k * s.D, least_at_once=-(-keys * s.D // 8), anew=by_queries)
    of_rows = Budget(q, least_loads=q, anew=by_keys)
    return {
        **dict.fromkeys(("q_ptr", "do_ptr"), of_q),
        **dict.fromkeys(("k_ptr", "v_ptr"), of_k),
        **dict.fromkeys(("lse_ptr", "delta_ptr"), of_rows),
        "bias_ptr": Budget(s.n_q * s.n_k, least_at_once=part, place="before the loop over heads"),
        "dbias_ptr": Budget(stores=s.n_q * s.n_k, least_at_once=part),
    }


def bias_loads(case: Case) -> int:
    """Elements of a bias that attention loads: of each pair of tiles that is looked at, what they share counts once."""
    s, (_, of_queries, of_keys) = shape_of(case), case.tensors["bias_ptr"].values.shape
    rows = np.minimum(s.Br, s.n_q - np.arange(s.tr) * s.Br) if of_queries > 1 else np.ones(s.tr, int)
    seen = -(-keys_needed(case) // s.Bc)  # tiles of keys, for each tile of queries
    keys = np.minimum(s.n_k, seen * s.Bc) if of_keys > 1 else seen
    return int(s.heads * (rows * keys).sum())
