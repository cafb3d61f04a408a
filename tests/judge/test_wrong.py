"""A case that came out wrong: which elements, which lines, in which words."""

from __future__ import annotations

import numpy as np

from checker.course.case import Array, Case
from checker.course.misconception import Load
from checker.course.verdict import Status
from checker.judge.wrong import Wrong, wrong_outputs
from checker.sandbox.protocol.records import LOAD
from tests.judge.made import LOADS, STORES, Record, case, code, puzzle, result, right, usual, where


def wrong(one: Case, y: Array | None = None, records: list[Record] | None = None, **facts: object) -> Wrong | None:
    return wrong_outputs(one, puzzle().expected(one), result(one, y, records, **facts), code())


def spoilt(one: Case, *at: tuple[int, ...], value: float = 0.0) -> Array:
    y = right(one)
    for index in at:
        y[index] = value
    return y


def test_what_is_right_or_was_never_stored_is_not_wrong() -> None:
    assert wrong(case()) is None
    assert wrong(case(), spoilt(case(), (3, 0)), usual(case())[:-1]) is None


def test_a_wrong_case_knows_its_elements_and_lines() -> None:
    item = wrong(case(), spoilt(case(), (1, 2), (2, 5)))
    assert item is not None and item.status is Status.WRONG
    assert item.amount == "2 of 24 elements of y are wrong"
    assert (item.line_of(None), item.line_of(Load.LAST), item.line_of(Load.PADDED)) == (None, LOADS, None)
    place = item.place(where)
    assert (place.line, place.role, place.index) == (STORES, "where y is stored", (1, 2))
    assert item.place(where, Load.LAST).role == ""


def test_a_load_whose_masked_lanes_could_count_is_pointed_at() -> None:
    records = usual(case())
    records[2] = (*records[2][:3], 7, *records[2][4:6], 3)
    item = wrong(case(), spoilt(case(), (1, 2)), records)
    assert item is not None and item.line_of(Load.LAST) == item.line_of(Load.PADDED) == 7


def test_outputs_that_depend_on_undefined_lanes_are_wrong_even_if_they_are_right() -> None:
    again = {"y_ptr": spoilt(case(), (1, 2), value=np.nan)}
    records: list[Record] = [(LOAD, 0, 0, 8, (), 8, 1), (LOAD, 0, 0, 9, (), 8, -1), *usual(case())]
    item = wrong(case(), None, records, filled=[again])
    assert item is not None and item.undefined and item.wrong["y_ptr"].sum() == 1
    assert item.line_of(Load.PADDED) == 9


def test_examples_begin_with_what_is_most_telling() -> None:
    y = spoilt(case(), (0, 0), (0, 1))
    y[3, 3] = np.nan
    item = wrong(case(), y)
    assert item is not None and item.status is Status.NOT_A_NUMBER
    assert [line.partition(" ")[0] for line in item.examples("y_ptr")] == ["y[3,", "y[0,", "y[0,"]
    idea = right(case()).astype(np.float64)
    idea[0, 1] = 0.0
    assert item.examples("y_ptr", idea)[0] == "y[0, 1] is 0; this mistake gives 0; expected 4"
