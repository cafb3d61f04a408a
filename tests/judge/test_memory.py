"""Findings from the access log: inputs changed, races, elements that nobody wrote."""

from __future__ import annotations

import numpy as np
import pytest

from checker.course.case import Case, Role, for_gpu
from checker.course.misconception import Mask, Unwritten
from checker.judge.evidence import Evidence
from checker.judge.memory import memory_notes, name_gaps, never_stored
from checker.judge.notes import Left, Note
from checker.sandbox.protocol.records import BARRIER, LOAD, STORE
from checker.sandbox.protocol.results import MARKS
from tests.judge.made import COLUMNS, LOADS, STORES, Record, case, code, evidence, idea, puzzle, result, usual, where


def notes(one: Case, records: list[Record]) -> list[Note]:
    return memory_notes(evidence(one, records=records), where)


def ids(found: list[Note]) -> list[str]:
    return [note.finding.id for note in found]


def store(program: int, elements: range, line: int = STORES, overwritten: int = 0) -> Record:
    return (STORE, 1, program, line, elements, 8, overwritten)


def load(program: int, elements: range, line: int = LOADS, tensor: int = 1) -> Record:
    return (LOAD, tensor, program, line, elements, 8, 0)


def test_a_right_launch_has_nothing_to_tell() -> None:
    assert notes(case(), usual(case())) == []


def test_a_store_to_an_input_hides_what_follows_from_it() -> None:
    [note] = notes(case(), [(STORE, 0, 0, 7, range(6), 8, 0)])
    assert (note.finding.id, note.finding.where.line, note.finding.where.tensor) == ("input-changed", 7, "x_ptr")


def test_an_input_that_changed_without_a_store_is_found_too() -> None:
    one = evidence(case())
    assert one.ordered is not None
    one.ordered.tensors["x_ptr"] = one.ordered.tensors["x_ptr"] + 1
    assert ids(memory_notes(one, where)) == ["input-changed"]


def test_two_programs_that_store_the_same_element() -> None:
    [note] = notes(case(), [*usual(case()), store(2, range(3, 4), line=9)])
    assert note.finding.id == "written-twice"
    assert note.finding.where.index == (0, 3) and note.finding.where.program == (0,)
    assert "Program 0 wrote y[0, 3], which program 2 also writes." in note.finding.explanation


def test_a_program_that_reads_what_another_one_writes() -> None:
    [note] = notes(case(), [*usual(case()), load(3, range(1))])
    assert note.finding.id == "reads-anothers-result"
    assert notes(case(), [*usual(case()), load(0, range(1))]) == []
    assert ids(notes(case(), [*usual(case())[:-1], load(0, range(18, 19))])) == ["not-written"]


def test_elements_that_nobody_stores_are_a_gap() -> None:
    [note] = notes(case(), usual(case())[:-1])
    assert isinstance(note, Left) and not note.shared
    assert note.finding.explanation == "Of y, 6 of 24 elements were not stored. The first one missing is y[3, 0]."
    [note] = notes(case(), [])
    assert note.finding.title == "y is not written" and note.finding.where.line is None


def test_shared_and_left_out_is_one_finding() -> None:
    records = [*usual(case())[:-1], store(3, range(6))]
    [note] = notes(case(), records)
    assert isinstance(note, Left) and note.shared and note.finding.id == "wrong-row-map"


def test_of_some_programs_only_what_they_write_is_asked_for() -> None:
    asked = {"y_ptr": np.arange(4)[:, None] == 1}
    some = case(programs=(1,), asked={"y_ptr": np.broadcast_to(asked["y_ptr"], (4, COLUMNS))})
    assert notes(some, [store(1, range(6, 12))]) == []
    assert notes(some, [store(1, range(12, 18))]) == []  # another row, but as much
    [note] = notes(some, [store(1, range(6, 11))])
    assert note.finding.explanation.startswith("Of y, 1 of 24 elements was not stored")


def test_lanes_of_one_store_that_overwrite_each_other() -> None:
    [note] = notes(case(), [*usual(case())[:-1], store(3, range(18, 24), overwritten=2)])
    assert note.finding.id == "lanes-collide" and "stored 2 values" in note.finding.explanation


BARRIER_HERE: Record = (BARRIER, -1, 0, 8, (), 0, 0)


@pytest.mark.parametrize(
    ("between", "again", "id"),
    [
        ([], range(6), "missing-barrier"),
        ([BARRIER_HERE], range(6), None),
        ([], range(3, 9), "tile-and-step-differ"),
        ([], range(6, 12), None),
    ],
)
def test_state_that_is_loaded_after_it_was_stored_needs_a_barrier(
    between: list[Record], again: range, id: str | None
) -> None:
    one = case(shape=(1, 12))
    y = one.tensors["y_ptr"]
    object.__setattr__(y, "role", Role.STATE)
    records = [store(0, range(6)), *between, load(0, again, line=9), store(0, range(6, 12))]
    assert ids(notes(one, records)) == ([id] if id else [])


def test_on_a_gpu_surroundings_and_marks_are_what_there_is() -> None:
    [note] = memory_notes(evidence(case(), records=[], on_gpu=True, outside="y_ptr"), where)
    assert note.finding.id == "writes-outside" and not note.finding.named
    y = np.ones((4, COLUMNS), np.float32)
    y.view(np.int32)[2] = MARKS["float32"]
    missing = never_stored(case(), result(case(), y, [], on_gpu=True), "y_ptr")
    assert missing.any(axis=1).tolist() == [False, False, True, False]


def test_a_gpu_runs_all_programs_so_all_rows_are_asked_for() -> None:
    asked = {"y_ptr": np.broadcast_to(np.arange(4)[:, None] == 3, (4, COLUMNS))}
    y = np.ones((4, COLUMNS), np.float32)
    y.view(np.int32)[3] = MARKS["float32"]  # as much is stored as one program stores, and more
    one = for_gpu(case(programs=(3,), asked=asked))
    [note] = memory_notes(Evidence(one, result(one, y, [], on_gpu=True), None), where)
    assert note.finding.explanation == "Of y, 6 of 24 elements were not stored. The first one missing is y[3, 0]."


def last_rows(count: int, shared: bool = False) -> Unwritten:
    def elements(case: Case) -> dict[str, Mask]:
        shape = case.tensors["y_ptr"].values.shape
        return {"y_ptr": np.broadcast_to(np.arange(shape[0])[:, None] >= shape[0] - count, shape)}

    return Unwritten(elements, shared)


def test_a_gap_gets_a_name_that_explains_it_in_every_launch() -> None:
    one, other = case(), case(id=1, shape=(8, COLUMNS))
    ideas = puzzle(idea("shares", last_rows(1, shared=True)), idea("two", last_rows(2)), idea("one", last_rows(1)))
    seen = [evidence(c, records=usual(c)[:-1]) for c in (one, other)]
    notes = memory_notes(seen[0], where)
    found = name_gaps(ideas, notes, seen, [], where, code())
    assert ids(found) == ["one"] and found[0].finding.where.index == (3, 0)
    assert ids(name_gaps(ideas, notes, seen, [case(id=2)], where, code())) == ["not-written"]  # it would have a gap too
    seen.append(evidence(case(id=2), records=usual(case())[:-3]))
    assert ids(name_gaps(ideas, notes, seen, [], where, code())) == ["not-written"]
