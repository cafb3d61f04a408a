"""Findings with the first difference: its place and question, its relations to other values, and its words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from checker.course.case import Case
from checker.course.text import Text, names_in
from checker.course.verdict import Differs, Finding, Relation, Status
from checker.judge.difference.comparison import Compared
from checker.judge.difference.events import NAMED, Event, Kind, Numbers, Programs
from checker.judge.difference.first import CLOSE, Difference, held
from checker.judge.evidence import Locator, element_name, grid_position, tensor_name
from checker.judge.factors import named_in

GENERIC = frozenset({"wrong-values", "not-a-number"})  # findings that say where wrong values are, and no more
FILE = Path(__file__).with_name("places.md")  # not beside its own name: there, words of findings have another form
_KERNEL = re.compile(
    r"^## (?P<puzzle>\w+) (?P<kernel>\w+)(?: \(else as (?P<base>\w+ \w+)\))?\n(?P<lines>.*?)(?=^## |\Z)",
    re.DOTALL | re.MULTILINE,
)
_PLACES = re.compile(r"^\* ([^:\n]+): (.+)$", re.MULTILINE)
FEWEST = 4  # different numbers by which two names are not alike by chance
ONE = 2e-2  # a factor that is nearer to 1 is rounding
MOST_SHOWN = 3  # names of which a line is made


def to_tell(seen: Compared, cure: str, *, nameless: bool) -> Difference | None:
    """Return the difference to report: the name that cures, else the first one; else the stored value.

    Where no launch came out right, nothing tells style from mistakes. A finding that names none (`nameless`) says even
    so which name first holds another number: the numbers are true, and there is nothing better.
    """
    if cure:
        return next(one for one in (*seen.informative, *seen.every) if one.kind in NAMED and one.name == cure)
    if seen.informative:
        return seen.informative[0]
    if nameless and seen.same_loops and not seen.any_right:
        finite = (one for one in seen.every if one.kind in (Kind.NAME, Kind.LEFT) and np.isfinite(one.right))
        if first := next(finite, None):
            return first
    if any(one.kind is not Kind.EXACT for one in seen.every) or not seen.same_loops or seen.wrong is None:
        return None
    name = seen.wrong.first
    stored, index = seen.wrong.stored[name], seen.wrong.at(name)
    if stored is None:
        return None
    number = int(np.ravel_multi_index(index, seen.wrong.outputs[name].shape))
    yours, right = float(seen.wrong.outputs[name][index]), float(seen.wrong.expected[name].values[index])
    stores = (one for one in reversed(seen.yours[stored.program]) if one.kind is Kind.STORE and one.name == name)
    step = next((one.step for one in stores if one.elements is not None and number in one.elements), None)
    return Difference(Kind.STORED, stored.program, (), stored.line, name, (), yours, right, (number, number), step=step)


def told(puzzle_id: str, finding: Finding, seen: Compared, first: Difference, cure: str, where: Locator) -> Finding:
    """Return the finding with the difference, and at its line; without a name, the difference is what it says.

    If it has no question of its own, it asks about the place.
    """
    proven, generic = bool(cure), finding.id in GENERIC
    place = where(first.line or None, seen.case, program=grid_position(seen.case, first.program))
    if seen.wrong is not None:
        name = seen.wrong.first
        stored = where(seen.wrong.store_line).line
        place = replace(place, tensor=name, index=seen.wrong.at(name), stored=stored)
    yours, right = _numbers(first)
    differs = Differs(
        Kind.NAME.value if first.kind is Kind.EXACT else first.kind.value,
        place,
        first.step,
        first.place[-2] + 1 if len(first.place) > 1 and first.kind is not Kind.LOOP else None,
        first.place[-4] + 1 if len(first.place) > 3 and first.kind is not Kind.LOOP else None,
        "",
        _element(seen.case, first),
        tensor_name(first.name),
        yours,
        right,
        proven,
        more=first.kind is Kind.NAME and not proven and first.name in seen.candidates,
        relates=_relation(seen, first, where) if first.kind is Kind.NAME else None,
    )
    if first.kind is Kind.STORED:
        alike, without = seen.alike
        differs = replace(differs, alike=tuple(alike), without=tuple(without))
    asked = question(puzzle_id, seen.case.kernel, _place(seen, first))
    if not generic and not (proven and _contradicted(finding, seen, where)):
        located = finding.where.line is not None and not finding.where.role
        where_seen = finding.where if located or place.line is None else place
        if where_seen.case != seen.case.name:
            differs = replace(differs, case=seen.case.name)
        return replace(finding, differs=differs, where=where_seen, question=finding.question or asked)
    here = generic and finding.where.case == seen.case.name  # else its words are about another launch
    amount = finding.title if here or seen.wrong is None else seen.wrong.amount
    status = seen.wrong.status if seen.wrong else finding.status
    return Finding(
        "not-a-number" if status is Status.NOT_A_NUMBER else "wrong-values",
        status,
        differs.sentence,
        " ".join((*differs.told[1:], *([finding.explanation] if here and not proven and finding.explanation else []))),
        "",
        place if place.line is not None else finding.where,
        (amount, *(seen.wrong.examples(name)[:1] if seen.wrong else finding.examples)),
        finding.error_map,
        named=False,
        question=asked,
        differs=replace(differs, headline=True),
    )


def _relation(seen: Compared, first: Difference, where: Locator) -> Relation | None:
    """Return how the name that differs relates to others."""
    if seen.wrong is not None and not np.isfinite(first.yours):
        yours, right = seen.yours[first.program], seen.right.programs[first.program]
        born = birth(yours, right, seen.wrong.code, first)
        return born and replace(born, line=where(born.line).line)
    return relation(seen.yours, seen.right.programs, first.name, seen.names[first.name], named_in(seen.case))


def _contradicted(finding: Finding, seen: Compared, where: Locator) -> bool:
    """Return whether a name that fits NaN, infinities and zeros alone is about a line that does
    what the solution does.
    """
    if finding.certain or finding.where.line is None or finding.where.role:
        return False
    lines = {where(event.line).line for programs in seen.yours.values() for event in programs}
    return finding.where.line in lines - {where(one.line).line for one in seen.every}


def _place(seen: Compared, one: Difference) -> str:
    """Return the place in the solution, for a question; for masks and whole numbers, a value computed from them."""
    if one.kind is Kind.EXACT:
        one = next((other for other in seen.every if other.kind is not Kind.EXACT), one)
    if one.kind in (*NAMED, Kind.LEFT):
        return seen.names.get(one.name, "")
    return "loop" if one.kind is Kind.LOOP else f"{'load' if one.kind is Kind.LOAD else 'store'} {one.name}"


def _numbers(one: Difference) -> tuple[str, str]:
    """Return the numbers of what differs, yours and the right one, with digits that tell them apart; of a mask True or
    False.
    """
    if one.kind is Kind.EXACT:
        yours, right = (bool(n) if one.index else int(n) for n in (one.yours, one.right))
        return str(yours), str(right)
    said = ((f"{one.yours:.{digits}g}", f"{one.right:.{digits}g}") for digits in (4, 6, 9))
    return next((both for both in said if both[0] != both[1]), (str(one.yours), str(one.right)))


def _element(case: Case, one: Difference) -> str:
    """Return the element of a name that differs, or the elements of a tensor."""
    if not one.elements:
        return f"{one.name}[{', '.join(map(str, one.index))}]" if one.index else one.name
    shape = case.tensors[one.name].values.shape
    first, last = (element_name(one.name, np.array(np.unravel_index(at, shape))) for at in one.elements)
    return first if first == last else f"{first} to {last}"


def question(puzzle_id: str, kernel: str, place: str) -> str:
    """Return the paragraph of a place: "l", "load x_ptr", "store y_ptr" or "loop"; "" if there is none."""
    own, base = questions().get((puzzle_id, kernel), ({}, None))
    return own.get(place) or (question(*base, place) if base else "")


@cache
def questions() -> Mapping[tuple[str, str], tuple[Mapping[str, str], tuple[str, str] | None]]:
    """Return the paragraphs of each kernel by place, and the kernel (puzzle and name) that has the others.

    Raises ValueError for a place with two paragraphs.
    """
    found = {}
    for kernel in _KERNEL.finditer(FILE.read_text(encoding="utf-8")):
        pairs = [(place, text) for places, text in _PLACES.findall(kernel["lines"]) for place in places.split(", ")]
        if len(own := dict(pairs)) < len(pairs):
            raise ValueError(f"{FILE.name}: {kernel['puzzle']} {kernel['kernel']} has a place twice.")
        puzzle_id, _, name = (kernel["base"] or "").partition(" ")
        found[kernel["puzzle"], kernel["kernel"]] = own, (puzzle_id, name) if name else None
    return found


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
    """Yield the names that a line reads, each with the number that an element is made of, if shapes leave no doubt.

    An element of a product is made of a whole row and a whole column.
    """
    now = {one.name: one.numbers for one in before if one.kind is Kind.NAME and one.numbers is not None}
    assert event.numbers is not None
    for assignment in text.assignments:
        if assignment.line != event.line or any(map(_multiplies, ast.walk(assignment.value))):
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


def _multiplies(node: ast.AST) -> bool:
    return isinstance(node, ast.MatMult) or getattr(node, "attr", "") in ("dot", "matmul", "einsum")


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
    finite = np.isfinite(a) & np.isfinite(b)
    a, b = a[finite], b[finite]
    if not _tells(b):
        return None
    large = np.abs(b) > 1e-12
    factor = float(np.median(a[large] / b[large]))
    if factor == 0 or abs(factor - 1) < ONE or not np.allclose(a, factor * b, rtol=CLOSE, atol=1e-9):
        return None
    return factor
