"""Outputs of kernels with a wrong idea of splits, or of their merge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from checker.catalog.attention.forward.models import attention, of_scores
from checker.catalog.attention.launch import shape_of, wide
from checker.catalog.attention.reference import scores, sees
from checker.catalog.numbers import exp32
from checker.catalog.split.launch import cut_of, is_split, keys_of, tiles_of
from checker.catalog.split.reference import of_splits, own_keys, right_splits
from checker.course.case import Array, Case, Role
from checker.course.misconception import Misconception, Reach, Reaches, Unwritten, Writes

Outputs = Mapping[str, Array]
Keys = Callable[[Case, int], Array]  # (launch, split) → keys by their numbers
EMPTY = (0.0, -np.inf)  # O and LSE of a split without keys


def right(part: Case) -> Outputs:
    """Attention to the keys of one split."""
    return of_scores(part, scores(part), sees(part))


def in_splits(of: Callable[[Case], Outputs], keys: Keys = own_keys, empty: tuple[float, float] = EMPTY) -> Writes:
    """Return a wrong idea of what a split computes, of which keys it has, or of what it stores if it has none."""
    return Writes(lambda case: of_splits(case, of, keys, empty) if is_split(case) else {})


def lifted(idea: Misconception) -> Misconception:
    """Return a wrong idea of attention, in each split."""

    def of(sign: Writes) -> Writes:
        return Writes(in_splits(sign.outputs).outputs, sign.line, sign.needs_line)

    signs = tuple(of(sign) if isinstance(sign, Writes) else sign for sign in idea.signs)
    return replace(idea, signs=signs)


def from_to(first: Callable[[Case, int], int], end: Callable[[Case, int], int]) -> Keys:
    """Return the keys from `first` up to `end`, as far as there are any."""
    return lambda case, split: np.arange(first(case, split), min(end(case, split), shape_of(case).n_k))


def begin(case: Case, split: int) -> int:
    """Return the first key of a split."""
    return split * cut_of(case).keys


def end(case: Case, split: int) -> int:
    """Return one past the last key of a split."""
    return keys_of(case, split)[1]


def in_whole_tiles(case: Case, count: int) -> int:
    """Return a number of keys, rounded up to whole tiles."""
    return -(-count // shape_of(case).Bc) * shape_of(case).Bc


def with_next_keys(case: Case, split: int) -> Array:
    """Return the keys of a split, and as many of the next one as fill its last tile."""
    first, last = keys_of(case, split)
    return np.arange(first, min(first + in_whole_tiles(case, last - first), shape_of(case).n_k))


def with_one_more(case: Case, split: int) -> Array:
    """Return the keys of a split, and the one after them, if it is in the same tile."""
    first, last = keys_of(case, split)
    inside = (last - first) % shape_of(case).Bc and last < shape_of(case).n_k
    return np.arange(first, last + bool(inside))


def hidden_from(limit: Callable[[Case], float]) -> Writes:
    """Return what splits write that hide keys from `limit(case)` on, and not those past their end.

    A key past a split's end was loaded as 0, and counts up to the end of its tile. Where all of a split's first tile
    are hidden, NaN comes of it.
    """

    def outputs(case: Case) -> Outputs:
        if not is_split(case):
            return {}
        n, counted = limit(case), []

        def keys(case: Case, split: int) -> Array:
            first, last = keys_of(case, split)
            if kept := [key for key in range(first, last) if key < n]:
                end = first + in_whole_tiles(case, last - first)
                counted.append(max(0, int(min(end, n)) - last))
            return np.array(kept, int)

        def of(part: Case) -> Outputs:
            past = (0, 0), (0, counted.pop(0)), (0, 0)
            s, v = np.pad(scores(part), (past[0], past[2], past[1])), np.pad(wide(part, "v"), past)
            return {name: x for name, x in attention(s, v).items() if name in part.tensors}

        made = of_splits(case, of, keys)
        for split in range(case.grid[0]):
            if n <= begin(case, split) < shape_of(case).n_k:
                for values in made.values():
                    values[split] = np.nan
        return made

    return Writes(outputs)


def stored(change: Callable[[Case, dict[str, Array]], Outputs]) -> Writes:
    """Right parts, of which something else is stored."""
    return Writes(lambda case: change(case, right_splits(case)) if is_split(case) else {})


def exchanged(case: Case, made: dict[str, Array]) -> Outputs:
    """Parts of shape (heads, splits, ...), in the place of (splits, heads, ...)."""
    return {name: np.ascontiguousarray(x.swapaxes(0, 1)).reshape(x.shape) for name, x in made.items()}


def queries_first(case: Case, made: dict[str, Array]) -> Outputs:
    """Parts of shape (splits, n_q, heads, ...)."""
    return {name: np.ascontiguousarray(x.swapaxes(1, 2)).reshape(x.shape) for name, x in made.items()}


def left_out(rows: Callable[[Case], Array]) -> Unwritten:
    """Return what is left of the parts if programs store to the same `rows`, counted through all parts."""

    def elements(case: Case) -> dict[str, Array]:
        if not is_split(case):
            return {}
        shape = case.tensors["lse_part_ptr"].values.shape
        every = np.ones(int(np.prod(shape)), bool)
        every[rows(case)] = False
        gone = every.reshape(shape)
        o = case.tensors["o_part_ptr"].values.shape
        return {"o_part_ptr": np.broadcast_to(gone[..., None], o), "lse_part_ptr": gone}

    return Unwritten(elements, shared=True)


def empty_splits(case: Case) -> dict[str, Array]:
    """Return all that splits without keys should store."""
    if not is_split(case):
        return {}
    empty = tiles_of(case) == 0
    outputs = {name: t for name, t in case.tensors.items() if t.role is Role.OUTPUT}
    return {
        name: np.broadcast_to(empty.reshape(-1, *[1] * (t.values.ndim - 1)), t.values.shape)
        for name, t in outputs.items()
    }


def merging(formula: Callable[[Array, Array, Case], tuple[Array, Array | None]]) -> Writes:
    """Return a wrong idea of the merge: O and LSE from those of the parts; None: a kernel may have any LSE."""

    def outputs(case: Case) -> Outputs:
        if is_split(case):
            return {}
        with np.errstate(all="ignore"):
            o, lse = formula(wide(case, "o_part"), wide(case, "lse_part"), case)
        return {"o_ptr": o} if lse is None else {"o_ptr": o, "lse_ptr": lse}

    return Writes(outputs)


def weighed(
    o: Array,
    lse: Array,
    weight: Callable[[Array, Array], Array] = lambda lse, m: exp32(lse - m),
    divided: Callable[[Array, Array], Array] = lambda o, l: o / l,
    total: Callable[[Array, Array], Array] = lambda m, l: m + np.log(l),
    m: Array | None = None,
) -> tuple[Array, Array]:
    """O and LSE of a merge with its own weights, division and LSE; `m`: a maximum that is not that of the parts."""
    m = lse.max(axis=0) if m is None else m
    weights = weight(lse, m)
    l = weights.sum(axis=0)
    return divided((weights[..., None] * o).sum(axis=0), l[..., None]), total(m, l)


def padded_parts(o: Array, lse: Array, case: Case) -> tuple[Array, Array]:
    """Parts up to Bs, of which those that do not exist have an LSE of 0 and an O of 0."""
    more = int(case.constexprs["Bs"]) - len(lse)
    return np.pad(o, ((0, more), *[(0, 0)] * 3)), np.pad(lse, ((0, more), *[(0, 0)] * 2))


def regrouped(x: Array, order: str) -> Array:
    """Parts that are read as if their axes, splits, heads and queries, came in another order."""
    at = ["shq".index(letter) for letter in order]
    shape = [x.shape[axis] for axis in at]
    return x.reshape(*shape, *x.shape[3:]).transpose(*np.argsort(at), *range(3, x.ndim))


def merging_with_lse(total: Callable[[Array, Array, Array], Array]) -> Writes:
    """A merge with the right O; LSE is made of those of the parts, their maximum and the sum of the weights."""

    def formula(o: Array, lse: Array, case: Case) -> tuple[Array, Array]:
        m = lse.max(axis=0)
        return weighed(o, lse)[0], total(lse, m, exp32(lse - m).sum(axis=0))

    return merging(formula)


def merging_first(axis: int, of_o: bool, of_lse: bool) -> Writes:
    """Return a merge that takes the first head (axis 1) or query (axis 2) of the parts for all."""

    def formula(o: Array, lse: Array, case: Case) -> tuple[Array, Array]:
        first = [np.broadcast_to(np.take(x, [0], axis), x.shape) for x in (o, lse)]
        return weighed(first[0] if of_o else o, first[1] if of_lse else lse)

    return merging(formula)


def parts_reached(last: Callable[[Case], int]) -> Reaches:
    """Return what a load of all parts covers, from the first to the number `last`."""

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        if is_split(case):
            return ()
        n_q, heads = case.grid
        d, at = int(case.constexprs["D"]), program // n_q * n_q + program % n_q
        far = last(case) * heads * n_q + at
        return (Reach(False, "lse_part_ptr", at, far), Reach(False, "o_part_ptr", at * d, far * d + d - 1))

    return Reaches(of)


def part_stored(rows: Callable[[Case], int]) -> Reaches:
    """Return what a split's stores cover, with so many rows for its queries."""

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        if not is_split(case):
            return ()
        splits, heads = case.grid
        n_q, d = shape_of(case).n_q, shape_of(case).D
        first = (program % splits * heads + program // splits) * n_q
        end = first + rows(case)
        return Reach(True, "lse_part_ptr", first, end - 1), Reach(True, "o_part_ptr", first * d, end * d - 1)

    return Reaches(of)


def ids_exchanged(case: Case, program: int) -> tuple[Reach, ...]:
    """Return the load of Q by a program of `split_kernel` that takes the grid's first axis for the head."""
    head = program % case.grid[0]
    if not is_split(case) or head < case.grid[1]:
        return ()
    shape, first = shape_of(case), head * int(case.scalars["q_head_stride"])
    return (Reach(False, "q_ptr", first, first + (shape.n_q - 1) * int(case.scalars["q_row_stride"]) + shape.D - 1),)
