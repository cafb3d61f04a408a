"""Wrong values get a name if an idea gives just these, and the right cases do not speak against it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from checker.catalog.lines import minimum
from checker.course.case import Array, Case
from checker.course.misconception import Load, Writes
from checker.course.puzzle import Puzzle
from checker.judge.models import Models
from checker.judge.values import name_wrong
from checker.judge.wrong import Wrong, wrong_outputs
from tests.judge.made import LOADS, STORES, case, code, idea, puzzle, result, right, where


def item(one: Case, y: Array, **facts: object) -> Wrong:
    made = wrong_outputs(one, puzzle().expected(one), result(one, y, **facts), code())
    assert made is not None
    return made


def tripled(case: Case) -> dict[str, Array]:
    return {"y_ptr": 1.5 * right(case).astype(np.float64)}


def last_column_lost(case: Case) -> dict[str, Array]:
    """What a kernel writes that drops the last column of more than six."""
    y = right(case).astype(np.float64)
    y[:, 6:] = 0.0
    return {"y_ptr": y}


TRIPLED, LOST = idea("tripled", Writes(tripled)), idea("lost", Writes(last_column_lost))
SMALL, LARGE = case(), case("large", 1, (4, 7))


def named(of: Puzzle, items: list[Wrong], ok: list[Case] | None = None) -> list[str]:
    notes = name_wrong(of, items, [one.case for one in items], ok or [], where)
    return [note.finding.id for note in notes]


def test_a_model_that_gives_what_was_seen_names_it() -> None:
    [note] = name_wrong(puzzle(LOST, TRIPLED), [item(SMALL, tripled(SMALL)["y_ptr"])], [SMALL], [], where)
    assert (note.finding.id, note.finding.where.line) == ("tripled", STORES)
    assert (
        note.finding.examples[0] == "y[0, 0] is 3; this mistake gives 3; expected 2" and len(note.finding.examples) == 2
    )


def test_two_mistakes_get_two_names_if_each_explains_half_of_its_cases() -> None:
    items = [item(SMALL, tripled(SMALL)["y_ptr"]), item(LARGE, last_column_lost(LARGE)["y_ptr"])]
    assert named(puzzle(LOST, TRIPLED), items) == ["lost", "tripled"]
    third = item(case("larger", 2, (4, 8)), last_column_lost(case(shape=(4, 8)))["y_ptr"])
    assert named(puzzle(LOST, TRIPLED), [*items, third]) == ["wrong-values"]


def test_what_leaves_the_most_basic_case_unexplained_is_no_name() -> None:
    items = [item(SMALL, right(SMALL) + 1), item(LARGE, last_column_lost(LARGE)["y_ptr"])]
    assert named(puzzle(LOST), items) == ["wrong-values"]


def test_a_case_that_came_out_right_refutes_an_idea() -> None:
    items = [item(LARGE, last_column_lost(LARGE)["y_ptr"])]
    assert named(puzzle(LOST), items, [SMALL]) == ["lost"]
    assert named(puzzle(LOST), items, [case("large, too", 2, (4, 8))]) == ["wrong-values"]


def test_an_idea_about_an_output_that_is_right_explains_nothing() -> None:
    one = item(SMALL, tripled(SMALL)["y_ptr"])
    of_another = replace(one, wrong={"x_ptr": one.wrong["y_ptr"]})
    [sign] = (sign for sign in TRIPLED.signs if isinstance(sign, Writes))
    models = Models(puzzle(TRIPLED), [one, of_another])
    assert [models.explains(sign, each) for each in (one, of_another)] == [True, False]


def test_an_idea_that_needs_its_line_is_no_name_without_it() -> None:
    items = [item(SMALL, tripled(SMALL)["y_ptr"])]
    [by_line, without] = (idea("tripled", Writes(tripled).at(part, needed=True)) for part in (Load.LAST, minimum))
    assert named(puzzle(without), items) == ["wrong-values"]
    [note] = name_wrong(puzzle(by_line), items, [SMALL], [], where)
    assert (note.finding.where.line, note.finding.where.role) == (LOADS, "")


def test_of_several_signs_the_one_that_explains_is_told() -> None:
    both = idea("either", Writes(last_column_lost), Writes(tripled).at(Load.LAST))
    [note] = name_wrong(puzzle(both), [item(SMALL, tripled(SMALL)["y_ptr"])], [SMALL], [], where)
    assert note.finding.where.line == LOADS


def tripled_in_narrow_ones(case: Case) -> dict[str, Array]:
    return tripled(case) if right(case).shape[1] < 7 else {"y_ptr": right(case).astype(np.float64)}


def test_of_variants_that_fit_alike_the_one_that_fits_elsewhere_is_told() -> None:
    variants = [
        replace(idea("tripled", Writes(made)), title=title)
        for title, made in (("in narrow ones", tripled_in_narrow_ones), ("everywhere", tripled))
    ]
    small, large = (item(one, tripled(one)["y_ptr"]) for one in (SMALL, LARGE))
    told = [name_wrong(puzzle(*variants), [small], [SMALL], [], where, others) for others in ([], [large])]
    assert [note.finding.title for [note] in told] == ["in narrow ones", "everywhere"]
    [note] = name_wrong(puzzle(*variants), [small], [SMALL], [LARGE], where, [large])  # which a launch refutes
    assert note.finding.title == "in narrow ones"


def test_of_cases_that_tell_little_one_idea_must_explain_all() -> None:
    cases = [case(f"{n}", n, (4, n), informative=False) for n in (7, 8, 9, 10, 11, 12)]
    items = [item(one, last_column_lost(one)["y_ptr"]) for one in cases]
    assert named(puzzle(TRIPLED, LOST), items) == ["lost"]
    odd = item(case("odd", 20, informative=False), right(SMALL) + 1)
    assert named(puzzle(TRIPLED, LOST), [*items, odd]) == ["wrong-values"]
    assert named(puzzle(LOST), items, [case("right", 21, (4, 9), informative=False)]) == ["wrong-values"]


def test_undefined_lanes_come_before_every_name() -> None:
    again = {"y_ptr": right(SMALL) + 1}
    assert named(puzzle(TRIPLED), [item(SMALL, tripled(SMALL)["y_ptr"], filled=[again])]) == ["undefined-masked-lanes"]
    assert named(puzzle(TRIPLED), []) == []
