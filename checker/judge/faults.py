"""Words for traffic out of its bounds: which tensors, how often, and at which line if the log can tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from checker.box.protocol.records import LOAD, STORE
from checker.course.case import Case
from checker.course.verdict import Finding, Status, Traffic
from checker.judge.evidence import Locator, listed, tensor_name


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
        """How often each element was moved, and how often is enough, over all launches, as the table has it."""
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
    """One finding for all tensors with the same fault."""
    by_id: dict[str, list[Fault]] = {}
    for fault in faults:
        by_id.setdefault(fault.id, []).append(fault)
    for id, same in by_id.items():
        marked = next((f for f in same if f.line), same[0])
        title, explanation, hint = _too_seldom(same) if same[0].done < same[0].least else _too_often(same, where)
        place = where(marked.line, case=case, tensor=marked.moved.tensor)
        yield Finding(id, Status.OVER_TRAFFIC, title, explanation, hint, place)


def _too_often(faults: list[Fault], where: Locator) -> tuple[str, str, str]:
    names, verb = listed([f.name for f in faults]), faults[0].verb
    are = "is" if len(faults) == 1 else "are"
    done, enough = faults[0].figures
    same = all(f.figures == (done, enough) for f in faults)
    if not faults[0].most:
        title = f"{names} {are} {verb}, which this puzzle does not need"
    elif same and done != enough:
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
    if not faults[0].most:
        hint = f"This puzzle needs no {'load from' if faults[0].kind == LOAD else 'store to'} {names}."
    elif faults[0].kind == STORE:
        hint = f"{tensors_at} {are} written again and again: store each element once, after the loop that computes it."
    elif all(f.alone and f.place for f in faults):
        it = "it" if len(faults) == 1 else "them"
        hint = f"{tensors_at} {are} {verb} again and again: load {it} {faults[0].place}."
    else:
        read_at = f"{names} is {verb} {at[0]}" if len(faults) == 1 else f"{tensors_at} are {verb}"
        hint = f"{read_at}: keep what you have in registers instead."
    return title, explanation, hint


def _too_seldom(faults: list[Fault]) -> tuple[str, str, str]:
    names, verb = listed([f.name for f in faults]), faults[0].verb
    are = "is" if len(faults) == 1 else "are"
    return (
        f"{names} {are} {verb} too seldom: this is not the algorithm that was asked for",
        f"The algorithm of this puzzle keeps {names} in memory and comes back to "
        f"{'it' if len(faults) == 1 else 'them'}, {times(faults[0].least, faults[0].moved.elements)} per element here.",
        "Read the algorithm in the lesson again, and follow its loops line by line.",
    )


def times(done: int, elements: int) -> str:
    """How many times `elements` is done: once, 2 times, 3.01 times."""
    ratio = done / elements
    text = f"{ratio:.0f}" if abs(ratio - round(ratio)) < 0.005 else f"{ratio:.2f}"
    return "once" if text == "1" else f"{text} times"


def _places(lines: list[int]) -> str:
    return ("at line " if len(lines) == 1 else "at lines ") + listed([str(n) for n in lines])
