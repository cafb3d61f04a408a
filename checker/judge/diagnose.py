"""Name the mistake: find the misconception that explains what was seen, or else say where it is.

A misconception explains a case when its model gives just what the kernel did, and the right answer
would have been something else. The one that explains most cases is named first; if it leaves cases
unexplained, they are looked at again, so two mistakes in one kernel get two names. What no name
explains is located, but only if there is no name at all: the report says one thing at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from checker.box.results import KernelError, Refusal
from checker.catalog.common import COMMON
from checker.judge.compare import explains, gets_it_right, wrong_elements
from checker.judge.evidence import Locator, element_name, grid_position, tensor_name
from checker.judge.memory import refusal_finding
from checker.judge.verdict import Finding, Status, Where
from checker.puzzle import Array, Axis, Case, Expected, Misconception, Outputs, Puzzle, Reach

MOST_EXAMPLES = 5
MOST_NAMES = 3
# Findings that say where, because no misconception says what.
UNNAMED = frozenset({"reads-outside", "writes-outside", "wrong-values", "not-a-number", "kernel-error"})
PRINT_HINT = 'print("x", x) works inside a kernel.'

T = TypeVar("T")


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


def name_errors(puzzle: Puzzle, errors: list[tuple[Case, KernelError]], where: Locator) -> Iterator[Finding]:
    """Findings for what the kernel raised."""

    def explains_error(misconception: Misconception, item: tuple[Case, KernelError]) -> bool:
        return misconception.error is not None and bool(misconception.error.search(item[1].message))

    named, rest = _cover((*puzzle.misconceptions, *COMMON), errors, explains_error)
    for misconception, items in named:
        case, error = items[0]
        place = where(error.line, case=case.name, program=grid_position(case, error.program))
        said = error.message.strip().split("\n")[0]
        yield _with_examples(_named(misconception, Status.CRASHED, place), (f"Triton says: {said}",) if said else ())
    seen: set[tuple[str, int]] = set()
    for case, error in rest:
        if (error.type, error.line) in seen:
            continue
        seen.add((error.type, error.line))
        yield error_finding(case, error, where)


def error_finding(case: Case | None, error: KernelError, where: Locator) -> Finding:
    """What the kernel raised, in its own words."""
    place = (
        where(error.line)
        if case is None
        else where(error.line, case=case.name, program=grid_position(case, error.program))
    )
    if error.type == "MemoryError":
        return Finding(
            "out-of-memory",
            Status.OUT_OF_MEMORY,
            "The kernel asks for more memory than there is",
            "A block of this size does not fit into the memory of the box, let alone of a GPU's core.",
            "Work on one block at a time: its size is given by the constexpr parameters.",
            place,
        )
    message = error.message.strip().split("\n")[0] or "no message"
    return Finding(
        "kernel-error",
        Status.CRASHED,
        "The kernel stopped with an error",
        f"{error.type}: {message}",
        f"Look at the marked line: the shapes, types and names in it. {PRINT_HINT}",
        place,
    )


def name_refusals(puzzle: Puzzle, refusals: list[tuple[Case, Refusal]], where: Locator) -> Iterator[Finding]:
    """Findings for accesses outside a tensor."""

    def explains_refusal(misconception: Misconception, item: tuple[Case, Refusal]) -> bool:
        case, seen = item
        if misconception.reach is None or seen.tensor is None:
            return False
        reach = Reach(seen.store, seen.tensor, seen.lowest, seen.highest)
        return reach in misconception.reach(case, seen.program)

    # Only one name: in a case with a single column, say, wrong addresses look all alike.
    named, rest = _cover(puzzle.misconceptions, refusals, explains_refusal, most=1)
    for misconception, items in named:
        general = refusal_finding(*items[0], where)
        finding = _named(misconception, Status.OUT_OF_BOUNDS, general.where)
        yield _with_examples(finding, (general.explanation,))
        return
    seen: set[tuple[int, bool]] = set()
    for case, refusal in rest:
        if (refusal.line, refusal.store) not in seen:
            seen.add((refusal.line, refusal.store))
            yield refusal_finding(case, refusal, where)


def name_wrong(puzzle: Puzzle, items: list[Wrong], right: list[Case], where: Locator) -> Iterator[Finding]:
    """Findings for outputs that differ from the reference; `right` are the cases in which none does."""
    undefined = [item for item in items if item.undefined]
    if undefined:
        yield _undefined_lanes(undefined, where)
        return
    if items and not any(item.case.telling for item in items):
        yield _located(items, where)  # in such cases mistakes look alike, or comparing takes long
        return
    possible = tuple(m for m in puzzle.misconceptions if not any(_refuted(puzzle, m, case) for case in right))
    possible = tuple(m for m in possible if _explains_most(m, items))
    named, _ = _cover(possible, items, _explains_outputs)
    if not any(item is items[0] for _, explained in named for item in explained):
        named = []  # the most basic case has no explanation: then names for special ones would mislead
    for misconception, explained in named:
        first = explained[0]
        finding = _named(
            misconception,
            _status(first),
            _place(first, misconception.points_at, where),
        )
        yield _with_examples(finding, _examples(first, next(iter(first.wrong)))[:2])
    if items and not named:
        yield _located(items, where)


def _explains_most(misconception: Misconception, items: list[Wrong]) -> bool:
    """Whether it explains at least half of the cases in which a kernel with this idea would go wrong."""
    if misconception.outputs is None:
        return False
    touched = [item for item in items if _predicts_a_mistake(misconception, item)]
    return 2 * sum(_explains_outputs(misconception, item) for item in touched) >= len(touched) > 0


def _refuted(puzzle: Puzzle, misconception: Misconception, case: Case) -> bool:
    """Whether a kernel with this idea would have gone wrong in a case that it got right."""
    if misconception.outputs is None:
        return False
    expected = puzzle.expected(case)
    with np.errstate(all="ignore"):
        return not all(
            gets_it_right(np.asarray(value), case.tensors[name].values.dtype, expected[name])
            for name, value in misconception.outputs(case).items()
        )


def _explains_outputs(misconception: Misconception, item: Wrong) -> bool:
    if misconception.outputs is None or not _predicts_a_mistake(misconception, item):
        return False
    with np.errstate(all="ignore"):
        predicted = misconception.outputs(item.case)
        return all(explains(np.asarray(p), item.outputs[n], item.expected[n]) for n, p in predicted.items())


def _predicts_a_mistake(misconception: Misconception, item: Wrong) -> bool:
    """Whether a kernel with this idea would go wrong in this case at all."""
    assert misconception.outputs is not None
    with np.errstate(all="ignore"):
        return any(
            wrong_elements(np.asarray(p).astype(item.outputs[name].dtype), item.expected[name]).any()
            for name, p in misconception.outputs(item.case).items()
        )


def _cover(
    candidates: tuple[Misconception, ...],
    items: list[T],
    test: Callable[[Misconception, T], bool],
    most: int = MOST_NAMES,
) -> tuple[list[tuple[Misconception, list[T]]], list[T]]:
    """Candidates that together explain the most items, best first, and what none explains."""
    chosen: list[tuple[Misconception, list[T]]] = []
    rest = list(items)
    while rest and len(chosen) < most:
        explained = [[item for item in rest if test(candidate, item)] for candidate in candidates]
        best = max(range(len(candidates)), key=lambda i: len(explained[i]), default=None)
        if best is None or not explained[best]:
            break
        chosen.append((candidates[best], explained[best]))
        rest = [item for item in rest if not any(item is e for e in explained[best])]
    return chosen, rest


def _named(misconception: Misconception, status: Status, where: Where) -> Finding:
    return Finding(
        id=misconception.id,
        status=status,
        title=misconception.title,
        explanation=misconception.explanation,
        hint=misconception.hint,
        where=where,
    )


def _with_examples(finding: Finding, examples: tuple[str, ...]) -> Finding:
    return replace(finding, examples=examples[:MOST_EXAMPLES])


def _status(item: Wrong) -> Status:
    nan = any(np.isnan(item.outputs[name][mask]).any() for name, mask in item.wrong.items())
    return Status.NOT_A_NUMBER if nan else Status.WRONG


def _undefined_lanes(items: list[Wrong], where: Locator) -> Finding:
    first = items[0]
    return Finding(
        id="undefined-masked-lanes",
        status=_status(first),
        title="The result depends on lanes that were masked off",
        explanation="A masked load without `other` leaves its masked lanes undefined: on a GPU they hold "
        "anything. What they held here, NaN and other values, reached the output.",
        hint="Say what those lanes hold, other=..., so that they do not change a sum or a maximum, or "
        "remove them with tl.where.",
        where=_place(first, "load", where),
    )


def _place(item: Wrong, points_at: str, where: Locator) -> Where:
    """The line to look at: where the wrong output is stored, or where the last load stands."""
    name = next(iter(item.wrong))
    index = tuple(int(i) for i in np.argwhere(item.wrong[name])[0])
    if points_at == "load" and item.load_line is not None:
        return where(item.load_line, case=item.case.name, tensor=name, index=index)
    role = f"where {tensor_name(name)} is stored"
    return where(item.store_line, role=role, case=item.case.name, tensor=name, index=index)


def _examples(item: Wrong, name: str) -> tuple[str, ...]:
    at = np.argwhere(item.wrong[name])
    nan_first = np.argsort(~np.isnan(item.outputs[name][item.wrong[name]]), kind="stable")
    at = at[nan_first][:MOST_EXAMPLES]
    return tuple(
        f"{element_name(name, index)} is {item.outputs[name][tuple(index)]:.6g}, "
        f"expected {item.expected[name].values[tuple(index)]:.6g}"
        for index in at
    )


def _located(items: list[Wrong], where: Locator) -> Finding:
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
    status = _status(item)
    nan = np.isnan(item.outputs[name][item.wrong[name]])
    what = "not a number" if nan.all() else "wrong, and partly not a number," if nan.any() else "wrong"
    return Finding(
        id="not-a-number" if status is Status.NOT_A_NUMBER else "wrong-values",
        status=status,
        title=f"{tensor_name(name)} is {what} {_region(item, name)}",
        explanation=_shape_of_error(item, name),
        hint=f"Take one of the examples and follow it through the kernel by hand. {PRINT_HINT}",
        where=_place(item, "", where),
        examples=_examples(item, name),
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
