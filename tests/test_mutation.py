"""The judge refuses every mutant of every solution that changes behaviour."""

from __future__ import annotations

import json
import random

import pytest

from checker import catalog
from checker.check import Conditions
from checker.course import ladder
from checker.course.verdict import Finding, Status
from checker.grading.viva.mutants import Mutant
from tests.conftest import SLICE
from tests.mutation.__main__ import GREEN
from tests.mutation.gate import SLICES, Fate, GateResult, all_mutants, excuses, fate, matching, of_slice, run, weighed
from tests.mutation.oracle import Oracle

STEMS = ladder.stems()
KERNELS = [(puzzle_id, kernel.name) for puzzle_id in STEMS for kernel in catalog.load(puzzle_id).kernels]


@pytest.mark.parametrize("puzzle_id", STEMS)
def test_a_mutant_is_refused(puzzle_id: str, pytestconfig: pytest.Config) -> None:
    """Another one in each slice of the tests. `make mutants` checks all."""
    chosen = random.Random(pytestconfig.stash.get(SLICE, (0, []))[0]).sample(all_mutants(puzzle_id), 1)
    result = run(puzzle_id, [fate(puzzle_id, one) for one in chosen])
    assert result.flaws == []
    assert result.checked == 1


def test_each_mutant_is_in_one_slice() -> None:
    for puzzle_id in STEMS:
        slices = [of_slice(puzzle_id, number) for number in range(SLICES)]
        assert sorted(one.name for part in slices for one in part) == sorted(m.name for m in all_mutants(puzzle_id))
    assert set(json.loads(GREEN.read_text())) <= {str(number) for number in range(SLICES)}


@pytest.mark.parametrize("puzzle_id", STEMS, ids=STEMS.values())
def test_mutants_are_many_differ_and_have_names_of_their_own(puzzle_id: str) -> None:
    everyone = all_mutants(puzzle_id)
    assert len(everyone) > 100
    assert len({m.text for m in everyone}) == len({m.name for m in everyone}) == len(everyone)


def test_every_excuse_is_a_sentence_for_a_mutant_that_exists() -> None:
    names = [mutant.name for puzzle_id in STEMS for mutant in all_mutants(puzzle_id)]
    assert [pattern for pattern in excuses() if not any(map(matching([pattern]).fullmatch, names))] == []
    assert all(reason.endswith(".") for reason in excuses().values())


def test_a_pattern_covers_what_it_says_and_nothing_else() -> None:
    known = matching(["kernel | called | ... | tl.sum(..., axis=0) -> tl.sum(...) | ...", "other | #2"])
    assert known.fullmatch("kernel | called | l = tl.sum(x, axis=0) | tl.sum(x, axis=0) -> tl.sum(x) | #1")
    assert known.fullmatch("other | #2")
    assert not known.fullmatch("other | #22")
    assert not known.fullmatch("kernel | called | l = tl.sum(x, axis=0) | tl.sum(x, axis=0) -> tl.max(x) | #1")
    assert not matching([]).fullmatch("")


def test_what_is_wrong_or_unexplained_or_silent_or_excused_for_nothing_is_a_flaw() -> None:
    name, place = (Finding("", Status.WRONG, "", "", "", named=named) for named in (True, False))

    def made(line: str, accepted: bool, finding: Finding | None = None, difference: str | None = None) -> Fate:
        return Fate(Mutant("", "kernel", "shifted", line, "", 1), accepted, finding, difference)

    fates = [
        made("named", False, name),
        made("located", False, place),
        made("silent", False),
        made("equivalent", True),
        made("unexplained", True),
        made("wrong", True, difference="y is wrong"),
        made("excused and wrong", True, difference="y is wrong"),
        made("excused and refused", False, name),
    ]
    result = weighed(GateResult("p1", 9), fates, matching(["...equivalent...", "...excused..."]))
    assert (result.named, result.located, len(result.excused), len(result.flaws)) == (2, 1, 1, 5)
    assert "3 refused (2 named, 1 located), 1 equivalent, 3 got away" in result.summary()
    for kind, line in (
        ("got away, and is wrong", "wrong"),
        ("got away, and is wrong", "excused and wrong"),
        ("nobody says why", "unexplained"),
        ("without a word", "silent"),
        ("excused for nothing", "excused and refused"),
    ):
        assert any(kind in flaw and f"| {line} |" in flaw for flaw in result.flaws)


@pytest.mark.parametrize("puzzle_and_kernel", KERNELS, ids=lambda pair: pair[1])
def test_the_oracle_finds_nothing_wrong_with_a_solution_in_other_launches(
    puzzle_and_kernel: tuple[str, str], quick: Conditions
) -> None:
    puzzle_id, kernel = puzzle_and_kernel
    oracle = Oracle(puzzle_id, kernel, quick, count=30, seed=1)
    assert oracle.difference(oracle.solution) is None


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        ("other=-float('inf')", "other=0.0", "elements of y_ptr are wrong"),
        ("tl.program_id(0).to(tl.int64)", "tl.program_id(0)", "int32 overflow"),
        ("cols < n_cols", "cols <= n_cols", "loads outside x_ptr"),
        ("cols < n_cols", "cols < tl.minimum(n_cols, 1000)", "elements of y_ptr are wrong"),
        (", other=-float('inf')", "", "y_ptr depends on masked lanes"),
        ("mask = cols", "x = tl.load(x_ptr + row * x_row_stride)\n    mask = cols", "loads x_ptr"),
        ("mask = cols", "wide = tl.arange(0, 2 * BLOCK_SIZE)[:, None] + cols\n    mask = cols", "largest block"),
        ("mask = cols", "tl.store(x_ptr + row * x_row_stride, 1.0)\n    mask = cols", "changes x_ptr"),
        (
            "    tl.store",
            "    tl.store(y_ptr + row * y_row_stride + cols * 0, numerator)\n    tl.store",
            "stores y_ptr",
        ),
        ("row = ", "row = no_such_name + ", "NameError"),
    ],
)
def test_the_oracle_sees_every_kind_of_difference(old: str, new: str, seen: str, quick: Conditions) -> None:
    oracle = Oracle("p1", "naive_softmax_kernel", quick)
    text = oracle.solution.replace('"', "'")
    assert old in text
    assert seen in (oracle.difference(text.replace(old, new)) or "nothing")


def test_the_oracle_asks_for_barriers_and_for_what_is_gone_through_again(quick: Conditions) -> None:
    oracle = Oracle("p5", "flash_attention_1_kernel", quick, count=40)
    without = oracle.solution.replace("tl.debug_barrier()", "pass")
    assert "no barriers" in (oracle.difference(without) or "nothing")
    once = oracle.solution.replace("mask=queries < n_q, other=0.0)", "mask=(queries < n_q) & (start_k > 0), other=0.0)")
    assert "loads l_ptr" in (oracle.difference(once) or "nothing")
