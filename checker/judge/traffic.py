"""Memory traffic against its bound: whether the kernel is the algorithm that was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from checker.box.memory import BLOCK, DOT, LOAD, STORE
from checker.box.results import LaunchResult
from checker.judge.evidence import Evidence, Locator, tensor_name
from checker.judge.verdict import Finding, Status, Traffic, Where
from checker.puzzle import Budget, Case, Moved, Puzzle, Role


def moved(puzzle: Puzzle, case: Case, result: LaunchResult) -> Iterator[Traffic]:
    """What one launch moved, per tensor, in distinct elements per load or store instruction."""
    budget = puzzle.budget(case)
    for position, (name, tensor) in enumerate(case.tensors.items()):
        of_tensor = result.log.tensor == position
        loads, stores = (
            int(result.log.distinct[of_tensor & (result.log.kind == kind)].sum(dtype=np.int64))
            for kind in (LOAD, STORE)
        )
        bound = budget.get(name, Budget())
        yield Traffic(case.kernel, name, tensor.values.size, loads, stores, bound.loads, bound.stores)


def total(puzzle: Puzzle, evidence: Iterable[Evidence]) -> tuple[Traffic, ...]:
    """Traffic summed over launches, per kernel and tensor."""
    sums: dict[tuple[str, str], Traffic] = {}
    for one in evidence:
        if one.result is None:
            continue
        for t in moved(puzzle, one.case, one.result):
            s = sums.get((t.kernel, t.tensor), Traffic(t.kernel, t.tensor, 0, 0, 0, 0, 0))
            sums[t.kernel, t.tensor] = Traffic(
                t.kernel,
                t.tensor,
                s.elements + t.elements,
                s.loads + t.loads,
                s.stores + t.stores,
                s.most_loads + t.most_loads,
                s.most_stores + t.most_stores,
            )
    return tuple(sums.values())


def remarks(puzzle: Puzzle, evidence: Iterable[Evidence]) -> tuple[str, ...]:
    """What is worth saying of a kernel that is right: remarks that hold in all cases."""
    loads = [
        (one.case, {t.tensor: t.loads for t in moved(puzzle, one.case, one.result)})
        for one in evidence
        if one.result is not None
    ]
    return tuple(r.text for r in puzzle.remarks if loads and all(r.seen(case, counts) for case, counts in loads))


def _too_large_a_block(puzzle: Puzzle, evidence: Evidence, where: Locator) -> Iterator[Finding]:
    """A block larger than the launch's tiles: the memory on the chip would not hold it."""
    case, result = evidence.case, evidence.result
    if result is None or puzzle.largest_block is None:
        return
    most = puzzle.largest_block(case)
    large = np.flatnonzero(result.log.lanes > most)
    if large.size:
        at = large[0]
        name = list(case.tensors)[int(result.log.tensor[at])]
        lanes = int(result.log.lanes[at])
        did = {
            LOAD: f"One access loads {lanes} elements of {tensor_name(name)} at once",
            STORE: f"One access stores {lanes} elements of {tensor_name(name)} at once",
            DOT: f"One matrix product makes a block of {lanes} elements",
            BLOCK: f"A block of {lanes} elements is made",
        }
        yield Finding(
            id="block-too-large",
            status=Status.OVER_TRAFFIC,
            title=did[int(result.log.kind[at])],
            explanation=f"The block sizes of this launch allow for {most}. {puzzle.why_blocks}",
            hint="Work in blocks of the size that is given, one after the other.",
            where=where(
                int(result.log.line[at]), case=case.name, tensor=name if result.log.kind[at] in (LOAD, STORE) else None
            ),
        )


def traffic_findings(puzzle: Puzzle, evidence: Evidence, where: Locator) -> Iterator[Finding]:
    """The misconception that explains the traffic; or one finding per tensor and direction out of bounds."""
    case, result = evidence.case, evidence.result
    assert result is not None
    large = list(_too_large_a_block(puzzle, evidence, where))
    if large:
        yield from large
        return
    counted = list(moved(puzzle, case, result))
    budget = puzzle.budget(case)
    products = multiply_adds(result)
    too_much = puzzle.work is not None and products > puzzle.work(case)
    if not too_much and all(_within(t, budget.get(t.tensor, Budget())) for t in counted):
        return
    seen = {t.tensor: Moved(t.loads, t.stores) for t in counted}
    for m in puzzle.misconceptions:
        if m.traffic is not None and m.traffic(case, seen):
            yield Finding(m.id, Status.OVER_TRAFFIC, m.title, m.explanation, m.hint, where(None, case=case.name))
            return
    if too_much:
        yield _too_much_work(products, case, puzzle, where)
    for position, t in enumerate(counted):
        bound = budget.get(t.tensor, Budget())
        for kind, done, most, least in (
            (LOAD, t.loads, bound.loads, bound.least_loads),
            (STORE, t.stores, bound.stores, bound.least_stores),
        ):
            if kind == STORE and case.tensors[t.tensor].role is Role.INPUT:
                continue  # a changed input has a finding of its own
            chosen = (result.log.kind == kind) & (result.log.tensor == position)
            lines = sorted({int(n) for n in result.log.line[chosen]})
            place = where(lines[-1] if lines else None, case=case.name, tensor=t.tensor)
            if done > most:
                yield _too_often(t, kind, done, most, lines, place)
            elif done < least:
                yield _too_seldom(t, kind, done, least, place)


def multiply_adds(result: LaunchResult) -> int:
    """How many products all tl.dot of a launch have summed."""
    dots = result.log.kind == DOT
    return int((result.log.lanes[dots].astype(np.int64) * result.log.stray[dots]).sum())


def _too_much_work(products: int, case: Case, puzzle: Puzzle, where: Locator) -> Finding:
    assert puzzle.work is not None
    enough = puzzle.work(case)
    return Finding(
        id="multiplied-too-much",
        status=Status.OVER_TRAFFIC,
        title=f"tl.dot multiplies {products / enough:.3g} times as much as is needed",
        explanation="Some tiles are multiplied more than once, or although nothing of them can count: they are "
        "hidden by the mask, or lie behind the end.",
        hint="A mask on a load saves no work. Look at where the loop begins and ends, and at each tl.dot in it.",
        where=where(None, case=case.name),
    )


def _within(t: Traffic, bound: Budget) -> bool:
    return bound.least_loads <= t.loads <= bound.loads and bound.least_stores <= t.stores <= bound.stores


def _too_often(t: Traffic, kind: int, done: int, most: int, lines: list[int], place: Where) -> Finding:
    name, verb = tensor_name(t.tensor), "read" if kind == LOAD else "written"
    return Finding(
        id=f"{verb}-too-often" if most else f"{verb}-at-all",
        status=Status.OVER_TRAFFIC,
        title=f"{name} is {verb} {_times(done, t.elements)} per element, "
        + (f"{_times(most, t.elements)} is enough" if most else "which this puzzle does not need"),
        explanation=f"{done} elements of {name} were {verb} where {most} are enough. Moving data is what "
        "such a kernel spends its time on, so this costs speed in proportion.",
        hint=f"{name} is {verb} at {_places(lines)}: keep what you have in registers instead."
        if most
        else f"This puzzle needs no {'load from' if kind == LOAD else 'store to'} {name}.",
        where=place,
    )


def _too_seldom(t: Traffic, kind: int, done: int, least: int, place: Where) -> Finding:
    name, verb = tensor_name(t.tensor), "read" if kind == LOAD else "written"
    return Finding(
        id=f"{verb}-too-seldom",
        status=Status.OVER_TRAFFIC,
        title=f"{name} is {verb} {_times(done, t.elements)} per element: this is not the algorithm that was asked for",
        explanation=f"The algorithm of this puzzle keeps {name} in memory and comes back to it, "
        f"{_times(least, t.elements)} per element here.",
        hint="Read the algorithm in the lesson again, and follow its loops line by line.",
        where=place,
    )


def _times(done: int, elements: int) -> str:
    ratio = done / elements
    text = f"{ratio:.0f}" if abs(ratio - round(ratio)) < 0.005 else f"{ratio:.2f}"
    return "once" if text == "1" else f"{text} times"


def _places(lines: list[int]) -> str:
    return ("line " if len(lines) == 1 else "lines ") + " and ".join(map(str, lines))
