"""A submission next to the solution, launch by launch: what differs, and which of that explains what came out wrong.

A difference alone may be style. So one of elements or iterations counts if no launch that came out right has it, and
one of a name if in such a launch that name holds the same; or if it is proven: the launch is right once that name holds
what the solution's holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from checker.course.case import Case
from checker.course.puzzle import Expected, Puzzle
from checker.course.text import Text
from checker.judge.compare import wrong_elements
from checker.judge.difference.events import Event, Kind, Numbers, Programs, events_of, shape_of_loops
from checker.judge.difference.first import SAME, Difference, alike, differences, moved, paired, values
from checker.judge.difference.recordings import Recorded
from checker.judge.evidence import written_tensors
from checker.judge.wrong import Wrong, wrong_outputs
from checker.sandbox.protocol.results import LaunchResult

MOST_TRIED = 5  # names whose values of the solution are tried
MOST_EXACT = 2  # and masks and whole numbers


@dataclass(frozen=True, eq=False)
class Compared:
    """The first recorded launch that came out wrong, and how it differs from the solution's."""

    case: Case
    wrong: Wrong | None  # None: what is stored is right, and some elements are not stored
    yours: Programs
    right: Recorded
    names: dict[str, str]  # the solution's name for each of yours
    every: list[Difference]  # in order of time, from the program on that stored the first wrong element
    informative: list[Difference]  # of these, what no launch that came out right has
    same_loops: bool
    any_right: bool  # of the launches

    @property
    def alike(self) -> tuple[list[str], list[str]]:
        """Names that hold what the solution's hold, and those that it has none for."""
        own = {event.name for events in self.yours.values() for event in events if event.kind is Kind.NAME}
        every = alike(self.yours, self.right.programs, self.names, SAME).items()
        held = [(name, same) for (name, _, later), same in every if not later]
        there = {(n, one.place, one.name) for n, events in self.right.programs.items() for one in events}
        alone = {
            one.name
            for n, events in self.yours.items()
            for one in events
            if one.kind is Kind.NAME and (n, one.place, self.names.get(one.name)) not in there
        }
        differ = alone.union(name for name, same in held if not same)
        return sorted({name for name, _ in held} - differ), sorted(own - self.names.keys())

    @property
    def candidates(self) -> list[str]:
        """Names that may be where the fault is, the earliest first."""
        names, exact = (
            list(dict.fromkeys(one.name for one in self.every if one.kind is kind))[:most]
            for kind, most in ((Kind.NAME, MOST_TRIED), (Kind.EXACT, MOST_EXACT))
        )
        return [name for name in dict.fromkeys(one.name for one in self.every) if name in (*names, *exact)]

    def guesses_before(self, name: str | None) -> list[tuple[str, str]]:
        """Return names without a partner, yours and the solution's, that could be the same: only a proof can tell.

        Those that get their values before `name`, or all of them; first come pairs that stand as far down in both.
        """
        first = _order(self.wrong, self.yours)[0]
        own, other = _in_time(self.yours[first]), _in_time(self.right.programs[first])
        own = own[: own.index(name)] if name in own else own
        pairs = [
            (mine, theirs)
            for mine in own
            for theirs in other
            if mine not in self.names and theirs not in self.names.values()
            if self.joined(mine, theirs).candidates[:1] == [mine]
        ]
        mine, theirs = (list(dict.fromkeys(side)) for side in zip(*pairs, strict=True)) if pairs else ([], [])
        theirs.sort(key=other.index)
        return sorted(
            pairs, key=lambda pair: abs(mine.index(pair[0]) / len(mine) - theirs.index(pair[1]) / len(theirs))
        )

    def joined(self, own: str, other: str) -> Compared:
        """Return the same with two names taken for one."""
        pair = {own: other}
        found = differences(self.yours, self.right.programs, pair, _order(self.wrong, self.yours))
        named = [one for one in found if one.kind is Kind.NAME]
        return replace(self, names=self.names | pair, every=named + self.every)

    def given(self, name: str) -> dict[str, dict[str, list[list[float] | float | None]]]:
        """Return the solution's values of one name, as a launch takes them."""
        other = self.names[name]

        def plain(numbers: Numbers | None) -> list[float] | float | None:
            return None if numbers is None else numbers.tolist()

        of = {program: values(own, self.right.programs[program], name, other) for program, own in self.yours.items()}
        return {name: {str(program): [plain(one) for one in every] for program, every in of.items()}}


def compared(
    puzzle: Puzzle, source: str, code: Text, launches: Sequence[tuple[Case, Recorded, LaunchResult]]
) -> Compared | None:
    """Return what recorded launches of one kernel show; None if they cannot show anything."""
    if not launches or any(result.error or result.refused for _, _, result in launches):
        return None
    kernel, loops = launches[0][0].kernel, launches[0][1].loops
    ran = [(right, events_of(source, case, result)) for case, right, result in launches]
    if not all(own.keys() == right.programs.keys() for right, own in ran):
        return None
    fine = [is_right(puzzle.expected, case, result) for case, _, result in launches]
    if all(fine):
        return None
    first = fine.index(False)
    (case, right, result), (_, yours) = launches[first], ran[first]
    wrong = wrong_outputs(case, puzzle.expected(case), result, code)
    if wrong is not None and wrong.undefined:
        return None
    good = [one for one, is_fine in zip(ran, fine, strict=True) if is_fine]
    names: dict[str, str] = {}
    for other, own in (*good, ran[first]):
        for name, partner in paired(own, other.programs).items():
            if partner not in names.values():
                names.setdefault(name, partner)
    every = differences(yours, right.programs, names, _order(wrong, yours))
    same_loops = shape_of_loops(source, kernel) == loops
    borne_out = [alike(own, other.programs, names) for other, own in good]
    style = {_sort(one) for other, own in good for one in differences(own, other.programs, names, own)}

    def tells(one: Difference) -> bool:
        if (
            one.kind is Kind.EXACT
            or _sort(one) in style
            or (one.kind not in (Kind.LOAD, Kind.STORE) and not same_loops)
        ):
            return False
        if one.kind is Kind.LOOP:  # the same blocks in another number of iterations are style
            own, other = yours[one.program], right.programs[one.program]
            if not any(event.kind in (Kind.LOAD, Kind.STORE) for event in other):
                return bool(good)  # a function in PyTorch
            if moved([event for event in other if len(event.place) > len(one.place)], Kind.STORE, one.place):
                return moved(own, Kind.STORE) != moved(other, Kind.STORE)
            return moved(own, Kind.LOAD, one.place) != moved(other, Kind.LOAD, one.place)
        named = one.kind in (Kind.NAME, Kind.LEFT)
        return not named or any(held.get((one.name, len(one.place), one.later)) for held in borne_out)

    return Compared(case, wrong, yours, right, names, every, list(filter(tells, every)), same_loops, bool(good))


def _sort(one: Difference) -> tuple[Kind, str, int, bool]:
    """Return what differences that are one matter of style share; of loads, stores and loops also: more or fewer."""
    fewer = one.yours < one.right if one.kind is Kind.LOOP else not one.line
    return one.kind, one.name, one.later, fewer


def _in_time(events: Sequence[Event]) -> list[str]:
    """Return the names in the order in which they get their values: those of a loop in its first iteration."""
    at: dict[str, tuple[int, int]] = {}
    for number, event in enumerate(events):
        if event.kind is Kind.NAME and len(event.place) > at.get(event.name, (0, 0))[0]:
            at[event.name] = len(event.place), number
    return sorted(at, key=lambda name: at[name][1])


def _order(wrong: Wrong | None, yours: Programs) -> list[int]:
    """Programs, and before all others the one that stored the first wrong element."""
    stored = wrong and wrong.stored[wrong.first]
    return sorted(yours, key=lambda program: program != (stored and stored.program))


def is_right(expected: Callable[[Case], Mapping[str, Expected]], case: Case, result: LaunchResult | None) -> bool:
    """Return whether a launch ran to its end, and all of its outputs are as `expected` of its case."""
    if result is None or result.error or result.refused:
        return False
    of = expected(case)
    return not any(np.any(wrong_elements(result.tensors[name], of[name])) for name in written_tensors(case))
