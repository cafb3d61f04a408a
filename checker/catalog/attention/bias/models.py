"""Models of kernels with a wrong idea of a bias: which numbers they add, where, and what becomes of its gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from checker.catalog.attention.backward.gradients import Gradients, gradients
from checker.catalog.attention.backward.models import delta_of, lse_of, p_of
from checker.catalog.attention.bounds import looked_at
from checker.catalog.attention.forward.models import from_scores, guarded, last_looked_at, of_scores, with_lse
from checker.catalog.attention.launch import shape_of, wide, writes
from checker.catalog.attention.reference import bias, is_causal, scaled_products, sees
from checker.catalog.numbers import exp32
from checker.course.case import Array, Case
from checker.course.misconception import Reach, Reaches, Sign, Writes

Outputs = Mapping[str, Array]
Address = Callable[[Case, Array, Array, Array], Array]  # (case, head, query, key) → offset in the bias
Lanes = Callable[[Case, Array, Array], npt.NDArray[np.bool_]]  # (case, queries, keys of a tile) → which are loaded


def with_scores(s: Callable[[Case], Array]) -> Writes:
    """Return what attention with these scores writes; nothing for the gradient."""
    return Writes(lambda case: of_scores(case, s(case), sees(case)) if writes(case, "o") else {})


def merged(of_max: Callable[[Array, Array], Array], p: Callable[[Array, Array, Array], Array]) -> Writes:
    """Attention tile by tile: `of_max(s, b)` is what the maximum m is taken of, `p(s, b, m)` is P.

    s are the scores of a tile without their bias, -inf where a key is hidden, and b is the bias.
    """

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        b, block = np.broadcast_to(bias(case), s.shape), shape_of(case).Bc
        o, l, m = (np.full((*s.shape[:-1], n), of) for n, of in ((v.shape[-1], 0.0), (1, 0.0), (1, -np.inf)))
        for start in range(0, s.shape[-1], block):
            own, here = slice(start, start + block), (start // block <= last_looked_at(case))[:, None]
            s_j, b_j = (s - b)[..., own], b[..., own]
            m_new = np.maximum(m, of_max(s_j, b_j).max(axis=-1, keepdims=True))
            shift = guarded(m_new)
            with np.errstate(all="ignore"):
                p_j, a = p(s_j, b_j, shift), exp32(m - shift)
                l = np.where(here, a * l + p_j.sum(axis=-1, keepdims=True), l)
                o = np.where(here, a * o + p_j @ v[:, own], o)
            m = np.where(here, m_new, m)
        with np.errstate(all="ignore"):
            return with_lse(m, l, o / np.where(l == 0, 1.0, l))

    return from_scores(formula)


def added_after(case: Case) -> Outputs:
    """Attention without the bias, to which the product of bias and V is added."""
    if not writes(case, "o"):
        return {}
    made = of_scores(case, scaled_products(case), sees(case))
    weights = np.where(looked_at(case), bias(case), 0.0) * np.ones((shape_of(case).heads, 1, 1))
    return {**made, "o_ptr": made["o_ptr"] + weights @ wide(case, "v")}


def in_place(case: Case) -> Array:
    """Return the bias with all of its (heads, n_q, n_k), those that share a number as well."""
    s = shape_of(case)
    return np.broadcast_to(bias(case), (s.heads, s.n_q, s.n_k))


def strides_of(case: Case) -> tuple[int, int, int]:
    """(head, row, column) strides of the bias, as they are passed; those of the gradient's bias know no head."""
    head, row, column = (int(case.scalars.get(f"bias_{of}_stride", 0)) for of in ("head", "row", "col"))
    return head, row, column


def right_address(case: Case, head: Array, query: Array, key: Array) -> Array:
    """Return where the number of a head, a query and a key lies."""
    of_head, of_row, of_column = strides_of(case)
    return np.asarray(head * of_head + query * of_row + key * of_column)


def loaded_from(case: Case, address: Address) -> Array | None:
    """Return the bias of a kernel that loads it from other addresses; None if one of them lies outside the tensor."""
    s, tensor = shape_of(case), case.tensors["bias_ptr"]
    offsets = address(case, *np.ogrid[: s.heads, : s.n_q, : s.n_k])
    remainder, inside, found = offsets, offsets >= 0, [np.zeros(1, int)] * len(tensor.strides)
    for axis in sorted(range(len(tensor.strides)), key=lambda axis: -tensor.strides[axis]):
        found[axis] = remainder // tensor.strides[axis]
        remainder = remainder - found[axis] * tensor.strides[axis]
        inside = inside & (found[axis] < tensor.values.shape[axis])
    if not (inside & (remainder == 0) | ~looked_at(case)).all():
        return None
    within = [np.clip(one, 0, extent - 1) for one, extent in zip(found, tensor.values.shape, strict=True)]
    return np.asarray(tensor.values.astype(np.float64)[tuple(within)])


def in_tile(case: Case, queries: Array, keys: Array) -> npt.NDArray[np.bool_]:
    """Lanes of queries and of keys that exist."""
    return np.asarray((queries < shape_of(case).n_q) & (keys < shape_of(case).n_k))


def _tiles(case: Case, program: int) -> Iterator[tuple[int, int, int]]:
    """Head, first query and first key of each tile of the bias that a program may load."""
    s, row = shape_of(case), program % case.grid[0]
    if writes(case, "dbias"):
        yield 0, row * s.Br, program // case.grid[0] * s.Bc
        return
    last = last_looked_at(case)[row * s.Br : (row + 1) * s.Br].max()
    yield from ((program // case.grid[0], row * s.Br, tile * s.Bc) for tile in range(int(last) + 1))


def reaching(
    address: Address = right_address, lanes: Lanes = in_tile, tensor: str = "bias_ptr", stores: bool = False
) -> Reaches:
    """Return what loads of the bias cover, tile by tile, with another idea of addresses or of
    masks; or stores of dB.
    """

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        s, made = shape_of(case), []
        if tensor not in case.tensors:
            return ()
        for head, first_query, first_key in _tiles(case, program):
            queries, keys = first_query + np.arange(s.Br)[:, None], first_key + np.arange(s.Bc)[None, :]
            offsets = np.broadcast_to(address(case, np.array(head), queries, keys), (s.Br, s.Bc))
            taken = offsets[np.broadcast_to(lanes(case, queries, keys), (s.Br, s.Bc))]
            if taken.size:
                made.append(Reach(stores, tensor, int(taken.min()), int(taken.max())))
        return tuple(made)

    return Reaches(of)


def from_addresses(address: Address) -> tuple[Sign, ...]:
    """Signs of a kernel that loads the bias from other addresses: what it writes, or where it goes outside."""

    def outputs(case: Case) -> Outputs:
        other = loaded_from(case, address)
        return {} if other is None else with_bias(case, other)

    return Writes(outputs), reaching(address)


def with_bias(case: Case, other: Array) -> Outputs:
    """Return what either kernel writes with another bias."""
    s = scaled_products(case) + other
    if writes(case, "o"):
        return of_scores(case, s, sees(case))
    g = gradients(case)
    return {"dbias_ptr": (_p(case, s) * (g.dp - delta_of(case))).sum(axis=0)}


def seen_lanes(case: Case, queries: Array, keys: Array) -> npt.NDArray[np.bool_]:
    """Lanes of keys that exist and, with the causal mask, are seen: also of queries past the end."""
    s, exist = shape_of(case), keys < shape_of(case).n_k
    return np.asarray(exist & (keys <= queries + s.n_k - s.n_q) if is_causal(case) else exist & (queries >= 0))


def _p(case: Case, s: Array) -> Array:
    return p_of(case, s, lse_of(case), sees(case))


def gradient_is(formula: Callable[[Case, Gradients], Array]) -> Writes:
    """Return what the second kernel writes with this formula; nothing for the first one."""
    return Writes(lambda case: {"dbias_ptr": formula(case, gradients(case))} if writes(case, "dbias") else {})


def gradient_with_p(s: Callable[[Case], Array]) -> Writes:
    """Return the gradient with P made of other scores."""
    return gradient_is(lambda case, g: (_p(case, s(case)) * (g.dp - delta_of(case))).sum(axis=0))


def sum_in_half(case: Case, g: Gradients) -> Array:
    """Return the sum over the heads, rounded to fp16 after each."""
    total = np.zeros(g.ds.shape[1:], np.float16)
    with np.errstate(over="ignore"):
        for one in g.ds:
            total = (total + one).astype(np.float16)
    return total.astype(np.float64)


def of_head_0(case: Case, names: str) -> Array:
    """Return the gradient with some tensors of head 0 for all heads: of q, k, v, o (dO), l (LSE) and d (delta) those
    named.
    """

    def own(name: str, letter: str) -> Array:
        x = wide(case, name)
        return np.broadcast_to(x[:1], x.shape) if letter in names else x

    q, k, v, do = own("q", "q"), own("k", "k"), own("v", "v"), own("do", "o")
    s = float(case.scalars["scale"]) * (q @ k.swapaxes(1, 2)) + bias(case)
    p = p_of(case, s, own("lse", "l")[..., None], sees(case))
    return np.asarray((p * (do @ v.swapaxes(1, 2) - own("delta", "d")[..., None])).sum(axis=0))
