"""Digits that are lost: each line once, and of several losses the one that says what went wrong."""

from __future__ import annotations

from collections.abc import Iterable

from checker.course.verdict import Finding, Status
from checker.judge.notes import Loss, Note
from checker.judge.precision import LOSSES, losses, most_telling
from checker.sandbox.protocol.records import IN_DOT, IN_LOOP, IN_STORE, LOSS, MULTIPLIED, ON_THE_WAY
from tests.judge.made import Record, case, evidence, where


def lost(way: int, line: int = 3, times: int = 1) -> Record:
    return (LOSS, 0, 0, line, (), times, way)


def seen(*records: Record) -> list[Loss]:
    return losses(evidence(case(), records=records), where)


def told(notes: Iterable[Note]) -> list[str]:
    return [note.finding.id for note in notes]


def test_of_a_line_that_loses_in_several_ways_the_first_way_is_told() -> None:
    found = seen(lost(max(IN_DOT, IN_LOOP)), lost(min(IN_DOT, IN_LOOP), times=3), lost(IN_LOOP, line=4))
    assert [note.finding.where.line for note in found] == [3, 4]
    assert found[0].way == min(IN_DOT, IN_LOOP) and "3 operations have this fault" in found[0].finding.explanation


def test_every_loss_asks_before_it_tells() -> None:
    for way, key in LOSSES.items():
        [loss] = seen(lost(way))
        assert loss.finding.id == key and loss.finding.question.endswith("?")


def test_a_loss_of_sizes_is_not_conclusive() -> None:
    sizes, values = seen(lost(MULTIPLIED), lost(IN_DOT, line=4))[::-1]
    assert not sizes.conclusive or not values.conclusive
    assert {note.way: note.conclusive for note in (sizes, values)} == {MULTIPLIED: False, IN_DOT: True}


def test_what_follows_from_a_loss_is_not_told_beside_it() -> None:
    summed, stored, computed = (seen(lost(way))[0] for way in (IN_LOOP, IN_STORE, ON_THE_WAY))
    assert told(most_telling([computed, stored, summed])) == ["accumulator-in-half"]
    assert told(most_telling([computed, stored])) == ["rounded-to-half"]
    assert told(most_telling([computed])) == ["rounded-on-the-way"]
    located = Note(Finding("wrong-values", Status.WRONG, "", "", "", named=False))
    assert told(most_telling([located, stored])) == ["wrong-values", "rounded-to-half"]
