"""Memory traffic against its bound: whether the kernel is the algorithm that was asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from checker.course.case import Case, Role
from checker.course.misconception import Moves
from checker.course.puzzle import Budget, Puzzle
from checker.course.verdict import Finding, Status, Traffic
from checker.judge.evidence import Evidence, Locator, grid_position, listed, program_name, tensor_name
from checker.judge.general import finding
from checker.judge.naming import explaining_all, ideas
from checker.sandbox.protocol.records import BLOCK, DOT, LOAD, PRODUCT, STORE
from checker.sandbox.protocol.results import LaunchResult


def moved(puzzle: Puzzle, case: Case, result: LaunchResult) -> Iterator[Traffic]:
    """Yield what one launch moved, per tensor, in distinct elements per load or store instruction."""
    budget = puzzle.budget(case)
    for position, (name, tensor) in enumerate(case.tensors.items()):
        if tensor.role is Role.SCRATCH:
            continue  # atomics are no traffic of rows, and anything else has a finding of its own
        loads, stores = (result.log.moved(kind, position) for kind in (LOAD, STORE))
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
    """Return the remarks on a right kernel that hold in all cases."""
    ran = [(e.case, {t.tensor: t for t in moved(puzzle, e.case, e.result)}) for e in evidence if e.result is not None]
    return tuple(r.text for r in puzzle.remarks if ran and all(r.seen(case, counts) for case, counts in ran))


def _too_large_a_block(puzzle: Puzzle, evidence: Evidence, where: Locator) -> Iterator[Finding]:
    """Yield a block larger than the launch's tiles: the memory on the chip would not hold it."""
    case, result = evidence.case, evidence.result
    if result is None or puzzle.largest_block is None:
        return
    most = puzzle.largest_block(case)
    large = np.flatnonzero(result.log.lanes > most)
    large = large[np.isin(result.log.kind[large], (LOAD, STORE, DOT, BLOCK))] if large.size else large
    if large.size:
        at = large[0]
        name = list(case.tensors)[int(result.log.tensor[at])]
        lanes = int(result.log.lanes[at])
        sides = listed([name for name, value in case.constexprs.items() if not isinstance(value, bool)])
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
            explanation=f"The block sizes of this launch allow for {most} elements. {puzzle.why_blocks}",
            hint=f"{_tl_dot(puzzle, result)}Take one block after the other, with the sides that the launch gives: "
            f"{sides}.",
            where=where(
                int(result.log.line[at]), case=case, tensor=name if result.log.kind[at] in (LOAD, STORE) else None
            ),
        )


def _tl_dot(puzzle: Puzzle, result: LaunchResult) -> str:
    """Return the sentence on products that are made without tl.dot, where they should be made with it."""
    if puzzle.by_hand is None or (result.log.kind == DOT).any():
        return ""
    return "Nothing is multiplied by tl.dot here: it gives the sum of products without a block of all of them. "


def named_findings(
    puzzle: Puzzle, evidence: Evidence, everything: Iterable[Evidence], where: Locator
) -> Iterator[Finding]:
    """Yield what explains the traffic of a launch, whether it ran to its end or not: blocks, single
    elements, an idea.
    """
    case, result = evidence.case, evidence.result
    assert result is not None
    if large := list(_too_large_a_block(puzzle, evidence, where)):
        yield from large
        return
    if (repeated := np.flatnonzero(result.log.repeated)).size:
        yield _repeated(evidence, int(repeated[0]), where)
        return
    budget = puzzle.budget(case)
    narrow = list(_too_narrow(budget, evidence, where))
    if by_hand := list(_by_hand(puzzle, evidence, where)) or narrow:
        yield from by_hand
        return
    counted = list(moved(puzzle, case, result))
    too_much = puzzle.work is not None and multiply_adds(result) > puzzle.work(case)
    if too_much or any(not _enough_loads(t, budget.get(t.tensor, Budget())) for t in counted):
        moving = ideas(puzzle.misconceptions, Moves)  # names of traffic are about loads and products
        if idea := explaining_all(moving, _beyond(puzzle, everything), lambda sign, seen: sign.recognises(*seen)):
            line = _line_of_products(result) if too_much and idea.signs[0].products_too else None
            finding = idea.finding(Status.OVER_TRAFFIC, where(line, case))
            missing = [_too_few(t, budget.get(t.tensor, Budget())) for t in counted if result.error is None]
            yield replace(finding, explanation=finding.explanation + "".join(missing))


def traffic_findings(
    puzzle: Puzzle, evidence: Evidence, everything: Iterable[Evidence], where: Locator
) -> Iterator[Finding]:
    """Yield the misconception that explains the traffic; or what is out of bounds, tensors with the same fault
    together.

    `everything` are all launches of this kernel that are counted: a finding's figures are those of the table.
    """
    case, result = evidence.case, evidence.result
    assert result is not None
    if named := list(named_findings(puzzle, evidence, everything, where)):
        yield from named
        return
    counted = list(moved(puzzle, case, result))
    budget = puzzle.budget(case)
    products = multiply_adds(result)
    too_much = puzzle.work is not None and products > puzzle.work(case)
    if not too_much and all(_within(t, budget.get(t.tensor, Budget())) for t in counted):
        return
    totals = {t.tensor: t for t in total(puzzle, everything)}
    faults = []
    for position, t in enumerate(counted):
        bound = budget.get(t.tensor, Budget())
        for kind, done, most, least in (
            (LOAD, t.loads, bound.loads, bound.least_loads),
            (STORE, t.stores, bound.stores, bound.least_stores),
        ):
            if kind == STORE and case.tensors[t.tensor].role is Role.INPUT:
                continue  # a changed input has a finding of its own
            if not least <= done <= most:
                chosen = (result.log.kind == kind) & (result.log.tensor == position)
                lines = {
                    int(n): int(result.log.distinct[chosen & (result.log.line == n)].sum())
                    for n in np.unique(result.log.line[chosen])
                }
                faults.append(
                    Fault(kind, t, totals.get(t.tensor, t), done, most, least, lines, bound.place, bound.anew)
                )
    if too_much:
        yield _too_much_work(products, case, puzzle, where)
    yield from fault_findings(faults, case, where)


def _too_few(t: Traffic, bound: Budget) -> str:
    """Return the sentence on a tensor that is read too seldom, if it is."""
    if t.loads >= bound.least_loads:
        return ""
    name = tensor_name(t.tensor)
    return f" In this case {t.loads} elements of {name} were read, and at least {bound.least_loads} must be."


def _repeated(evidence: Evidence, at: int, where: Locator) -> Finding:
    """Return a store of which several lanes have one element: an element has one lane, and what has
    none is masked off.
    """
    case, log = evidence.case, evidence.results[0].log
    name = list(case.tensors)[int(log.tensor[at])]
    return finding(
        "lanes-repeat",
        Status.OVER_TRAFFIC,
        where(int(log.line[at]), case=case, tensor=name, program=grid_position(case, int(log.program[at]))),
        tensor=tensor_name(name),
        program=program_name(case, int(log.program[at])).capitalize(),
        count=int(log.repeated[at]),
    )


def _too_narrow(budget: Mapping[str, Budget], evidence: Evidence, where: Locator) -> Iterator[Finding]:
    """No load, or no store, reaches a whole block: its rows or columns come one at a time."""
    case, result = evidence.case, evidence.result
    assert result is not None
    log = result.log
    for (position, (name, tensor)), kind in itertools.product(enumerate(case.tensors.items()), (LOAD, STORE)):
        least = budget.get(name, Budget()).least_at_once
        accesses = np.flatnonzero((log.kind == kind) & (log.tensor == position))
        if not least or not accesses.size or int(log.distinct[accesses].max()) >= least:
            continue
        widest = accesses[np.argmax(log.distinct[accesses])]
        sides = [str(axis.block) for axis in tensor.axes if axis.block]
        verb, done = ("load", "loaded") if kind == LOAD else ("store", "stored")
        yield Finding(
            id="no-tiles",
            status=Status.OVER_TRAFFIC,
            title=f"{tensor_name(name)} is not {done} in {'tiles' if len(sides) > 1 else 'blocks'}",
            explanation=f"A {verb} should reach a whole block of {' x '.join(sides)}, or what is left of one: at "
            f"least {least} elements of {tensor_name(name)} in this case. The widest one reaches "
            f"{int(log.distinct[widest])}. A GPU works on all lanes of a block at once: smaller pieces, one after the "
            "other, leave most of them idle.",
            hint=f"Make offsets for the whole block, and give them to one tl.{verb}.",
            where=where(int(log.line[widest]), case=case, tensor=name),
        )


def _by_hand(puzzle: Puzzle, evidence: Evidence, where: Locator) -> Iterator[Finding]:
    """More products element by element than tiles need that tl.dot multiplies, in some program."""
    case, result = evidence.case, evidence.result
    assert result is not None
    if puzzle.by_hand is None:
        return
    log, made = result.log, result.log.kind == PRODUCT
    # Which program has which tile is the kernel's own choice, so the busiest gets the largest allowance.
    done = np.sort(np.bincount(log.program[made], log.products[made]))[::-1]
    allowed = np.sort(puzzle.by_hand(case))[::-1][: done.size]
    over = np.flatnonzero(done[: allowed.size] > allowed)
    if over.size:
        busiest = np.argmax(log.products)
        all_by_dot = puzzle.work is not None and multiply_adds(result) >= puzzle.work(case) > 0
        yield finding(
            "multiplied-by-hand/tiles-nobody-needs" if all_by_dot else "multiplied-by-hand",
            Status.OVER_TRAFFIC,
            where(int(log.line[busiest]), case=case),
            products=int(done[over[0]]),
            enough=int(allowed[over[0]]),
        )


def _beyond(puzzle: Puzzle, everything: Iterable[Evidence]) -> Iterator[tuple[Case, dict[str, Traffic]]]:
    """Yield all launches that moved or multiplied too much, with what they moved: in one of them alone, names look
    alike.
    """
    for one in everything:
        if one.result is not None and one.result.error is None and one.result.refused is None:
            counted, budget = list(moved(puzzle, one.case, one.result)), puzzle.budget(one.case)
            too_much = puzzle.work is not None and multiply_adds(one.result) > puzzle.work(one.case)
            if too_much or not all(_within(t, budget.get(t.tensor, Budget())) for t in counted):
                yield one.case, {t.tensor: t for t in counted}


def _line_of_products(result: LaunchResult) -> int | None:
    """Return the first tl.dot, if each of them was carried out equally often by each program: then
    all are in one loop.
    """
    dots = result.log.kind == DOT
    lines = np.unique(result.log.line[dots])
    turns = {tuple(np.bincount(result.log.program[dots & (result.log.line == n)])) for n in lines}
    return int(lines[0]) if len(turns) == 1 else None


def multiply_adds(result: LaunchResult) -> int:
    """Return how many products all tl.dot of a launch have summed."""
    return int((result.log.lanes.astype(np.int64) * result.log.terms).sum())


def _too_much_work(products: int, case: Case, puzzle: Puzzle, where: Locator) -> Finding:
    assert puzzle.work is not None
    enough = puzzle.work(case)
    return finding(
        "multiplied-too-much",
        Status.OVER_TRAFFIC,
        where(None, case=case),
        ratio=f"{products / enough:.3g}",
        products=products,
        enough=enough,
    )


def _within(t: Traffic, bound: Budget) -> bool:
    return _enough_loads(t, bound) and bound.least_stores <= t.stores <= bound.stores


def _enough_loads(t: Traffic, bound: Budget) -> bool:
    return bound.least_loads <= t.loads <= bound.loads


@dataclass(frozen=True)
class Fault:
    """A tensor that one launch loads or stores too often, or too seldom."""

    kind: int  # LOAD or STORE
    moved: Traffic  # in this launch
    total: Traffic  # in all that are counted
    done: int
    most: int
    least: int
    lines: Mapping[int, int]  # elements that each line has moved
    place: str  # where it belongs, if a line by itself moves too much
    anew: str = ""  # what it is moved anew for, if that is known

    @property
    def id(self) -> str:
        """The finding that tells of it."""
        much = "too-seldom" if self.done < self.least else "too-often" if self.most else "at-all"
        return f"{self.verb}-{much}"

    @property
    def name(self) -> str:
        """The tensor's."""
        return tensor_name(self.moved.tensor)

    @property
    def verb(self) -> str:
        """The participle for it: read or written."""
        return "read" if self.kind == LOAD else "written"

    @property
    def figures(self) -> tuple[str, str]:
        """Moves of each element, and the budget, over all launches, as in the table."""
        t = self.total
        done, most = (t.loads, t.most_loads) if self.kind == LOAD else (t.stores, t.most_stores)
        return times(done, t.elements), times(most, t.elements)

    @property
    def alone(self) -> bool:
        """True if a single line moves more than enough: it moves the same elements again and again."""
        return any(moved > self.most for moved in self.lines.values())

    @property
    def line(self) -> int | None:
        """The line that is too much; None if the log cannot tell."""
        lines = list(self.lines)
        if self.most == 0 or self.done < self.least:
            return lines[-1] if lines else None
        beyond = [n for n in lines if self.lines[n] > self.most]
        surplus = [n for n in lines if self.lines[n] == self.done - self.most]
        if len(beyond) == 1:
            return beyond[0]
        return surplus[-1] if len(surplus) == 1 or (surplus == lines and len(lines) == 2) else None


def fault_findings(faults: Iterable[Fault], case: Case, where: Locator) -> Iterator[Finding]:
    """Yield one finding for all tensors with the same fault."""
    by_id: dict[str, list[Fault]] = {}
    for fault in faults:
        by_id.setdefault(fault.id, []).append(fault)
    for id, same in by_id.items():
        marked = next((f for f in same if f.line), same[0])
        said = _too_seldom(same) if same[0].done < same[0].least else _too_often(same, where)
        place = where(marked.line, case=case, tensor=marked.moved.tensor)
        yield Finding(id, Status.OVER_TRAFFIC, said.title, said.explanation, said.hint, place, question=said.question)


@dataclass(frozen=True)
class _Said:
    """The words on tensors with the same fault."""

    title: str
    explanation: str
    hint: str
    question: str = ""


def _too_often(faults: list[Fault], where: Locator) -> _Said:
    names, verb, kind, needed = listed([f.name for f in faults]), faults[0].verb, faults[0].kind, faults[0].most
    are, it = ("is", "it") if len(faults) == 1 else ("are", "them")
    done, enough = faults[0].figures
    if not needed:
        title = f"{names} {are} {verb}, which this puzzle does not need"
    elif all(f.figures == (done, enough) for f in faults) and done != enough:
        title = f"{names} {are} {verb} {done} per element, {enough} is enough"
    else:
        title = f"{names} {are} {verb} more often than is needed"
    counts = [
        f"{f.done} elements of {f.name} were {verb} where {f'{f.most} are enough' if f.most else 'none is needed'}"
        for f in faults
    ]
    explanation = (
        f"In this case {listed(counts)}. Moving data is what such a kernel spends its time on, so this costs speed in "
        "proportion."
    )
    at = [_places([where(n).line or n for n in f.lines]) for f in faults]
    tensors_at = listed([f"{f.name} {place}" for f, place in zip(faults, at, strict=True)])
    if not needed:
        hint = f"This puzzle needs no {'load from' if kind == LOAD else 'store to'} {names}."
        return _Said(title, explanation, hint)
    if kind == STORE:
        question = f"Which of the values that are written to {names} does the caller see? In which loop is it known?"
        hint = f"{tensors_at} {are} written again and again: store each element once, after the loop that computes it."
    elif all(f.alone and f.place for f in faults):
        question = f"Which of the loops around the load changes the addresses of {names}, and which one does not?"
        hint = f"{tensors_at} {are} {verb} again and again: load {it} {faults[0].place}."
    else:
        question = f"When {names} {are} read again, which variable holds the same elements already?"
        read_at = f"{names} is {verb} {at[0]}" if len(faults) == 1 else f"{tensors_at} are {verb}"
        hint = f"{read_at}: keep what you have in registers instead."
    return _Said(title, explanation, hint, question)


def _too_seldom(faults: list[Fault]) -> _Said:
    first, names = faults[0], listed([f.name for f in faults])
    are, it = ("is", "it") if len(faults) == 1 else ("are", "them")
    figures = {(times(f.done, f.moved.elements), times(f.least, f.moved.elements)) for f in faults}
    seldom, each = "too seldom", [f"{f.name} at least {times(f.least, f.moved.elements)} per element" for f in faults]
    if len(figures) == 1:
        [(done, least)] = figures
        seldom = f"{done} per element here, and must be {first.verb} at least {least}"
        each = [f"{names} at least {least} per element"]
    anew = f"anew for {first.anew}" if first.anew else "anew each time"
    verbs = ("reads", "load") if first.kind == LOAD else ("writes", "store")
    return _Said(
        f"{names} {are} {first.verb} {seldom}",
        f"The algorithm of this puzzle {verbs[0]} {listed(each)} in this case, {anew}. Registers hold only a few "
        "blocks. What is kept there from one iteration to the next must not grow with the size of the input, or it no "
        "longer fits.",
        f"{verbs[1].capitalize()} {it} {anew}.",
        f"Which elements of {names} does your kernel keep from one iteration to the next? How many would that be if "
        "the input were a hundred times as long?",
    )


def times(done: int, elements: int) -> str:
    """Return how many times `elements` is done: once, 2 times, 3.01 times."""
    ratio = done / elements
    text = f"{ratio:.0f}" if abs(ratio - round(ratio)) < 0.005 else f"{ratio:.2f}"
    return "once" if text == "1" else f"{text} times"


def _places(lines: list[int]) -> str:
    return ("at line " if len(lines) == 1 else "at lines ") + listed([str(n) for n in lines])
