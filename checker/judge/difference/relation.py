"""Relations of a wrong value: to the solution's, in all of a launch, and to the values that it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from checker.course.text import Text, names_in
from checker.course.verdict import Relation
from checker.judge.difference.events import Event, Kind, Numbers, Programs
from checker.judge.difference.first import CLOSE, Difference, held

FEWEST = 4  # different numbers by which two names are not alike by chance
ONE = 2e-2  # a factor that is nearer to 1 is rounding
MOST_SHOWN = 3  # names of which a line is made


def relation(yours: Programs, right: Programs, own: str, other: str, factors: Mapping[str, float]) -> Relation | None:
    """Return what holds of `own` wherever `other` of the solution has a value; None if nothing does.

    `factors`: those that have a name in this launch, such as the scale.
    """
    a, b = _beside(yours, right, own, other)
    if (factor := _factor(a, b)) is not None:
        named = [word for word, value in factors.items() if np.isclose(value, factor, rtol=CLOSE)]
        return Relation("times", f"{factor:.4g}", next((word for word in named if word != f"{factor:g}"), ""))
    others = {event.name for events in right.values() for event in events if event.kind is Kind.NAME} - {other}
    for another in sorted(others):
        if _alike(*_beside(yours, right, own, another)):
            return Relation("as", another)
    return None


def birth(events: Sequence[Event], right: Sequence[Event], text: Text, one: Difference) -> Relation | None:
    """Return what a NaN or an infinity that differs is made of; or the first NaN, if the solution has none.

    `one`: the difference of a name in this program, whose value is not finite.
    """
    none = not any(event.numbers is not None and np.isnan(event.numbers).any() for event in right)
    for n, event in enumerate(events):
        if event.kind is not Kind.NAME or event.numbers is None:
            continue
        its_own = (event.place, event.name, event.line) == (one.place, one.name, one.line)
        odd = np.isnan(event.numbers) & none
        if not its_own and not odd.any():
            continue
        index = one.index if its_own else tuple(int(at) for at in np.argwhere(odd)[0])
        made = [f"{name} = {number:.4g}" for name, number in _read(events[:n], text, event, index)]
        if not made:
            return None
        element = f"{event.name}[{', '.join(map(str, index))}]" if index else event.name
        return Relation("made", "" if its_own else element, ", ".join(made[:MOST_SHOWN]), event.line)
    return None


def _read(before: Sequence[Event], text: Text, event: Event, index: tuple[int, ...]) -> Iterator[tuple[str, float]]:
    """Yield the names that a line reads, each with the number that an element is made of, if shapes leave no doubt."""
    now = {one.name: one.numbers for one in before if one.kind is Kind.NAME and one.numbers is not None}
    assert event.numbers is not None
    for assignment in text.assignments:
        if assignment.line != event.line:
            continue
        for name in sorted({*names_in(assignment.value), *([assignment.target] if assignment.adds else [])}):
            if (numbers := now.get(name)) is None:
                continue
            if numbers.size == 1:
                yield name, float(numbers.flat[0])
            elif numbers.ndim == len(index) and all(
                s in (1, o) for s, o in zip(numbers.shape, event.numbers.shape, strict=True)
            ):
                at = tuple(0 if side == 1 else n for side, n in zip(numbers.shape, index, strict=True))
                yield name, float(numbers[at])
            elif numbers.ndim == 1 and event.numbers.shape.count(numbers.size) == 1:
                yield name, float(numbers[index[event.numbers.shape.index(numbers.size)]])


def _beside(yours: Programs, right: Programs, own: str, other: str) -> tuple[Numbers, Numbers]:
    """Return all numbers of a name, and of one of the solution's at the same places; none if some
    cannot be compared.
    """
    a, b = [np.zeros(0)], [np.zeros(0)]
    for program, events in yours.items():
        for one in held(events, right.get(program, ()), {own: other}):
            if one.seen is one.own:
                if one.own.numbers is None or one.right is None:
                    return np.zeros(0), np.zeros(0)
                a.append(np.ravel(one.own.numbers))
                b.append(np.ravel(one.right))
    return np.concatenate(a), np.concatenate(b)


def _alike(a: Numbers, b: Numbers) -> bool:
    """Return whether both are the same, and enough numbers to tell."""
    return _tells(b) and bool(np.allclose(a, b, rtol=CLOSE, atol=1e-30, equal_nan=True))


def _tells(numbers: Numbers) -> bool:
    return np.unique(np.round(numbers[np.isfinite(numbers) & ~np.isin(numbers, (0.0, 1.0))], 5)).size >= FEWEST


def _factor(a: Numbers, b: Numbers) -> float | None:
    """Return the factor by which all numbers are off; None if there is none."""
    both = np.isfinite(a) & np.isfinite(b) & (np.abs(b) > 1e-12)
    if not _tells(b[both]):
        return None
    factor = float(np.median(a[both] / b[both]))
    if factor == 0 or abs(factor - 1) < ONE or not np.allclose(a[both], factor * b[both], rtol=CLOSE, atol=1e-9):
        return None
    return factor
