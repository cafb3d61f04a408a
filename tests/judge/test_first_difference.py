"""The first difference as a pure function: of the same events none, of a change that event, and no earlier one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checker.judge.difference.events import Event, Kind, Numbers
from checker.judge.difference.first import SAME, alike, differences, paired, values

NAMES = ("m", "l", "acc", "x")
SOLUTIONS = {"acc": "Oi"} | {name: name for name in NAMES if name != "acc"}


@st.composite
def programs(draw: st.DrawFn) -> list[Event]:
    """What one program does: names before a loop, in each of its iterations, loads, stores, and the loop's end."""
    numbers = st.lists(st.floats(2, 100, width=32), min_size=2, max_size=4).map(np.array)
    events = [Event(Kind.NAME, (0,), name, 3, draw(numbers)) for name in NAMES]
    iterations = draw(st.integers(1, 3))
    for iteration in range(iterations):
        place = (1, iteration, 0)
        events.append(Event(Kind.LOAD, place, "x_ptr", 5, elements=np.arange(4) + 4 * iteration))
        events += [Event(Kind.NAME, place, name, 6, draw(numbers)) for name in NAMES]
    events.append(Event(Kind.LOOP, (1,), "", 4, np.array(float(iterations))))
    events.append(Event(Kind.STORE, (1,), "y_ptr", 9, elements=np.arange(draw(st.integers(1, 9)))))
    return events


def held(event: Event) -> Numbers:
    """The numbers of a name or a loop."""
    assert event.numbers is not None
    return event.numbers


def solution(events: Sequence[Event]) -> list[Event]:
    """The same as the solution's: its own names, and no lines."""
    named = (replace(one, line=0, name=SOLUTIONS.get(one.name, one.name)) for one in events)
    return list(named)


@given(programs())
def test_what_does_the_same_does_not_differ(events: list[Event]) -> None:
    right = {0: solution(events)}
    names = paired({0: events}, right)
    assert names == SOLUTIONS
    assert differences({0: events}, right, names, [0]) == []
    same = alike({0: events}, right, names)
    assert {name for name, _, _ in same} == {*NAMES} and all(same.values())


@given(programs(), st.data())
def test_the_event_that_was_changed_comes_first(events: list[Event], data: st.DataObject) -> None:
    right = {0: solution(events)}
    at = data.draw(
        st.sampled_from([n for n, one in enumerate(events) if one.numbers is not None or n == len(events) - 1])
    )
    event = events[at]
    if event.kind is Kind.STORE:
        changed = replace(event, elements=np.append(np.arange(9), 77))
    else:
        changed = replace(event, numbers=held(event) + 1.0)
    mine = [changed if n == at else one for n, one in enumerate(events)]
    found = differences({0: mine}, right, SOLUTIONS, [0])
    assert (found[0].kind, found[0].place, found[0].line) == (event.kind, event.place, event.line)
    assert found[0].name == event.name and len(found) == 1


@given(programs())
def test_what_is_never_done_comes_last(events: list[Event]) -> None:
    right = {0: solution(events)}
    for kind, name in ((Kind.LOAD, "x_ptr"), (Kind.STORE, "y_ptr")):
        mine = [one for one in events if one.kind is not kind]
        found = differences({0: mine}, right, SOLUTIONS, [0])
        assert [(one.kind, one.name, one.line) for one in found] == [(kind, name, 0)]


@given(programs())
def test_an_iteration_that_assigns_nothing_leaves_its_name(events: list[Event]) -> None:
    right = {0: solution(events)}
    mine = [one for one in events if one.name != "l" or one.place == (0,)]
    left = {one.place: one for one in differences({0: mine}, right, SOLUTIONS, [0])}
    for event in events:
        if event.name == "l" and len(event.place) > 1:
            before = next(one for one in events if one.name == "l")
            fits = held(before).shape == held(event).shape
            same = fits and np.allclose(held(before), held(event), 1e-3)
            assert (event.place in left) == (fits and not same)


@given(programs(), st.sampled_from(NAMES))
def test_values_that_a_name_is_given_are_the_solutions_in_order(events: list[Event], name: str) -> None:
    own = [held(one) for one in events if one.kind is Kind.NAME and one.name == name]
    there = values(events, solution(events), name, SOLUTIONS[name])
    assert all(one is not None and np.array_equal(one, other) for one, other in zip(there, own, strict=True))


@given(programs())
def test_a_name_is_paired_by_what_it_holds_only_if_that_is_no_chance(events: list[Event]) -> None:
    renamed = [replace(one, name="mystery") if one.name == "x" else one for one in events]
    several = max(one.place[1] for one in events if len(one.place) > 1) > 0
    names = paired({0: renamed}, {0: solution(events)})
    assert names.get("mystery") == "x" or not several


def test_what_machines_round_differently_does_not_differ_and_is_not_the_same() -> None:
    """The solution's numbers have a spread, each its own: what is far outside of it differs."""
    mine = Event(Kind.NAME, (0,), "p", 3, np.array([0.4, 0.5, 0.75]))
    right = replace(mine, line=0, numbers=np.array([0.4, 0.5, 0.74]), spread=np.array([0.0, 0.0, 0.01]))
    assert differences({0: [mine]}, {0: [right]}, {"p": "p"}, [0]) == []
    assert alike({0: [mine]}, {0: [right]}, {"p": "p"}) == {("p", 1, 0): True}
    assert alike({0: [mine]}, {0: [right]}, {"p": "p"}, SAME) == {("p", 1, 0): False}
    for numbers, index in (([0.41, 0.5, 0.74], (0,)), ([0.4, 0.5, np.inf], (2,)), ([0.4, 0.5, 0.0], (2,))):
        [found] = differences({0: [replace(mine, numbers=np.array(numbers))]}, {0: [right]}, {"p": "p"}, [0])
        assert found.index == index
