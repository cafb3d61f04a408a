"""Memory and work of a PyTorch program, against its bounds: they show whether it is the right algorithm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from checker.course.case import Case
from checker.course.misconception import Footprint, Uses
from checker.course.puzzle import Puzzle
from checker.course.verdict import Finding, Held, Status
from checker.judge.evidence import Evidence, Locator
from checker.judge.general import finding
from checker.judge.naming import explaining_all, ideas
from checker.judge.traffic import multiply_adds
from checker.sandbox.protocol.records import BLOCK, HELD
from checker.sandbox.protocol.results import LaunchResult


def used(result: LaunchResult) -> Footprint:
    """Return what one call held and computed."""
    return Footprint(_most(result, BLOCK)[0], _most(result, HELD)[0], multiply_adds(result))


def _most(result: LaunchResult, kind: int) -> tuple[int, int | None]:
    """Return the largest number of a kind of records, and its line."""
    lanes = np.where(result.log.kind == kind, result.log.lanes, 0)
    at = int(np.argmax(lanes)) if lanes.any() else None
    return (0, None) if at is None else (int(lanes[at]), int(result.log.line[at]) or None)


def held(puzzle: Puzzle, evidence: Iterable[Evidence]) -> tuple[Held, ...]:
    """Of each function the call in which plain attention would hold the most."""
    found: dict[str, Held] = {}
    for one in evidence:
        if puzzle.footprint is None or one.result is None:
            continue
        own, most, plain = used(one.result), puzzle.footprint.most(one.case), puzzle.footprint.plain(one.case)
        case = one.case
        if case.kernel not in found or plain.at_once > found[case.kernel].plain_at_once:
            pairs = (own.at_once, most.at_once, plain.at_once), (own.products, most.products, plain.products)
            found[case.kernel] = Held(case.kernel, case.name, *pairs[0], *pairs[1])
    return tuple(found.values())


def footprint_findings(
    puzzle: Puzzle, evidence: Evidence, everything: Iterable[Evidence], where: Locator
) -> Iterator[Finding]:
    """Yield the misconception that explains what a call used too much of; or what that is.

    `everything` are all calls of this function that are counted.
    """
    case, result = evidence.case, evidence.result
    assert result is not None and puzzle.footprint is not None
    own, most = used(result), puzzle.footprint.most(case)
    if within(own, most):
        return
    largest, line_of_largest = _most(result, BLOCK)
    at_once, line_of_peak = _most(result, HELD)
    line = line_of_largest if largest > most.largest else line_of_peak if at_once > most.at_once else None
    if idea := explaining_all(ideas(puzzle.misconceptions, Uses), _beyond(puzzle, everything), _recognises):
        yield idea.finding(Status.OVER_TRAFFIC, where(line, case))
    elif largest > most.largest:
        yield finding(
            "too-large-a-tensor",
            Status.OVER_TRAFFIC,
            where(line, case),
            largest=f"{largest:,}",
            most=f"{most.largest:,}",
            why=puzzle.why_blocks,
        )
    elif at_once > most.at_once:
        yield finding(
            "too-much-at-once", Status.OVER_TRAFFIC, where(line, case), at_once=f"{at_once:,}", most=f"{most.at_once:,}"
        )
    else:
        yield finding(
            "multiplied-too-much/matrices",
            Status.OVER_TRAFFIC,
            where(None, case),
            ratio=f"{own.products / most.products:.3g}",
            products=f"{own.products:,}",
            enough=f"{most.products:,}",
        )


def _recognises(sign: Uses, seen: tuple[Case, Footprint]) -> bool:
    return sign.recognises(*seen)


def _beyond(puzzle: Puzzle, everything: Iterable[Evidence]) -> Iterator[tuple[Case, Footprint]]:
    """Yield all calls that used too much, with what they used: in one of them alone, names look alike."""
    assert puzzle.footprint is not None
    for one in everything:
        if one.result is not None and one.result.error is None:
            own = used(one.result)
            if not within(own, puzzle.footprint.most(one.case)):
                yield one.case, own


def within(own: Footprint, most: Footprint) -> bool:
    """Return whether nothing of it is more than enough."""
    return own.largest <= most.largest and own.at_once <= most.at_once and own.products <= most.products
