"""Attention in float64: which query sees which key, what the forward pass should give, and a law that O obeys.

With dropout, O is (P ∘ Z) V; l, m and LSE know nothing of it. Causal attention is aligned bottom-right: query i sees
key j if j <= i + n_k - n_q.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checker.catalog.attention.dropped import dropped, drops
from checker.catalog.attention.launch import shape_of, wide, writes
from checker.catalog.numbers import EPS32, dot_eps
from checker.course.case import Array, Case, Outputs
from checker.course.puzzle import Expected, Invariant


def offset(case: Case) -> int:
    """n_k - n_q: causal attention is aligned bottom-right, query i sees key j if j <= i + offset."""
    return shape_of(case).n_k - shape_of(case).n_q


def is_causal(case: Case) -> bool:
    """Return whether the launch is causal: by its flag, and in the backward pass always, but with dropout and of a
    bias.
    """
    backward = "do_ptr" in case.tensors and not writes(case, "dbias") and not drops(case)
    return bool(case.constexprs.get("CAUSAL", backward))


def bias(case: Case) -> Array:
    """Return what is added to the scores, of a shape that broadcasts to (heads, n_q, n_k); 0 for a launch without a
    bias.
    """
    return wide(case, "bias") if "bias_ptr" in case.tensors else np.zeros(1)


def scaled_products(case: Case) -> Array:
    """scale·QKᵀ of every head, shape (heads, n_q, n_k)."""
    return np.asarray(float(case.scalars["scale"]) * (wide(case, "q") @ wide(case, "k").swapaxes(1, 2)))


def scores(case: Case) -> Array:
    """scale·QKᵀ of every head, and a bias where the launch has one, shape (heads, n_q, n_k), nothing hidden."""
    return scaled_products(case) + bias(case)


def visible(n_q: int, n_k: int, causal: bool, offset: int | None = None) -> npt.NDArray[np.bool_]:
    """Return which query (row) sees which key (column), shape (n_q, n_k)."""
    if not causal:
        return np.ones((n_q, n_k), bool)
    return np.arange(n_k)[None, :] <= np.arange(n_q)[:, None] + (n_k - n_q if offset is None else offset)


def sees(case: Case) -> npt.NDArray[np.bool_]:
    """Return which query sees which key in this launch."""
    s = shape_of(case)
    return visible(s.n_q, s.n_k, is_causal(case))


def has_keys(case: Case) -> npt.NDArray[np.bool_]:
    """Return which queries see any key, shape (n_q,). The others have O = 0 and LSE = -inf."""
    return np.asarray(np.any(sees(case), axis=1))


@dataclass(frozen=True, eq=False)
class Forward:
    """Attention in float64: per head and query m, l and lse; P and O."""

    m: Array
    l: Array
    lse: Array
    p: Array
    o: Array


def forward(s: Array, v: Array) -> Forward:
    """Attention from scores with -inf where a key is hidden. Queries without keys: O = 0, l = 0, LSE = -inf."""
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(np.isinf(m), 0.0, m))
    l = e.sum(axis=-1, keepdims=True)
    p = e / np.where(l == 0, 1.0, l)
    with np.errstate(divide="ignore"):
        lse = m + np.log(l)
    return Forward(m[..., 0], l[..., 0], lse[..., 0], p, p @ v)


def score_error(case: Case) -> Array:
    """Return how far a score may be off in fp32: √D roundings of Σ|q||k|, and at least 4; per head and query the
    largest.

    A bias is exact. Its sum with the product is rounded once; where both are converted to base 2, the constant, its
    product with the bias and the sum are: at most 4 roundings of the largest |bias|. (`expected` counts those of |s|.)
    """
    products = np.abs(wide(case, "q")) @ np.abs(wide(case, "k")).swapaxes(1, 2)
    errors = max(4.0, shape_of(case).D ** 0.5) * dot_eps(case)
    of_product = errors * float(case.scalars["scale"]) * products.max(axis=-1, keepdims=True)
    return np.asarray(of_product + 4 * EPS32 * np.abs(bias(case)).max(axis=-1, keepdims=True))


def expected(case: Case) -> Mapping[str, Expected]:
    """O, and l, m or LSE where the launch has them, with running-error bounds.

    A score errs by `score_error`, its exponential relatively by as much, and by eps per unit of |s| that a
    folded log2(e) costs; l and O are rounded up to four times a tile of keys; P is rounded to V's type before the
    product, or in TF32 both factors are cut; O is rounded to its own type afterwards, which has a smallest step.
    A rounding costs half an eps: half of what is allowed for these is spare.
    """
    s = np.where(sees(case), scores(case), -np.inf)
    v = wide(case, "v")
    right = forward(s, v)
    off = score_error(case)[..., 0]
    largest = np.max(np.abs(s), axis=-1, where=np.isfinite(s), initial=0.0)
    relative = off + EPS32 * (16 + 4 * largest + 2 * shape_of(case).tc)
    of_v, of_o = case.tensors["v_ptr"], case.tensors["o_ptr"]
    cast = max(of_v.eps, 4 * dot_eps(case))
    lost = of_v.smallest  # of each P, when it is rounded
    p = dropped(case, right.p)
    o = p @ v
    o_error = (p @ np.abs(v)) * (relative[..., None] + cast)
    if lost:
        o_error = o_error + lost * (dropped(case, np.ones_like(right.p)) @ np.abs(v))
    outputs = {
        "o_ptr": Expected(o, o_error + of_o.eps * np.abs(o) + max(of_o.smallest, 1e-30)),
        "l_ptr": Expected(right.l, right.l * relative + 1e-30),
        "m_ptr": Expected(right.m, off + EPS32 * np.abs(right.m)),
        "lse_ptr": Expected(right.lse, np.where(np.isinf(right.lse), 0.0, relative + EPS32 * np.abs(right.lse))),
    }
    return {name: value for name, value in outputs.items() if name in case.tensors}


def _outside_range_of_v(case: Case, outputs: Outputs) -> npt.NDArray[np.bool_]:
    if "o_ptr" not in outputs:
        return np.zeros(0, bool)
    o, v = outputs["o_ptr"].astype(np.float64), wide(case, "v")
    slack = expected(case)["o_ptr"].tolerance
    low, high = v.min(axis=1, keepdims=True), v.max(axis=1, keepdims=True)
    outside = ((o < low - slack) | (o > high + slack)).any(axis=-1)
    return np.asarray((outside & has_keys(case)).reshape(-1))


O_IS_AN_AVERAGE = Invariant(
    id="outside-the-range-of-v",
    title="O leaves the range of V",
    explanation="Each row of O is a weighted average of V's rows, with weights from 0 to 1 that sum to 1: it cannot be "
    "larger than the largest of them, nor smaller than the smallest.",
    broken=_outside_range_of_v,
)
