"""Traffic against its budget: too much, too little, in too small or too large pieces."""

from __future__ import annotations

import numpy as np
import pytest

from checker.course.case import Case
from checker.course.misconception import Moves
from checker.course.puzzle import Budget, Puzzle, Remark
from checker.course.verdict import Finding
from checker.judge.traffic import moved, multiply_adds, remarks, total, traffic_findings
from checker.sandbox.protocol.records import BLOCK, DOT, LOAD, PRODUCT, STORE
from tests.judge.made import LOADS, STORES, Record, case, evidence, idea, puzzle, usual, where


def told(of: Puzzle, *records: list[Record]) -> list[Finding]:
    everything = [evidence(case(id=n), records=one) for n, one in enumerate(records)]
    return list(traffic_findings(of, everything[0], everything, where))


def twice(line: int = LOADS) -> list[Record]:
    """Each row is loaded twice."""
    loads = [(kind, t, p, line, e, lanes, s) for kind, t, p, _, e, lanes, s in usual(case()) if kind == LOAD]
    return [*usual(case()), *loads]


def test_what_is_within_the_budget_is_not_told() -> None:
    assert told(puzzle(), usual(case())) == []


def test_what_is_moved_is_counted_by_tensor_and_summed_by_kernel() -> None:
    one = evidence(case(), records=twice())
    assert one.result is not None
    assert [(t.tensor, t.loads, t.stores) for t in moved(puzzle(), one.case, one.result)] == [
        ("x_ptr", 48, 0),
        ("y_ptr", 0, 24),
    ]
    x, _ = total(puzzle(), [one, evidence(case(id=1))])
    assert (x.elements, x.loads, x.most_loads) == (48, 72, 48)


def test_the_figures_of_a_finding_are_those_of_all_launches() -> None:
    [finding] = told(puzzle(), twice(), usual(case()))
    assert finding.title == "x is read 1.50 times per element, once is enough"
    assert "In this case 48 elements of x were read where 24 are enough" in finding.explanation


def test_a_load_that_is_repeated_is_marked() -> None:
    [finding] = told(puzzle(), twice())
    assert (finding.id, finding.where.line) == ("read-too-often", LOADS)
    [finding] = told(puzzle(), twice(line=9))
    assert finding.where.line == 9


def test_a_budget_has_a_lower_bound_too() -> None:
    least = {"x_ptr": Budget(loads=48, least_loads=48), "y_ptr": Budget(stores=24)}
    [finding] = told(puzzle(budget=lambda case: least), usual(case()))
    assert finding.id == "read-too-seldom" and "2 times per element" in finding.explanation


def test_loads_of_an_output_are_not_needed_at_all() -> None:
    records = [*usual(case()), (LOAD, 1, 0, 8, range(6), 8, 0)]
    [finding] = told(puzzle(), records)
    assert (finding.id, finding.where.line, finding.where.tensor) == ("read-at-all", 8, "y_ptr")


def test_an_idea_that_moves_as_much_in_every_such_launch_names_it() -> None:
    again = idea("again", Moves(lambda case, moved: moved["x_ptr"].loads == 48))
    assert [f.id for f in told(puzzle(again), twice(), usual(case()))] == ["again"]
    thrice = [*twice(), *twice()[-4:]]
    assert [f.id for f in told(puzzle(again), twice(), thrice)] == ["read-too-often"]


@pytest.mark.parametrize(
    ("record", "title", "tensor"),
    [
        ((LOAD, 0, 0, 7, range(6), 16, 0), "One access loads 16 elements of x at once", "x_ptr"),
        ((STORE, 1, 0, 7, range(6), 16, 0), "One access stores 16 elements of y at once", "y_ptr"),
        ((DOT, 0, 0, 7, (), 16, 2), "One matrix product makes a block of 16 elements", None),
        ((BLOCK, 0, 0, 7, (), 16, 0), "A block of 16 elements is made", None),
    ],
)
def test_a_block_larger_than_the_tiles_is_all_that_is_told(record: Record, title: str, tensor: str | None) -> None:
    [finding] = told(puzzle(largest_block=lambda case: 8), [*twice(), record])
    assert (finding.id, finding.title, finding.where.tensor) == ("block-too-large", title, tensor)


def test_the_widest_access_must_reach_a_block() -> None:
    wide = {"x_ptr": Budget(loads=24, least_at_once=4), "y_ptr": Budget(stores=24, least_at_once=6)}
    assert told(puzzle(budget=lambda case: wide), usual(case())) == []
    narrow = [(k, t, p, line, [e], 8, s) for k, t, p, line, es, _, s in usual(case()) for e in es]
    first, second = told(puzzle(budget=lambda case: wide), narrow)
    assert (first.id, first.title) == ("no-tiles", "x is not loaded in blocks")
    assert second.where.line == STORES


def products(program: int, count: int, line: int = 3) -> Record:
    return (PRODUCT, 0, program, line, (), 8, count)


def test_products_by_hand_are_compared_program_by_program_the_busiest_first() -> None:
    by_hand = puzzle(by_hand=lambda case: np.array([5, 1, 1, 1]))
    assert told(by_hand, [*usual(case()), products(2, 5), products(0, 1)]) == []
    [finding] = told(by_hand, [*usual(case()), products(2, 5), products(0, 3, line=7)])
    assert finding.id == "multiplied-by-hand" and "makes 3 products" in finding.explanation


def test_matrix_products_have_a_bound_and_the_first_of_one_loop_is_marked() -> None:
    def like(case: Case, moved: object) -> bool:
        return True

    dots: list[Record] = [(DOT, 0, program, line, (), 16, 8) for program in range(4) for line in (5, 6)]
    records = [*usual(case()), *dots]
    one = evidence(case(), records=records)
    assert one.result is not None and multiply_adds(one.result) == 8 * 16 * 8
    [finding] = told(puzzle(work=lambda case: 512), records)
    assert (finding.id, finding.title) == ("multiplied-too-much", "tl.dot multiplies 2 times as much as is needed")
    for products_too, line in ((True, 5), (False, None)):
        [finding] = told(puzzle(idea("hidden", Moves(like, products_too)), work=lambda case: 512), records)
        assert (finding.id, finding.where.line) == ("hidden", line)
    [finding] = told(puzzle(idea("hidden", Moves(like, True)), work=lambda case: 512), records[:-1])
    assert finding.where.line is None  # not carried out equally often: not in one loop


def test_a_remark_holds_in_all_launches() -> None:
    of = puzzle(remarks=(Remark("once", lambda case, moved: moved["x_ptr"].loads == 24),))
    assert remarks(of, [evidence(case())]) == ("once",)
    assert remarks(of, [evidence(case()), evidence(case(id=1), records=twice())]) == ()
    assert remarks(of, []) == ()
