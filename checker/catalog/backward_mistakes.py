"""What kernels with a wrong idea of the backward pass would write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from checker.catalog import attention
from checker.catalog.attention import scores, sees, shape_of, visible, wide
from checker.catalog.backward import Gradients, collected, gradients
from checker.catalog.softmax_mistakes import exp32
from checker.puzzle import Array, Case, Misconception, Reach

Outputs = Mapping[str, Array]
Wrong = Callable[[Case, Gradients], dict[str, Array]]


def writes(formula: Wrong) -> Callable[[Case], Outputs]:
    """The outputs of a kernel with this formula, of those that the launch has; none for the delta kernel."""

    def outputs(case: Case) -> Outputs:
        if "q_ptr" not in case.tensors:
            return {}
        return {name: o for name, o in formula(case, gradients(case)).items() if name in case.tensors}

    return outputs


def delta_is(formula: Callable[[Array, Array], Array]) -> Callable[[Case], Outputs]:
    """What a delta kernel writes that computes `formula(O, dO)`."""
    return lambda case: {"delta_ptr": formula(wide(case, "o"), wide(case, "do"))} if "o_ptr" in case.tensors else {}


def from_p(p: Callable[[Case], Array]) -> Callable[[Case], Outputs]:
    """All gradients with another P."""

    def formula(case: Case, g: Gradients) -> dict[str, Array]:
        other = p(case)
        return collected(case, other, other * (g.dp - wide(case, "delta")[..., None]))

    return writes(formula)


def from_ds(ds: Callable[[Case, Gradients], Array]) -> Callable[[Case], Outputs]:
    """All gradients with another dS."""
    return writes(lambda case, g: collected(case, g.p, ds(case, g)))


def scaled(factor: Callable[[float], float], *names: str) -> Callable[[Case], Outputs]:
    """The right gradients, but for a factor on some of them; nothing for a launch that writes none of these."""

    def formula(case: Case, g: Gradients) -> dict[str, Array]:
        right = collected(case, g.p, g.ds)
        if not set(names) & set(right):
            return {}
        return {n: x * factor(float(case.scalars["scale"])) if n in names else x for n, x in right.items()}

    return writes(formula)


def p_of(case: Case, s: Array, minus: Array | float, seen: Array) -> Array:
    """exp(s - minus), in fp32, where `seen` holds."""
    with np.errstate(all="ignore"):
        return np.where(seen, exp32(s - minus), 0.0)


def tile_max(case: Case) -> Array:
    """Of each score, the largest visible one of its query in its own tile."""
    s, block = np.where(sees(case), scores(case), -np.inf), shape_of(case).Bc
    parts = [s[..., at : at + block] for at in range(0, s.shape[-1], block)]
    largest = [np.broadcast_to(part.max(axis=-1, keepdims=True), part.shape) for part in parts]
    return np.asarray(np.nan_to_num(np.concatenate(largest, axis=-1), neginf=0.0))


def tile_delta(case: Case, g: Gradients) -> Array:
    """rowsum(P ∘ dP), but of each tile alone."""
    block = shape_of(case).Bc
    product = g.p * g.dp
    parts = [product[..., at : at + block] for at in range(0, product.shape[-1], block)]
    return np.concatenate([np.broadcast_to(x.sum(axis=-1, keepdims=True), x.shape) for x in parts], axis=-1)


def without_last_tile(case: Case, x: Array) -> Array:
    """P or dS without the last tile of keys that each tile of queries sees."""
    s, seen = shape_of(case), sees(case)
    kept = x.copy()
    for start in range(0, s.n_q, s.Br):
        keys = np.flatnonzero(seen[start : start + s.Br].any(axis=0))
        if keys.size:
            last = keys[-1] // s.Bc * s.Bc
            kept[:, start : start + s.Br, last : last + s.Bc] = 0.0
    return kept


def begun_late(case: Case, x: Array, first: Callable[[int, int, int], int]) -> Array:
    """P or dS without tiles of queries before `first(j * Bc, n_k - n_q, Br)`, for each tile j of keys."""
    s = shape_of(case)
    kept = x.copy()
    for start in range(0, s.n_k, s.Bc):
        kept[:, : max(0, first(start, s.n_k - s.n_q, s.Br)), start : start + s.Bc] = 0.0
    return kept


def in_half(case: Case, g: Gradients) -> dict[str, Array]:
    """Gradients whose sum is rounded to the inputs' type after each tile; nothing if that is fp32."""
    s, dtype = shape_of(case), case.tensors["q_ptr"].values.dtype
    if dtype == np.float32:
        return {}
    axis, block, count = (2, s.Bc, s.tc) if "dq_ptr" in case.tensors else (1, s.Br, s.tr)
    scale = float(case.scalars["scale"])
    made: dict[str, Array] = {}
    for tile in range(count):
        inside = np.zeros(g.p.shape[axis], bool)
        inside[tile * block : (tile + 1) * block] = True
        here = np.expand_dims(inside, tuple(n for n in range(3) if n != axis))
        for name, part in collected(case, np.where(here, g.p, 0.0), np.where(here, g.ds, 0.0)).items():
            unscaled = part if name == "dv_ptr" else part / scale
            made[name] = (made.get(name, 0.0) + unscaled).astype(dtype).astype(np.float64)
    return {name: x if name == "dv_ptr" else scale * x for name, x in made.items()}


def _another_mask(case: Case, offset: int | None) -> Array:
    """P with another causal mask, over the tiles that are looked at."""
    shape = shape_of(case)
    seen = visible(shape.n_q, shape.n_k, offset is not None, offset)
    lse = wide(case, "lse")[..., None]
    return p_of(case, attention.scores(case), lse, seen & attention.looked_at(case))


def _delta_in_half(case: Case, rounded: bool) -> dict[str, Array]:
    if "o_ptr" not in case.tensors:
        return {}
    products = case.tensors["o_ptr"].values * case.tensors["do_ptr"].values  # in their own type
    exact = products.astype(np.float64).sum(axis=-1)
    return {"delta_ptr": exact.astype(products.dtype) if rounded else exact}


def _before_the_first_query(case: Case, program: int) -> tuple[Reach, ...]:
    if "dk_ptr" not in case.tensors:
        return ()
    shape = shape_of(case)
    head_stride, row_stride = int(case.scalars["q_head_stride"]), int(case.scalars["q_row_stride"])
    first = program // case.grid[0] * head_stride
    return tuple(
        Reach(False, "q_ptr", first + start * row_stride, first + (start + shape.Br - 1) * row_stride + shape.D - 1)
        for start in range(-shape.Br * (1 + shape.n_k // shape.Br), 0, shape.Br)
    )


def _in_base_two(case: Case, folded: float) -> Array:
    """P of exp2, with a factor on the scores only."""
    with np.errstate(all="ignore"):
        exponent = folded * attention.scores(case) - wide(case, "lse")[..., None]
        return np.where(sees(case), exp32(exponent * np.log(2)), 0.0)


def _delta(case: Case) -> Array:
    return wide(case, "delta")[..., None]


def _offset(case: Case) -> int:
    return shape_of(case).n_k - shape_of(case).n_q


def collected_of(case: Case, p: Array, ds: Array, only: str) -> dict[str, Array]:
    """The gradients made of P and dS, if the launch writes `only`; else nothing."""
    return collected(case, p, ds) if only in case.tensors else {}


def _begun_late(case: Case, g: Gradients, first: Callable[[int, int, int], int]) -> dict[str, Array]:
    p, ds = (begun_late(case, x, first) for x in (g.p, g.ds))
    return collected_of(case, p, ds, only="dk_ptr")


MISTAKES = (
    Misconception(
        "delta-of-the-output",
        "delta is rowsum(O * O)",
        "delta is the product of the output with its own gradient.",
        "delta = rowsum(dO * O).",
        outputs=delta_is(lambda o, do: (o * o).sum(axis=-1)),
    ),
    Misconception(
        "delta-of-the-gradient",
        "delta is rowsum(dO)",
        "delta is the product of the output with its own gradient.",
        "delta = rowsum(dO * O).",
        outputs=delta_is(lambda o, do: do.sum(axis=-1)),
    ),
    Misconception(
        "delta-in-half",
        "O * dO was computed in fp16",
        "Each product was rounded to fp16 before the sum: a thousandth of it is lost.",
        "Convert both right after the load, .to(tl.float32).",
        outputs=lambda case: _delta_in_half(case, rounded=False),
    ),
    Misconception(
        "delta-in-half",
        "delta was computed in fp16",
        "Each product, and the sum of them, was rounded to fp16: a thousandth is lost at every step.",
        "Convert O and dO right after the load, .to(tl.float32).",
        outputs=lambda case: _delta_in_half(case, rounded=True),
    ),
    Misconception(
        "delta-missing",
        "delta is missing in dS",
        "The gradient of a softmax is dS = P * (dP - delta): delta keeps each row's probabilities summing to 1. "
        "Without it, dS = P * dP.",
        "Load delta and subtract it: dSij = Pij * (dPij - delta_i[:, None]).",
        outputs=from_ds(lambda case, g: g.p * g.dp),
    ),
    Misconception(
        "delta-added",
        "delta is added to dP",
        "dS = P * (dP - delta), with a minus.",
        "dSij = Pij * (dPij - delta_i[:, None]).",
        outputs=from_ds(lambda case, g: g.p * (g.dp + _delta(case))),
    ),
    Misconception(
        "delta-of-one-tile",
        "delta was computed from one tile only",
        "rowsum(P * dP) is delta if it runs over all keys. Over the keys of one tile it is something else for each "
        "tile.",
        "Load delta: it was computed once for each query, from dO and O.",
        outputs=from_ds(lambda case, g: g.p * (g.dp - tile_delta(case, g))),
    ),
    Misconception(
        "ds-without-p",
        "dS lacks the factor P",
        "dS is dP - delta, but the softmax's own derivative is missing.",
        "dSij = Pij * (dPij - delta_i[:, None]).",
        outputs=from_ds(lambda case, g: np.where(sees(case), g.dp - _delta(case), 0.0)),
    ),
    Misconception(
        "ds-without-p",
        "dS lacks the factor P",
        "dS is dP - delta, but the softmax's own derivative is missing, and with it the mask.",
        "dSij = Pij * (dPij - delta_i[:, None]).",
        outputs=from_ds(lambda case, g: np.where(attention.looked_at(case), g.dp - _delta(case), 0.0)),
    ),
    Misconception(
        "delta-outside-the-product",
        "delta is subtracted from the product",
        "dS is P * dP - delta, but delta belongs into the parentheses.",
        "dSij = Pij * (dPij - delta_i[:, None]).",
        outputs=from_ds(lambda case, g: np.where(attention.looked_at(case), g.p * g.dp - _delta(case), 0.0)),
    ),
    Misconception(
        "base-two",
        "2**x was used where e**x is asked for",
        "exp(x) = exp2(x * log2(e)), for S and for LSE alike: LSE is a natural logarithm.",
        "Use tl.exp; or multiply both S and LSE by log2(e) = 1.4426950408889634 before tl.exp2.",
        outputs=from_p(lambda case: _in_base_two(case, 1.0)),
    ),
    Misconception(
        "base-two",
        "log2(e) was folded into S, but not into LSE",
        "exp(x) = exp2(x * log2(e)), for S and for LSE alike: LSE is a natural logarithm.",
        "Multiply LSE by log2(e) = 1.4426950408889634 as well.",
        outputs=from_p(lambda case: _in_base_two(case, float(np.log2(np.e)))),
    ),
    Misconception(
        "accumulator-in-half",
        "A gradient is accumulated in fp16",
        "Each gradient is a sum over all queries or keys: fp16 ends at 65504, and loses a thousandth at every step "
        "besides.",
        "Accumulate in fp32, tl.zeros(..., tl.float32); tl.store converts at the end.",
        outputs=writes(in_half),
    ),
    Misconception(
        "scale-missing",
        "The scale is missing in the gradient",
        "S = scale * Q K^T, so by the chain rule dQ = scale * dS K and dK = scale * dS^T Q.",
        "Multiply by scale once, before the gradient is stored.",
        outputs=scaled(lambda scale: 1 / scale, "dq_ptr", "dk_ptr"),
    ),
    Misconception(
        "scale-twice",
        "The scale was applied twice to the gradient",
        "dK = scale * dS^T Q. If Q was multiplied by the scale already, the factor is in there.",
        "Multiply by scale once.",
        outputs=scaled(lambda scale: scale, "dq_ptr", "dk_ptr"),
    ),
    Misconception(
        "scale-on-dv",
        "dV was scaled",
        "dV = P^T dO has no scale: V is multiplied with P, not with scores.",
        "Store dV as it is.",
        outputs=scaled(lambda scale: scale, "dv_ptr"),
    ),
    Misconception(
        "scores-not-scaled",
        "The scores are not scaled",
        "P must be the forward pass's P: exp(scale * Q K^T - LSE).",
        "Sij = scale * tl.dot(Qi, tl.trans(Kj)).",
        outputs=from_p(
            lambda case: p_of(
                case, attention.scores(case) / float(case.scalars["scale"]), wide(case, "lse")[..., None], sees(case)
            )
        ),
    ),
    Misconception(
        "lse-missing",
        "P is exp(S), not exp(S - LSE)",
        "LSE holds the maximum and the normaliser of the forward pass: without it P is not normalised, and overflows.",
        "Pij = exp(Sij - LSEi[:, None]).",
        outputs=from_p(lambda case: p_of(case, attention.scores(case), 0.0, sees(case))),
    ),
    Misconception(
        "tile-max-for-lse",
        "P is taken relative to the tile's own maximum instead of LSE",
        "The backward pass needs neither a maximum nor a sum of its own: exp(S - LSE) is P, finished.",
        "Pij = exp(Sij - LSEi[:, None]).",
        outputs=from_p(lambda case: p_of(case, attention.scores(case), tile_max(case), sees(case))),
    ),
    Misconception(
        "mask-forgotten",
        "The causal mask is missing",
        "In tiles on the diagonal, P of hidden entries is exp(S - LSE), not 0: they had no part in LSE.",
        "Pij = tl.where(keys[None, :] <= queries[:, None] + n_k - n_q, exp(...), 0.0).",
        outputs=from_p(lambda case: _another_mask(case, None)),
    ),
    Misconception(
        "causal-top-left",
        "The causal mask is aligned top-left",
        "The mask is j <= i. Queries are the last n_q positions of n_k: the last query sees all keys.",
        "Query i sees key j if j <= i + n_k - n_q.",
        outputs=from_p(lambda case: _another_mask(case, 0)),
    ),
    Misconception(
        "causal-off-by-one",
        "The diagonal is hidden: no query sees its own key",
        "The mask is j < i + n_k - n_q, one key too few.",
        "Query i sees key j if j <= i + n_k - n_q.",
        outputs=from_p(lambda case: _another_mask(case, _offset(case) - 1)),
    ),
    Misconception(
        "causal-off-by-one",
        "Each query sees one key of the future",
        "The mask is j <= i + n_k - n_q + 1, one key too many.",
        "Query i sees key j if j <= i + n_k - n_q.",
        outputs=from_p(lambda case: _another_mask(case, _offset(case) + 1)),
    ),
    Misconception(
        "hidden-rows-nan",
        "Queries that see no key bring NaN into the gradients",
        "Their LSE is -inf. Where a score was set to -inf before the exponential, -inf - (-inf) is NaN, and it "
        "spreads to every row that the tile is added to.",
        "Hide entries after the exponential: tl.where(visible, tl.exp(Sij - LSEi[:, None]), 0.0).",
        outputs=writes(lambda case, g: _nan_from_hidden(case, g)),
    ),
    Misconception(
        "tile-transposed",
        "A tile is multiplied in the wrong orientation",
        "dV = P^T dO and dK = dS^T Q: rows of P and dS are queries, rows of dV and dK are keys. With square tiles "
        "the shapes fit without the transposition, too.",
        "tl.dot(tl.trans(Pij), dOi), and tl.dot(tl.trans(dSij), Qi).",
        outputs=writes(lambda case, g: _transposed(case, g, p=True, ds=True)),
    ),
    Misconception(
        "tile-transposed",
        "P is multiplied in the wrong orientation",
        "dV = P^T dO: rows of P are queries, rows of dV are keys. With square tiles the shapes fit without the "
        "transposition, too.",
        "tl.dot(tl.trans(Pij), dOi).",
        outputs=writes(lambda case, g: _transposed(case, g, p=True, ds=False)),
    ),
    Misconception(
        "tile-transposed",
        "dS is multiplied in the wrong orientation",
        "dK = dS^T Q and dQ = dS K: rows of dS are queries. With square tiles the shapes fit either way.",
        "tl.dot(tl.trans(dSij), Qi) for dK, tl.dot(dSij, Kj) for dQ.",
        outputs=writes(lambda case, g: _transposed(case, g, p=False, ds=True)),
    ),
    *(
        Misconception(
            "first-tile-left-out",
            "The loop over queries begins too late",
            why,
            "Begin at max(0, j * Bc - (n_k - n_q)) // Br * Br.",
            outputs=writes(partial(_begun_late, first=first)),
        )
        for why, first in (
            (
                "Its beginning lacks n_k - n_q: with more keys than queries, a key is seen by queries that many "
                "positions earlier.",
                lambda start, offset, Br: start // Br * Br,
            ),
            (
                "Its beginning was rounded up to a whole tile, but the tile on the diagonal is only partly hidden.",
                lambda start, offset, Br: -(-max(0, start - offset) // Br) * Br,
            ),
            (
                "It begins one tile behind the one on the diagonal, which is only partly hidden.",
                lambda start, offset, Br: max(0, start - offset + Br) // Br * Br,
            ),
        )
    ),
    Misconception(
        "begins-before-the-first-query",
        "The loop over queries begins before the first one",
        "j * Bc - (n_k - n_q) is negative where a key is seen by all queries: the first tile then lies before "
        "the tensor.",
        "Begin at tl.maximum(0, ...) // Br * Br.",
        reach=_before_the_first_query,
    ),
    Misconception(
        "last-tile-left-out",
        "The last tile of keys that a query sees is left out",
        "The loop ends one tile too early: the tile on the diagonal is only partly hidden, and must be looked at.",
        "End at min(n_k, (i + 1) * Br + n_k - n_q).",
        outputs=writes(lambda case, g: collected_of(case, g.p, without_last_tile(case, g.ds), "dq_ptr")),
    ),
    Misconception(
        "v-for-do",
        "dV was computed with V's gradient of the scores",
        "dV = P^T dO, but P was replaced by dS.",
        "dVj += tl.dot(tl.trans(Pij), dOi).",
        outputs=writes(lambda case, g: collected_of(case, g.ds, g.ds, "dv_ptr")),
    ),
)


def _transposed(case: Case, g: Gradients, p: bool, ds: bool) -> dict[str, Array]:
    if "dq_ptr" in case.tensors and p:
        return {}
    return collected(
        case, attention.transposed(case, g.p) if p else g.p, attention.transposed(case, g.ds) if ds else g.ds
    )


def _nan_from_hidden(case: Case, g: Gradients) -> dict[str, Array]:
    """NaN in the entries of queries without keys, in tiles that are looked at."""
    alone = ~attention.has_keys(case)
    spoilt = attention.looked_at(case) & alone[:, None]
    return collected(case, np.where(spoilt, np.nan, g.p), np.where(spoilt, np.nan, g.ds))
