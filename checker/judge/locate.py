"""Wrong values that no misconception explains: say where they are, and which shape the error has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from checker.course.puzzle import Array, Axis, Case, Expected, Outputs
from checker.course.verdict import Finding, Status, Where
from checker.judge.compare import agrees
from checker.judge.evidence import Locator, element_name, has_columns, tensor_name
from checker.judge.patterns import common_sizes, rounded_to
from checker.judge.roles import Code

MOST_EXAMPLES = 5
SMALL_ERROR = 2e-2  # relative; below it a value is nearly right
PRINT_HINT = 'print("x", x) works inside a kernel.'


@dataclass(frozen=True, eq=False)
class Wrong:
    """A case whose outputs differ from the reference."""

    case: Case
    outputs: Outputs  # as the kernel left them
    undefined: bool  # other values in masked lanes without `other` give other outputs
    expected: Mapping[str, Expected]
    wrong: Mapping[str, npt.NDArray[np.bool_]]  # per output that is not right everywhere
    store_lines: Mapping[str, int | None]  # of each of these, the last store to it
    load_line: int | None  # a load whose masked lanes could count; else the last one
    padding_line: int | None  # a load whose masked lanes could count
    code: Code  # the kernel's

    @property
    def store_line(self) -> int | None:
        """The last store to the first output that is wrong."""
        return self.store_lines[next(iter(self.wrong))]


def status_of_values(item: Wrong) -> Status:
    """Not a number if any wrong element is NaN; else wrong."""
    nan = any(np.isnan(item.outputs[name][mask]).any() for name, mask in item.wrong.items())
    return Status.NOT_A_NUMBER if nan else Status.WRONG


def line_at(item: Wrong, points_at: str | frozenset[str]) -> int | None:
    """The line that a misconception is about, if the kernel's text or the log can tell."""
    if points_at == "load":
        return item.load_line
    if points_at == "padding":
        return item.padding_line
    return item.code.line_of(points_at, item.store_line) if points_at else None


def place_of(item: Wrong, points_at: str | frozenset[str], where: Locator) -> Where:
    """The line to look at: the one at fault where that is known, else where the wrong output is stored."""
    name = next(iter(item.wrong))
    index = tuple(int(i) for i in np.argwhere(item.wrong[name])[0])
    line = line_at(item, points_at)
    role = "" if line else f"where {tensor_name(name)} is stored"
    return where(line or item.store_line, role=role, case=item.case.name, tensor=name, index=index)


def examples_of(item: Wrong, name: str, idea: Array | None = None) -> tuple[str, ...]:
    """Wrong elements of an output in words: the first ones, NaN before numbers.

    With what an idea gives, those that it gives too, numbers before NaN: what is no number proves little.
    """
    wrong = item.wrong[name]
    nan = np.isnan(item.outputs[name])
    if idea is None:
        last, believed = ~nan, ""
    else:
        last = ~agrees(idea, item.outputs[name], item.expected[name]) * 2 + ~np.isfinite(idea)
    at = np.argwhere(wrong)
    at = at[np.argsort(last[wrong], kind="stable")][:MOST_EXAMPLES]
    lines = []
    for index in map(tuple, at):
        believed = "" if idea is None else f"this idea gives {idea[index].astype(item.outputs[name].dtype):.6g}; "
        right = item.expected[name].values[index]
        lines.append(f"{element_name(name, index)} is {item.outputs[name][index]:.6g}; {believed}expected {right:.6g}")
    return tuple(lines)


def located(items: list[Wrong], failed: list[Case], right: list[Case], where: Locator) -> Finding:
    """No misconception fits: say which elements are wrong, in the most telling case.

    That is the first case, which is the plainest; unless most of it is wrong, and only a part of a case whose rows are
    of different kinds. An output that is wrong everywhere in all cases comes first: that is true of each.
    """
    item = items[0]
    throughout = [n for n in item.wrong if all(n in i.wrong and i.wrong[n].all() for i in items)]
    if not throughout and _share(item) > 0.5:
        of_kinds = [i for i in items if _kinds(i) > MOST_EXAMPLES]
        item = min(of_kinds, key=lambda i: _share(i) if _share(i) < 0.5 else 1.0, default=item)
        item = item if _share(item) < 0.5 else items[0]
    name = next(iter(throughout or item.wrong))
    if name != next(iter(item.wrong)):
        item = replace(item, wrong={name: item.wrong[name], **item.wrong})
    rounded = _rounded(items)
    if rounded:
        return replace(rounded, where=place_of(item, "", where), examples=examples_of(item, name)[:2])
    status = status_of_values(item)
    regions = {n: _region(item, n) for n in item.wrong}
    parts = [f"{tensor_name(n)} is {_what(item, n)} {region}" for n, region in regions.items()]
    if len(set(regions.values())) == 1 and len({_what(item, n) for n in item.wrong}) == 1 and len(regions) > 1:
        parts = [f"{_and([tensor_name(n) for n in regions])} are {_what(item, name)} {regions[name]}"]
    only = any(_parts(item, n) for n in regions)
    differs = only and any({n: _region(i, n) for n in i.wrong} != regions for i in items)
    return Finding(
        id="not-a-number" if status is Status.NOT_A_NUMBER else "wrong-values",
        status=status,
        title=", ".join(parts) + (", in this case" if differs else ""),
        explanation=" ".join(filter(None, (_shape_of_error(item, name), common_sizes(failed, right)))),
        hint=f"Take one of the examples and follow it through the kernel by hand. {PRINT_HINT}",
        where=place_of(item, "", where),
        examples=examples_of(item, name),
    )


def _rounded(items: list[Wrong]) -> Finding | None:
    """The finding on outputs that were rounded to 16 bits, if that is all that is wrong with them."""
    types = {rounded_to(i.outputs[n], i.expected[n]) for i in items for n in i.wrong}
    kind = types.pop()
    if types or kind is None:
        return None
    names = dict.fromkeys(tensor_name(n) for i in items for n in i.wrong)
    name, was, it = _and([*names]), *(("was", "it") if len(names) == 1 else ("were", "they"))
    return Finding(
        id="rounded-to-half",
        status=Status.WRONG,
        title=f"{name} {was} rounded to {kind} before {it} {was} stored",
        explanation=f"Every value of {name} is one that {kind} can hold: the right value, rounded. Such a number keeps "
        f"{11 if kind == 'fp16' else 8} bits, but the output has fp32's 24.",
        hint=f"Store fp32: tl.store converts to the output's type by itself, whatever that is. Look for .to(tl."
        f"{'float16' if kind == 'fp16' else 'bfloat16'}), or .to(...dtype), on the way to the store.",
    )


def _what(item: Wrong, name: str) -> str:
    nan = np.isnan(item.outputs[name][item.wrong[name]])
    return "not a number" if nan.all() else "wrong, and partly not a number," if nan.any() else "wrong"


def _and(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _share(item: Wrong) -> float:
    return float(np.mean([mask.mean() for mask in item.wrong.values()]))


def _kinds(item: Wrong) -> int:
    """How many kinds of rows the case has."""
    return max(len(axis.kinds) for tensor in item.case.tensors.values() for axis in tensor.axes)


def _region(item: Wrong, name: str) -> str:
    """Which part of an output is wrong in words: some rows, the tail, one block."""
    wrong = item.wrong[name]
    if wrong.all():
        return "everywhere"
    if parts := _parts(item, name):
        return f"only in {', '.join(parts)}"
    return f"in {wrong.sum()} of {wrong.size} elements, from {element_name(name, np.argwhere(wrong)[0])} on"


def _parts(item: Wrong, name: str) -> list[str]:
    """Which part of an output is wrong, along each of its axes; nothing if all along, or if no words are short."""
    wrong = item.wrong[name]
    parts = []
    for number, axis in enumerate(item.case.tensors[name].axes):
        others = tuple(n for n in range(wrong.ndim) if n != number)
        parts += _along(axis, np.flatnonzero(wrong.any(axis=others)), wrong.shape[number])
    return parts


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
    """Whether rows are off by a constant factor, which says where to look; or by little more than rounding."""
    actual = item.outputs[name].astype(np.float64)
    right = item.expected[name].values
    wrong = item.wrong[name]
    with np.errstate(all="ignore"):
        relative = np.abs(actual / right - 1)[wrong & (right != 0)]
    small = relative.size > 0 and bool(np.all(relative < SMALL_ERROR))
    if actual.ndim >= 2 and actual.shape[-1] > 2 and has_columns(item.case.tensors[name]) and not small:
        row = item.case.tensors[name].axes[-2].name
        rows = wrong.any(axis=-1)
        a, b = actual[rows], right[rows]
        with np.errstate(all="ignore"):
            factor = a / b
            if np.all(a == 0):
                return f"Each wrong {row} is 0 throughout: nothing was added to it, or it was divided by infinity."
            if np.isfinite(a).all() and _constant_along_rows(factor):
                low, high = _range(factor)
                own = f"one factor ({low})" if low == high else f"a factor of its own ({low} to {high})"
                return (
                    f"Each wrong {row} is off by {own}: look at what the whole {row} is divided by or multiplied with."
                )
    if np.isnan(actual[wrong]).any():
        return "NaN comes from inf - inf, 0 * inf, 0 / 0, or from memory that nobody wrote."
    if small:
        loses = "fp32 loses" if item.outputs[name].dtype == np.float32 else "rounding the result loses"
        return (
            f"Each wrong value is right to within {100 * float(relative.max()):.2g} %: close, but more than {loses}. "
            "Was something rounded to fp16 on the way, or is a constant slightly off?"
        )
    return "The wrong values are further from the reference than rounding can take them."


def _constant_along_rows(values: Array) -> bool:
    finite = np.isfinite(values)
    if not finite.any(axis=-1).all():
        return False
    low = np.min(np.where(finite, values, np.inf), axis=-1)
    high = np.max(np.where(finite, values, -np.inf), axis=-1)
    return bool((finite.sum(axis=-1) > 2).all() and (high - low <= 1e-3 * np.abs(high)).all())


def _range(values: Array) -> tuple[str, str]:
    return f"{float(np.nanmin(values)):.3g}", f"{float(np.nanmax(values)):.3g}"
