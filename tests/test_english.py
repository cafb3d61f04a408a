"""The list of house words: it finds the old ones in sentences, and leaves honest words and code alone."""

from __future__ import annotations

import pytest

from tests.english import HOUSE, RULES, found, lesson, sentences, with_a_clause

OLD = """One sweep fewer. | Mend this, then check again. | It adds in each turn. | in turns, in one process
a key behind the end of the row | one key less | it belongs into the loop | Which share of K is read?
n is no multiple of 16 | That is for you to say.
the loop goes on to n | All of it is in order. | two more each, besides.
It lies beside it. | nine are the spine | an earlier rung | the ladder of puzzles | the speed track"""
FINE = """a pass | amend, recommend | it turns out that | Your turn | in turn, turns x into y | behind a wall
one less than n | it belongs in the loop | pages which share a line | no multiplication | in order to see
in this order | is in order to | besides the two, code like `sweep` and [words](docs/sweep.md)"""


@pytest.mark.parametrize("old", [part for line in OLD.split("\n") for part in line.split("|")])
def test_an_old_word_is_found(old: str) -> None:
    assert len(list(found(old))) == 1


def test_each_rule_finds_something() -> None:
    assert not [rule.pattern for rule, _ in RULES if not rule.search(OLD)]
    assert len(RULES) == len(HOUSE)


def test_honest_words_are_left_alone() -> None:
    assert not list(found(FINE))


def test_the_place_is_told_across_lines() -> None:
    assert list(found("It\nlies behind\nthe end.")) == [(1, "behind the end", "past the end")]
    assert list(found("```\nsweep\n```\n\nsweep")) == [(4, "sweep", "pass")]


def test_of_a_lesson_only_its_text_is_looked_at() -> None:
    script = "# %% [markdown]\n# A sweep.\n\n# %%\n# a sweep in code\nsweep = 1\n"
    assert [line for line, *_ in found(lesson(script))] == [1]


def test_of_a_module_only_its_sentences_are_looked_at() -> None:
    source = '"""A sweep."""\n\nNAME = "three-sweeps"  # a sweep\nsaid = f"mend {NAME}"\n'
    assert [(line, *map(str, hit[1:])) for line, text in sentences(source) for hit in found(text)] == [
        (1, "sweep", "pass"),
        (4, "mend", "fix"),
    ]


def test_a_function_begins_with_a_verb_and_a_property_need_not() -> None:
    source = 'def a() -> None:\n    """What is so."""\n\n@property\ndef b() -> None:\n    """What is so."""\n'
    assert list(with_a_clause(source)) == [(2, "What", "a verb")]
    assert not list(with_a_clause(source.replace("What", "Return what")))


def test_a_module_and_a_class_begin_with_a_noun() -> None:
    source = '"""From a to b."""\n\nclass A:\n    """How it is."""\n'
    assert list(with_a_clause(source)) == [(1, "From", "a noun"), (4, "How", "a noun")]
    assert not list(with_a_clause(source.replace("From a", "A way").replace("How it is", "A thing")))
