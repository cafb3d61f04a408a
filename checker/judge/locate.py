"""Wrong values that no misconception explains: say where they are, and which shape the error has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checker.judge.evidence import Locator, element_name, tensor_name
from checker.judge.verdict import Finding, Status, Where
from checker.puzzle import Array, Axis, Case, Expected, Outputs

MOST_EXAMPLES = 5
PRINT_HINT = 'print("x", x) works inside a kernel.'


@dataclass(frozen=True, eq=False)
class Wrong:
    """A case whose outputs differ from the reference."""

    case: Case
    outputs: Outputs  # as the kernel left them
    undefined: bool  # other values in masked lanes without `other` give other outputs
    expected: Mapping[str, Expected]
    wrong: Mapping[str, npt.NDArray[np.bool_]]  # per output that is not right everywhere
    store_line: int | None  # the last store
    load_line: int | None  # a load whose masked lanes could count


def status_of_values(item: Wrong) -> Status:
    """Not a number if any wrong element is NaN; else wrong."""
    nan = any(np.isnan(item.outputs[name][mask]).any() for name, mask in item.wrong.items())
    return Status.NOT_A_NUMBER if nan else Status.WRONG


def place_of(item: Wrong, points_at: str, where: Locator) -> Where:
    """The line to look at: where the wrong output is stored, or where the last load stands."""
    name = next(iter(item.wrong))
    index = tuple(int(i) for i in np.argwhere(item.wrong[name])[0])
    if points_at == "load" and item.load_line is not None:
        return where(item.load_line, case=item.case.name, tensor=name, index=index)
    role = f"where {tensor_name(name)} is stored"
    return where(item.store_line, role=role, case=item.case.name, tensor=name, index=index)


def examples_of(item: Wrong, name: str) -> tuple[str, ...]:
    """The first wrong elements of an output in words, NaN before numbers."""
    at = np.argwhere(item.wrong[name])
    nan_first = np.argsort(~np.isnan(item.outputs[name][item.wrong[name]]), kind="stable")
    at = at[nan_first][:MOST_EXAMPLES]
    return tuple(
        f"{element_name(name, index)} is {item.outputs[name][tuple(index)]:.6g}, "
        f"expected {item.expected[name].values[tuple(index)]:.6g}"
        for index in at
    )


def located(items: list[Wrong], where: Locator) -> Finding:
    """No misconception fits: say in one sentence which elements are wrong, in the most telling case.

    That is the first case, which is the plainest; unless most of it is wrong, and only a part of a
    case whose rows are of different kinds.
    """
    item = items[0]
    if _share(item) > 0.5:
        of_kinds = [i for i in items if _kinds(i) > MOST_EXAMPLES]
        item = min(of_kinds, key=lambda i: _share(i) if _share(i) < 0.5 else 1.0, default=item)
        item = item if _share(item) < 0.5 else items[0]
    name = next(iter(item.wrong))
    status = status_of_values(item)
    nan = np.isnan(item.outputs[name][item.wrong[name]])
    what = "not a number" if nan.all() else "wrong, and partly not a number," if nan.any() else "wrong"
    return Finding(
        id="not-a-number" if status is Status.NOT_A_NUMBER else "wrong-values",
        status=status,
        title=f"{tensor_name(name)} is {what} {_region(item, name)}",
        explanation=_shape_of_error(item, name),
        hint=f"Take one of the examples and follow it through the kernel by hand. {PRINT_HINT}",
        where=place_of(item, "", where),
        examples=examples_of(item, name),
    )


def _share(item: Wrong) -> float:
    return float(np.mean([mask.mean() for mask in item.wrong.values()]))


def _kinds(item: Wrong) -> int:
    """How many kinds of rows the case has."""
    return max(len(axis.kinds) for tensor in item.case.tensors.values() for axis in tensor.axes)


def _region(item: Wrong, name: str) -> str:
    """Which part of an output is wrong, along each of its axes: some rows, the tail, one block."""
    wrong = item.wrong[name]
    if wrong.all():
        return "everywhere"
    parts = []
    for number, axis in enumerate(item.case.tensors[name].axes):
        others = tuple(n for n in range(wrong.ndim) if n != number)
        parts += _along(axis, np.flatnonzero(wrong.any(axis=others)), wrong.shape[number])
    if parts:
        return f"only in {', '.join(parts)}"
    return f"in {wrong.sum()} of {wrong.size} elements, from {element_name(name, np.argwhere(wrong)[0])} on"


def _along(axis: Axis, hit: npt.NDArray[np.int64], extent: int) -> list[str]:
    """Where along one axis something is wrong; nothing if everywhere, or if no words are short enough."""
    if len(hit) == extent:
        return []
    tail = extent // axis.block * axis.block if axis.block else 0
    span = f"{axis.plural} {hit[0]} to {hit[-1]}" if len(hit) > 1 else f"{axis.name} {hit[0]}"
    if tail and hit[0] >= tail:
        return [f"the tail: {span}, after the last whole block of {axis.block}"]
    if axis.block and hit[0] // axis.block == hit[-1] // axis.block and extent > axis.block:
        return [f"block {hit[0] // axis.block} ({span})"]
    if axis.block and hit[0] >= axis.block and len(hit) == extent - hit[0]:
        return [f"{axis.plural} from {hit[0]} on"]
    if len(hit) > extent // 2 and not axis.kinds:
        return []
    named = [f"{n} ({axis.kinds[n]})" if n < len(axis.kinds) else str(n) for n in hit[:4]]
    more = f" and {len(hit) - 4} more" if len(hit) > 4 else ""
    return [f"{axis.plural if len(hit) > 1 else axis.name} {', '.join(named)}{more} of {extent}"]


def _shape_of_error(item: Wrong, name: str) -> str:
    """Whether rows are off by a constant factor, which says where to look."""
    actual = item.outputs[name].astype(np.float64)
    right = item.expected[name].values
    if actual.ndim >= 2 and actual.shape[-1] > 2:
        row = item.case.tensors[name].axes[-2].name
        rows = item.wrong[name].any(axis=-1)
        a, b = actual[rows], right[rows]
        with np.errstate(all="ignore"):
            factor = a / b
            if np.all(a == 0):
                return f"Each wrong {row} is 0 throughout: nothing was added to it, or it was divided by infinity."
            if np.isfinite(a).all() and _constant_along_rows(factor):
                return (
                    f"Each wrong {row} is off by one factor ({_range(factor)}): look at what the whole {row} is "
                    "divided by or multiplied with."
                )
    if np.isnan(actual[item.wrong[name]]).any():
        return "NaN comes from inf - inf, 0 * inf, 0 / 0, or from memory that nobody wrote."
    return "The values differ from the reference by more than rounding explains."


def _constant_along_rows(values: Array) -> bool:
    finite = np.isfinite(values)
    if not finite.any(axis=-1).all():
        return False
    low = np.min(np.where(finite, values, np.inf), axis=-1)
    high = np.max(np.where(finite, values, -np.inf), axis=-1)
    return bool((finite.sum(axis=-1) > 2).all() and (high - low <= 1e-3 * np.abs(high)).all())


def _range(values: Array) -> str:
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return f"{low:.3g}" if f"{low:.3g}" == f"{high:.3g}" else f"{low:.3g} to {high:.3g}"
