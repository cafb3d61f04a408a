"""Naming is a cover: the idea that explains most comes first, and what it leaves is looked at again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from checker.course.misconception import Raises, Unwritten, Writes
from checker.judge.naming import Idea, cover, explaining_all, ideas
from tests.judge.made import idea

SETS = st.lists(st.frozensets(st.integers(0, 9)), max_size=6)


def of(*sets: frozenset[int]) -> list[Idea[frozenset[int]]]:
    """Ideas whose signs are the items that they explain."""
    return [Idea(idea(str(n)), [one]) for n, one in enumerate(sets)]


def explains(sign: frozenset[int], item: int) -> bool:
    return item in sign


@given(SETS, st.sets(st.integers(0, 9)), st.integers(1, 4))
def test_a_cover_shares_out_the_items(sets: list[frozenset[int]], items: set[int], most: int) -> None:
    named, rest = cover(of(*sets), items, explains, most)
    assert sorted([*rest, *(item for _, explained in named for item in explained)]) == sorted(items)
    assert all(explained and set(explained) <= one.signs[0] for one, explained in named)
    sizes = [len(explained) for _, explained in named]
    assert sizes == sorted(sizes, reverse=True) and len(named) <= most
    assert len(named) == most or not any(item in one for item in rest for one in sets)


@given(SETS, st.sets(st.integers(0, 9)))
def test_one_name_for_everything_is_the_first_that_explains_all(sets: list[frozenset[int]], items: set[int]) -> None:
    found = explaining_all(of(*sets), items, explains)
    right = [n for n, one in enumerate(sets) if items and items <= one]
    assert (found.misconception.id if found else None) == (str(right[0]) if right else None)


def test_of_two_ideas_that_explain_as_much_the_first_is_named() -> None:
    named, rest = cover(of(frozenset({1}), frozenset({2, 3}), frozenset({3, 4})), [1, 2, 3, 4], explains, 1)
    assert [one.misconception.id for one, _ in named] == ["1"] and rest == [1, 4]


def test_an_idea_is_known_by_any_of_its_signs() -> None:
    both = [Idea(idea("both"), [frozenset({1}), frozenset({2})])]
    assert cover(both, [1, 2], explains)[1] == []


def test_only_ideas_with_possible_signs_of_the_kind_are_candidates() -> None:
    writes, unwritten = Writes(lambda case: {}), Unwritten(lambda case: {})
    every = [idea("writes", writes, unwritten), idea("leaves", unwritten)]
    assert [one.misconception.id for one in ideas(every, Writes)] == ["writes"]
    assert [one.misconception.id for one in ideas(every, Unwritten, lambda sign: sign.shared)] == []
    assert ideas(every, Raises) == []
