"""Differences of two launches, in order of time: pure functions of what each of them did."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from checker.judge.difference.events import NAMED, Elements, Event, Kind, Numbers, Place, Programs

LEAST = 1e-37  # what is smaller, fp32 holds with few digits
CLOSE = 1e-4  # of the largest number of a block: what is further apart differs
SAME = 1e-6  # what is further apart is not said to be the same, though it may be rounding
ROUNDED = 2  # times its spread: as far apart are two numbers that are rounded differently
# What the same thing is often called. A name's underscores and capitals do not count.
_ALSO_CALLED = {
    "s": "qk score scores sij",
    "o": "acc oi out",
    "p": "pij",
    "dp": "dpij",
    "ds": "dsij",
    "m": "mi rowmax runningmax",
    "l": "li rowsum denominator denom runningsum norm",
    "mnew": "minew mijnew newm newmax",
    "lnew": "linew newl",
    "q": "qi",
    "k": "kj",
    "v": "vj",
    "do": "doi",
    "dk": "dkj",
    "dv": "dvj",
    "dq": "dqi",
    "delta": "deltai",
    "lse": "lsei",
    "alpha": "correction rescale factor",
}
_USUAL = {other: name for name, others in _ALSO_CALLED.items() for other in others.split()}


@dataclass(frozen=True)
class Difference:
    """One difference of a program from the solution's."""

    kind: Kind
    program: int
    place: Place
    line: int  # 0: the program never does what the solution's does
    name: str  # as the submission has it; of a load or store, the tensor's parameter
    index: tuple[int, ...] = ()  # of the first number that differs
    yours: float = 0.0
    right: float = 0.0
    elements: tuple[int, ...] = ()  # first and last that only one of them loads or stores
    later: int = 0  # how often the name is assigned again in that iteration
    step: int | None = None  # of the program, if it is seen in one


@dataclass(frozen=True, eq=False)
class Held:
    """Values of a name of yours and of the solution's in the same iteration."""

    seen: Event  # that assigns the name, or with which an iteration ends that has left it as it was
    own: Event  # that has assigned it, and so the same one or an earlier one
    right: Numbers | None  # in the form of yours; None if they cannot be compared
    apart: tuple[tuple[int, ...], float, float] | None  # index of the first number that differs, yours, the solution's
    later: int = 0  # how often the name is assigned again in that iteration
    spread: Numbers | None = None  # of the solution's numbers


def paired(yours: Programs, right: Programs) -> dict[str, str]:
    """Return the solution's name for each of yours: the same, one used for the same, or one that holds the same."""
    ours = _names(right)
    found = {name: name for name in _names(yours, NAMED) if name in _names(right, NAMED)}
    for name in _names(yours):
        usual = next((one for one in ours if one not in found.values() and _usual(one) == _usual(name)), None)
        if name not in found and usual is not None:
            found[name] = usual
    for name in _names(yours):
        if name not in found:
            by_value = (one for one in ours if one not in found.values() and _holds(yours, name, right, one))
            if (one := next(by_value, None)) is not None:
                found[name] = one
    return found


def differences(yours: Programs, right: Programs, names: Mapping[str, str], order: Iterable[int]) -> list[Difference]:
    """Return all differences, program by program in this order, and in each in order of time.

    `names`: the solution's name for each of yours.
    """
    return [one for program in order if program in right for one in _of_program(program, yours, right, names)]


def alike(
    yours: Programs, right: Programs, names: Mapping[str, str], close: float = CLOSE
) -> dict[tuple[str, int, int], bool]:
    """Return of names, with how deep in loops and how often assigned again there, whether they are always so close."""
    same: dict[tuple[str, int, int], bool] = {}
    for program, events in yours.items():
        for one in held(events, right.get(program, ()), names):
            if one.seen is one.own and one.own.kind is Kind.NAME:
                key, spread = (one.own.name, len(one.own.place), one.later), None if close < CLOSE else one.spread
                apart = one.right is None or _apart(one.own.numbers, one.right, close, spread)
                same[key] = same.get(key, True) and not apart
    return same


def moved(events: Sequence[Event], kind: Kind, place: Place = ()) -> list[tuple[str, int]]:
    """Return elements that are loaded, or stored, in a loop and behind it, before the next one; some more than once."""
    here = (one for one in events if one.kind is kind and one.place[: len(place)] == place)
    return sorted((one.name, int(n)) for one in here if one.elements is not None for n in one.elements)


def values(yours: Sequence[Event], right: Sequence[Event], name: str, other: str) -> list[Numbers | None]:
    """Return for each time that a program of yours assigns `name` what the solution's holds there; None: unknown."""
    known = {id(one.seen): one.right for one in held(yours, right, {name: other}) if one.seen is one.own}
    return [known.get(id(event)) for event in yours if event.kind in NAMED and event.name == name]


def held(yours: Sequence[Event], right: Sequence[Event], names: Mapping[str, str]) -> Iterator[Held]:
    """Yield what a program's names hold next to the solution's: what an iteration assigns, and what it leaves.

    All values that it assigns to a name, if the solution assigns as many there; else the last one.
    """
    mine, theirs = _in_order(yours), _in_order(right)
    ends = {event.place: event for event in yours}
    now: dict[str, Event] = {}
    for event in yours:
        compared: list[tuple[Event, int]] = []
        if event.kind in NAMED:
            now |= {event.name: event} if event.kind is Kind.NAME else {}
            every = mine[event.place, event.name]
            later = len(every) - 1 - next(n for n, one in enumerate(every) if one is event)
            others = theirs.get((event.place, names.get(event.name, "")), ())
            compared = [(event, later)] if not later or len(every) == len(others) else []
        if ends[event.place] is event and len(event.place) > 1:
            compared += [(own, 0) for own in now.values() if own.place != event.place]
        for own, later in compared:
            if others := theirs.get((event.place, names.get(own.name, "")), ()):
                other = others[-1 - later]
                fitting = _fitting(own.numbers, other.numbers)
                close = 0.0 if other.kind is Kind.EXACT else CLOSE
                apart = _apart(own.numbers, other.numbers, close, other.spread)
                yield Held(event, own, fitting and fitting[1], apart, later, other.spread)


def _of_program(program: int, yours: Programs, right: Programs, names: Mapping[str, str]) -> Iterator[Difference]:
    mine, theirs = yours.get(program, ()), right[program]
    seen: dict[int, list[Held]] = {}
    for one in held(mine, theirs, names):
        seen.setdefault(id(one.seen), []).append(one)
    loops = {event.place: event for event in theirs if event.kind is Kind.LOOP}
    touched = {kind: _touched(theirs, kind) for kind in (Kind.LOAD, Kind.STORE)}
    for event in mine:
        told = partial(Difference, event.kind, program, event.place, event.line, step=event.step)
        if event.kind is Kind.LOOP:
            loop = loops.get(event.place)
            if loop is not None and loop.numbers != event.numbers:
                yield told("", (), float(event.numbers or 0), float(loop.numbers or 0))
        elif event.elements is not None:
            only = np.setdiff1d(event.elements, touched[event.kind].get(event.name, ()))
            if only.size:
                yield told(event.name, elements=(int(only[0]), int(only[-1])))
        for one in seen.get(id(event), ()):
            if one.apart and one.own is event:
                yield told(event.name, *one.apart, later=one.later)
            elif one.apart:
                around = (other.line for other in mine if other.kind is Kind.LOOP and other.place == event.place[:-2])
                line = next(around, 0)
                yield Difference(Kind.LEFT, program, event.place, line, one.own.name, *one.apart, step=event.step)
    for kind in (Kind.LOAD, Kind.STORE):
        own = _touched(mine, kind)
        for name, elements in touched[kind].items():
            never = np.setdiff1d(elements, own.get(name, ()))
            if never.size:
                yield Difference(kind, program, (), 0, name, elements=(int(never[0]), int(never[-1])))


def _touched(events: Iterable[Event], kind: Kind) -> dict[str, Elements]:
    """Return all elements of each tensor that are loaded, or stored."""
    found: dict[str, list[Elements]] = {}
    for event in events:
        if event.kind is kind and event.elements is not None:
            found.setdefault(event.name, []).append(event.elements)
    return {name: np.unique(np.concatenate(every)) for name, every in found.items()}


def _in_order(events: Iterable[Event]) -> dict[tuple[Place, str], list[Event]]:
    """Return the values of each name in each iteration."""
    found: dict[tuple[Place, str], list[Event]] = {}
    for event in events:
        if event.kind in NAMED:
            found.setdefault((event.place, event.name), []).append(event)
    return found


def _last(events: Iterable[Event]) -> dict[tuple[Place, str], Event]:
    """Return the last value of each name in each iteration."""
    return {key: every[-1] for key, every in _in_order(events).items()}


def _names(programs: Programs, kinds: Collection[Kind] = (Kind.NAME,)) -> list[str]:
    every = (event.name for events in programs.values() for event in events if event.kind in kinds)
    return list(dict.fromkeys(every))


def _usual(name: str) -> str:
    plain = re.sub("[^a-z]", "", name.lower())
    return _USUAL.get(plain, plain)


def _holds(yours: Programs, name: str, right: Programs, other: str) -> bool:
    """Return whether two names hold the same wherever both have a value, and not only what many have."""
    informative: set[Place] = set()
    for program in yours.keys() & right.keys():
        there = _last(right[program])
        for (place, own), event in _last(yours[program]).items():
            if own != name or (partner := there.get((place, other))) is None:
                continue
            if _fitting(event.numbers, partner.numbers) is None or _apart(
                event.numbers, partner.numbers, spread=partner.spread
            ):
                return False
            informative |= set() if _plain(event.numbers) else {place}
    return len(informative) > 1 or any(len(place) == 1 for place in informative)  # one iteration alone may be chance


def _plain(numbers: Numbers | None) -> bool:
    """Return whether a block says little: all its numbers are 0, 1, infinite or no numbers."""
    return numbers is None or bool(np.all(~np.isfinite(numbers) | np.isin(numbers, (0.0, 1.0))))


def _fitting(yours: Numbers | None, right: Numbers | None) -> tuple[Numbers, Numbers] | None:
    """Both blocks in the same form, if they can be compared: sides of 1 do not count, and one may be transposed."""
    if yours is None or right is None:
        return None
    a, b = np.squeeze(yours), np.squeeze(right)
    if a.shape == b.shape:
        return a, b
    if a.ndim == b.ndim == 2 and a.T.shape == b.shape:
        return a, b.T
    return None


def _apart(
    yours: Numbers | None, right: Numbers | None, close: float = CLOSE, spread: Numbers | None = None
) -> tuple[tuple[int, ...], float, float] | None:
    """(index of the first number that differs, yours, the solution's); None if they are as good as equal.

    `spread`: of the solution's numbers.
    """
    fitting = _fitting(yours, right)
    if fitting is None or yours is None:
        return None
    a, b = fitting
    finite = np.abs(b[np.isfinite(b)])
    largest = float(finite.max()) if finite.size else 1.0
    rounded = _fitting(yours, spread)
    least = close * largest / 50 + LEAST + (ROUNDED * rounded[1] if rounded else 0.0)
    differs = ~np.isclose(a, b, rtol=close, atol=least, equal_nan=True)
    if not differs.any():
        return None
    at = int(np.argmax(differs))
    index = tuple(int(n) for n in np.unravel_index(at, np.shape(yours)))
    return index, float(a.flat[at]), float(b.flat[at])
