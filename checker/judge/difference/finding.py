"""Findings that tell a difference: the one that a kernel has got with it, or another in its place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from checker.course.case import Case
from checker.course.verdict import Differs, Finding, Relation, Status
from checker.judge.difference.asking import question
from checker.judge.difference.comparison import Compared
from checker.judge.difference.events import NAMED, Kind
from checker.judge.difference.first import Difference
from checker.judge.difference.relation import birth, relation
from checker.judge.evidence import Locator, element_name, grid_position, tensor_name
from checker.judge.factors import named_in

GENERIC = frozenset({"wrong-values", "not-a-number"})  # findings that say where wrong values are, and no more


def to_tell(seen: Compared, cure: str) -> Difference | None:
    """Return the difference to report: the name that cures, else the first one; else the stored value."""
    if cure:
        return next(one for one in (*seen.informative, *seen.every) if one.kind in NAMED and one.name == cure)
    if seen.informative:
        return seen.informative[0]
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
    differs = Differs(
        Kind.NAME.value if first.kind is Kind.EXACT else first.kind.value,
        place,
        first.step,
        first.place[-2] + 1 if len(first.place) > 1 and first.kind is not Kind.LOOP else None,
        "",
        _element(seen.case, first),
        tensor_name(first.name),
        _number(first, first.yours),
        _number(first, first.right),
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
    amount = finding.title if generic or seen.wrong is None else seen.wrong.amount
    status = seen.wrong.status if seen.wrong else finding.status
    return Finding(
        "not-a-number" if status is Status.NOT_A_NUMBER else "wrong-values",
        status,
        differs.sentence,
        " ".join((*differs.told[1:], *([finding.explanation] if generic and finding.explanation else []))),
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


def _number(one: Difference, number: float) -> str:
    """Return a number of what differs; of a mask True or False."""
    if one.kind is not Kind.EXACT:
        return f"{number:.4g}"
    return str(bool(number) if one.index else int(number))


def _element(case: Case, one: Difference) -> str:
    """Return the element of a name that differs, or the elements of a tensor."""
    if not one.elements:
        return f"{one.name}[{', '.join(map(str, one.index))}]" if one.index else one.name
    shape = case.tensors[one.name].values.shape
    first, last = (element_name(one.name, np.array(np.unravel_index(at, shape))) for at in one.elements)
    return first if first == last else f"{first} to {last}"
