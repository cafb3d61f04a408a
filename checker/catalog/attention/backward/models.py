"""Models of kernels with a wrong idea of the backward pass: what each would write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from checker.catalog.attention.backward.gradients import Gradients, gradients
from checker.catalog.attention.backward.gradients import collected as collected_exactly
from checker.catalog.attention.bounds import looked_at, transposed
from checker.catalog.attention.dropped import dropped
from checker.catalog.attention.forward.models import last_looked_at
from checker.catalog.attention.launch import shape_of, wide, writes
from checker.catalog.attention.reference import has_keys, scores, sees, visible
from checker.catalog.numbers import EPS32, exp32, rounded
from checker.course.case import Array, Case
from checker.course.misconception import Reach, Writes
from checker.course.text import products_of

Outputs = Mapping[str, Array]
Wrong = Callable[[Case, Gradients], dict[str, Array]]
First = Callable[[int, int, int, int], int]  # (first key of the tile, n_k - n_q, Br, Bc) → first query

DP = products_of("do_ptr", "v_ptr")  # the one that gives dP


def collected(case: Case, p: Array, ds: Array) -> dict[str, Array]:
    """Return the gradients of P and dS, which may become infinite in fp16 before a product."""
    if case.tensors["q_ptr"].values.dtype == np.float16:
        p, ds = rounded(p), rounded(ds)
    return collected_exactly(case, p, ds)


def from_gradients(formula: Wrong) -> Writes:
    """Return what a kernel with this formula writes, of the outputs that the launch has; nothing if
    none is a gradient.
    """

    def outputs(case: Case) -> Outputs:
        if not {"q_ptr", "do_ptr"} <= case.tensors.keys():
            return {}
        return {name: o for name, o in formula(case, gradients(case)).items() if name in case.tensors}

    return Writes(outputs)


def from_p(p: Callable[[Case], Array]) -> Writes:
    """Return all gradients with another P."""

    def formula(case: Case, g: Gradients) -> dict[str, Array]:
        other = p(case)
        return collected(case, other, other * (g.dp - delta_of(case)))

    return from_gradients(formula)


def from_ds(ds: Callable[[Case, Gradients], Array]) -> Writes:
    """Return all gradients with another dS."""
    return from_gradients(lambda case, g: collected(case, g.p, ds(case, g)))


def with_scaled_dp(again: bool) -> Writes:
    """Return all gradients with dP times the scale; `again`: dQ and dK get the scale as well, as they must."""

    def formula(case: Case, g: Gradients) -> dict[str, Array]:
        scale = float(case.scalars["scale"])
        ds = g.p * (scale * g.dp - delta_of(case))
        return collected(case, g.p, ds if again else ds / scale)

    return from_gradients(formula)


def of_head_0(*names: str) -> Writes:
    """Return all gradients of a kernel that takes head 0 of these tensors for every head."""

    def formula(case: Case, _: Gradients) -> dict[str, Array]:
        seen = dict(case.tensors)
        for name in (f"{name}_ptr" for name in names):
            x = seen[name].values
            seen[name] = replace(seen[name], values=np.broadcast_to(x[:1], x.shape))
        other = replace(case, tensors=seen)
        g = gradients(other)
        return collected(other, g.p, g.ds)

    return from_gradients(formula)


def scaled(factor: Callable[[float], float], *names: str) -> Writes:
    """Return the right gradients, but for a factor on some of them; nothing for a launch that writes none of these."""

    def formula(case: Case, g: Gradients) -> dict[str, Array]:
        right = collected(case, g.p, g.ds)
        if not set(names) & set(right):
            return {}
        return {n: x * factor(float(case.scalars["scale"])) if n in names else x for n, x in right.items()}

    return from_gradients(formula)


def p_of(case: Case, s: Array, minus: Array | float, seen: Array) -> Array:
    """exp(s - minus), in fp32, where `seen` holds."""
    with np.errstate(all="ignore"):
        return np.where(seen, exp32(s - minus), 0.0)


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


# First queries of a loop that begins too late, by what is said of it.
FIRST_QUERIES: Mapping[str, First] = {
    "first-tile-left-out": lambda start, offset, Br, Bc: start // Br * Br,
    "first-tile-left-out/rounded-up": lambda start, offset, Br, Bc: -(-max(0, start - offset) // Br) * Br,
    "first-tile-left-out/next-tile": lambda start, offset, Br, Bc: max(0, start - offset + Br) // Br * Br,
    "first-tile-left-out/last-key": lambda start, offset, Br, Bc: max(0, start + Bc - 1 - offset) // Br * Br,
}


def late_by(queries: int) -> First:
    """Return the first query of a loop that begins so many queries too late."""
    return lambda start, offset, Br, Bc: max(0, start - offset + queries) // Br * Br


def begun_late(case: Case, x: Array, first: First) -> Array:
    """P or dS without tiles of queries before `first(j * Bc, n_k - n_q, Br, Bc)`, for each tile j of keys."""
    s = shape_of(case)
    kept = x.copy()
    for start in range(0, s.n_k, s.Bc):
        kept[:, : max(0, first(start, s.n_k - s.n_q, s.Br, s.Bc)), start : start + s.Bc] = 0.0
    return kept


def ended_early(case: Case, x: Array, early: int) -> Array:
    """P or dS without tiles of keys that begin within the last `early` keys that a tile of queries sees."""
    s = shape_of(case)
    kept = x.copy()
    for start in range(0, s.n_q, s.Br):
        end = min(s.n_k, start + s.Br + s.n_k - s.n_q - early)
        kept[:, start : start + s.Br, max(0, -(-end // s.Bc) * s.Bc) :] = 0.0
    return kept


def of_last_tile(case: Case, x: Array) -> Array:
    """P or dS of the last tile alone that each program looks at: of keys for dQ, of queries for dK and dV."""
    s = shape_of(case)
    if writes(case, "dq"):
        last = np.arange(s.n_k) // s.Bc == last_looked_at(case)[:, None]
    else:
        last = np.broadcast_to(np.arange(s.n_q)[:, None] // s.Br == s.tr - 1, (s.n_q, s.n_k))
    return np.where(last, x, 0.0)


def product(case: Case, one: str, other: str) -> Array:
    """one · otherᵀ of two tensors of the launch, in place of dO Vᵀ; Z ∘ that, with dropout."""
    return dropped(case, wide(case, one) @ wide(case, other).swapaxes(1, 2))


def delta_of_tiles(case: Case) -> dict[str, Array]:
    """Return the sum of O ∘ dO over each tile of queries, for each of its queries."""
    if not writes(case, "delta"):
        return {}
    rows, block = (wide(case, "o") * wide(case, "do")).sum(axis=-1), shape_of(case).Br
    tiles = np.arange(rows.shape[-1]) // block
    return {"delta_ptr": np.stack([rows[:, tiles == tile].sum(axis=-1) for tile in tiles], axis=-1)}


def in_half(case: Case, g: Gradients) -> dict[str, Array]:
    """Gradients whose sum is rounded to the inputs' type after each tile; nothing if that is fp32."""
    s, dtype = shape_of(case), case.tensors["q_ptr"].values.dtype
    if dtype == np.float32:
        return {}
    axis, block, count = (2, s.Bc, s.tc) if writes(case, "dq") else (1, s.Br, s.tr)
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


def another_mask(case: Case, offset: int | None, skipping: bool = True) -> Array:
    """Return P with another causal mask, or none, over all tiles or those that must be looked at (`skipping`)."""
    shape = shape_of(case)
    seen = visible(shape.n_q, shape.n_k, offset is not None, offset)
    return p_of(case, scores(case), lse_of(case), seen & (looked_at(case) | (not skipping)))


def masked_once(case: Case, keys_outside: bool) -> Array:
    """P of a kernel that masks one tile of each loop: the first one of queries, or the last one of keys."""
    shape, looked = shape_of(case), looked_at(case)
    if keys_outside:
        masked = np.arange(shape.n_q)[:, None] // shape.Br == looked.argmax(axis=0) // shape.Br
    else:
        masked = np.arange(shape.n_k) // shape.Bc == last_looked_at(case)[:, None]
    return p_of(case, scores(case), lse_of(case), sees(case) | (looked & ~masked))


def delta_in_half(case: Case, rounded: bool) -> dict[str, Array]:
    """delta from products rounded to the inputs' type; `rounded`: their sum as well."""
    if not writes(case, "delta"):
        return {}
    products = case.tensors["o_ptr"].values * case.tensors["do_ptr"].values  # in their own type
    exact = products.astype(np.float64).sum(axis=-1)
    return {"delta_ptr": exact.astype(products.dtype) if rounded else exact}


def before_the_first_query(case: Case, program: int) -> tuple[Reach, ...]:
    """Loads of Q in tiles before the first query, by a dK and dV kernel."""
    if not writes(case, "dk"):
        return ()
    shape = shape_of(case)
    head_stride, row_stride = int(case.scalars["q_head_stride"]), int(case.scalars["q_row_stride"])
    first = program // case.grid[0] * head_stride
    return tuple(
        Reach(False, "q_ptr", first + start * row_stride, first + (start + shape.Br - 1) * row_stride + shape.D - 1)
        for start in range(-shape.Br * (1 + shape.n_k // shape.Br), 0, shape.Br)
    )


def masked_only_in_ds(case: Case, skipping: bool = True) -> dict[str, Array]:
    """Return all gradients, with dV made of a P in which nothing is hidden; `skipping`: hidden tiles are left out."""
    p = p_of(case, scores(case), lse_of(case), looked_at(case) | (not skipping))
    return collected(case, p, gradients(case).ds)


def tile_softmax(case: Case, *, hidden_too: bool = False) -> Array:
    """P that sums to 1 in each tile of keys; `hidden_too`: over all keys of it, of which some are hidden afterwards."""
    block, s = shape_of(case).Bc, scores(case) if hidden_too else np.where(sees(case), scores(case), -np.inf)
    parts = []
    for start in range(0, s.shape[-1], block):
        part = s[..., start : start + block]
        e = np.where(np.isinf(part), 0.0, np.exp(part - part.max(axis=-1, keepdims=True)))
        parts.append(e / np.maximum(e.sum(axis=-1, keepdims=True), 1e-300))
    return np.where(sees(case), np.concatenate(parts, axis=-1), 0.0)


def settled(case: Case, g: Gradients) -> Array:
    """dS without what is rounding of delta alone: of a query that sees one key, dP is delta."""
    size = g.p * (np.abs(g.dp) + np.abs(delta_of(case)))
    return np.where(np.abs(g.ds) <= 8 * EPS32 * size, 0.0, g.ds)


def in_base_two(case: Case, folded: float) -> Array:
    """P of exp2, with a factor on the scores only."""
    with np.errstate(all="ignore"):
        exponent = folded * scores(case) - lse_of(case)
        return np.where(sees(case), exp32(exponent * np.log(2)), 0.0)


def lse_of(case: Case) -> Array:
    """Return the launch's LSE, with a last axis of 1."""
    return wide(case, "lse")[..., None]


def delta_of(case: Case) -> Array:
    """Return the launch's delta, with a last axis of 1."""
    return wide(case, "delta")[..., None]


def collected_of(case: Case, p: Array, ds: Array, only: str) -> dict[str, Array]:
    """Return the gradients made of P and dS, if the launch writes `only`; else nothing."""
    return collected(case, p, ds) if only in case.tensors else {}


def from_late_loop(case: Case, g: Gradients, first: First) -> dict[str, Array]:
    """dK and dV of a loop over queries that begins at `first(j * Bc, n_k - n_q, Br, Bc)`."""
    p, ds = (begun_late(case, x, first) for x in (g.p, g.ds))
    return collected_of(case, p, ds, only="dk_ptr")


def to_another_end(case: Case, g: Gradients, only: str) -> dict[str, Array]:
    """dK and dV of a loop over queries that ends at n_k, or dQ of one over keys that ends at n_q."""
    s = shape_of(case)
    end = -(-s.n_k // s.Br) * s.Br if only == "dk_ptr" else -(-s.n_q // s.Bc) * s.Bc
    seen = np.arange(s.n_q)[:, None] < end if only == "dk_ptr" else np.arange(s.n_k) < end
    return collected_of(case, np.where(seen, g.p, 0.0), np.where(seen, g.ds, 0.0), only)


def with_transposed(case: Case, g: Gradients, p: bool, ds: bool) -> dict[str, Array]:
    """Gradients with tiles of P, of dS or of both transposed, where tiles are square."""
    if writes(case, "dq") and p:
        return {}
    return collected(case, transposed(case, g.p) if p else g.p, transposed(case, g.ds) if ds else g.ds)


def nan_from_hidden(case: Case, g: Gradients) -> dict[str, Array]:
    """NaN in the entries of queries without keys, in tiles that are looked at."""
    alone = ~has_keys(case)
    spoilt = looked_at(case) & alone[:, None]
    return collected(case, np.where(spoilt, np.nan, g.p), np.where(spoilt, np.nan, g.ds))


def nan_from_padding(case: Case, g: Gradients) -> dict[str, Array]:
    """NaN throughout dK and dV if the last tile of queries is not full: all keys that exist are visible from there."""
    spoilt = bool(shape_of(case).n_q % shape_of(case).Br)
    right = collected_of(case, g.p, g.ds, only="dk_ptr")
    return {name: np.full_like(x, np.nan) if spoilt else x for name, x in right.items()}
