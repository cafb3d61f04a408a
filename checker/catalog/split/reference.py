"""Splits and their merge in float64: what each kernel should write, and what the merge is given.

A part is O and LSE of some keys. Parts merge as pairs (m, l) do: w = exp(LSE - max LSE) is how much of the whole sum of
exponentials is a part's own, O = sum(w O) / sum(w), and LSE = max LSE + log(sum(w)).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from checker.catalog.attention.launch import shape_of, wide
from checker.catalog.attention.reference import expected as expected_alone
from checker.catalog.numbers import EPS32
from checker.catalog.split.launch import alone, is_split, keys_of
from checker.course.case import Array, Case
from checker.course.puzzle import Expected

Outputs = Mapping[str, Array]


def own_keys(case: Case, split: int) -> Array:
    """Return the keys of a split, by their numbers."""
    return np.arange(*keys_of(case, split))


def of_splits(
    case: Case,
    of: Callable[[Case], Outputs],
    keys: Callable[[Case, int], Array] = own_keys,
    empty: tuple[float, float] = (0.0, -np.inf),
) -> dict[str, Array]:
    """Return what all splits write, if each writes `of` its keys alone; without keys, O and LSE as in `empty`.

    Of splits of which no program is run, nothing is computed.
    """
    shape = shape_of(case)
    nothing = {
        "o_ptr": np.full((shape.heads, shape.n_q, shape.D), empty[0]),
        "lse_ptr": np.full((shape.heads, shape.n_q), empty[1]),
    }
    run = {program % case.grid[0] for program in case.programs} or range(case.grid[0])
    found = [keys(case, split) if split in run else np.arange(0) for split in range(case.grid[0])]
    made = [of(alone(case, some)) if len(some) else nothing for some in found]
    names = set.intersection(*(set(one) for one in made))
    return {f"{name[:-4]}_part_ptr": np.stack([one[name] for one in made]) for name in nothing if name in names}


def right_splits(case: Case) -> dict[str, Array]:
    """Return what all splits should write."""
    return of_splits(case, lambda part: {n: e.values for n, e in expected_alone(part).items()})


def merged(o: Array, lse: Array) -> tuple[Array, Array]:
    """O and LSE of parts along the first axis, of which each query has one with a key."""
    m = lse.max(axis=0)
    weights = np.exp(lse - m)
    l = weights.sum(axis=0)
    return (weights[..., None] * o).sum(axis=0) / l[..., None], m + np.log(l)


def expected(case: Case) -> Mapping[str, Expected]:
    """Return what the launch should write, with running-error bounds.

    A split errs as p6 does on its keys alone. In the merge, an exponent errs by eps per unit of |LSE|, which a
    folded log2(e) costs, and a weight relatively by as much; a sum is rounded once a part. What underflows is below
    1e-37 of the largest weight.
    """
    if is_split(case):
        values = right_splits(case)
        errors = of_splits(
            case, lambda part: {n: e.tolerance for n, e in expected_alone(part).items()}, empty=(0.0, 0.0)
        )
        return {name: Expected(values[name], errors[name]) for name in values}
    parts, lses = wide(case, "o_part"), wide(case, "lse_part")
    o, lse = merged(parts, lses)
    largest = np.max(np.abs(lses), axis=0, where=np.isfinite(lses), initial=0.0)
    relative = EPS32 * (16 + 4 * largest + 2 * len(lses))
    of_o = case.tensors["o_ptr"]
    spread = merged(np.abs(parts), lses)[0]
    lost = of_o.smallest + 1e-37 * np.abs(parts).sum(axis=0)
    return {
        "o_ptr": Expected(o, 2 * spread * relative[..., None] + of_o.eps * np.abs(o) + lost + 1e-30),
        "lse_ptr": Expected(lse, relative + EPS32 * np.abs(lse)),
    }
