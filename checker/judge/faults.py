"""Words for traffic out of its bounds: which tensors, how often, and at which line if the log can tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from checker.course.case import Case
from checker.course.verdict import Finding, Status, Traffic
from checker.judge.evidence import Locator, listed, tensor_name
from checker.sandbox.protocol.records import LOAD, STORE


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
        """What happened to it."""
        return "read" if self.kind == LOAD else "written"

    @property
    def figures(self) -> tuple[str, str]:
        """Moves of each element, and the budget, over all launches, as in the table."""
        t = self.total
        done, most = (t.loads, t.most_loads) if self.kind == LOAD else (t.stores, t.most_stores)
        return times(done, t.elements), times(most, t.elements)

    @property
    def alone(self) -> bool:
        """Whether a single line moves more than enough: it moves the same elements again and again."""
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
