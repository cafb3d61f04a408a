"""Each name for something slow: a kernel that gets it, the same without it, and the numbers by which it is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checker.compiled import slowness
from checker.compiled.result import Access, Dot, Loop, Made
from checker.compiled.slowness import Cause, Narrow, slow
from checker.course.targets import KNOWN
from tests.compiled.slow import Pair, pairs
from tests.conftest import check_path

H100 = KNOWN["sm_90"]
LOOP = Loop(10, 20, True, (11, 12), 2, 400, (), (), ())
MADE = Made("kernel", H100, "a launch", 4, 900, 128, 0, 1000, None, 4, "registers", (), (), (LOOP,), 4096)
WIDE = Access(11, False, (16,), 4, True, True, 16)


def names(made: Made, narrow: dict[tuple[int, bool], tuple[Narrow, ...]] | None = None) -> list[str]:
    return [one.id for one in slow(made, narrow or {})]


@pytest.mark.parametrize("pair", pairs().values(), ids=pairs())
def test_a_kernel_gets_its_name_and_the_same_without_the_fault_does_not(pair: Pair) -> None:
    made, found = pair.found()
    assert all(not one.error and not one.unknown for one in made)
    assert pair.finding in [one.id for one in found]
    _, quick = pair.found(quick=True)
    assert pair.finding not in [one.id for one in quick]


@pytest.mark.parametrize("pair", pairs().values(), ids=pairs())
def test_slow_kernels_are_right(pair: Pair, tmp_path: Path) -> None:
    path = tmp_path / f"{pair.puzzle}_slow.py"
    path.write_text(pair.slow_text)
    assert check_path(path).accepted


def test_nothing_is_said_of_what_is_as_it_should_be() -> None:
    assert names(MADE) == []
    assert names(replace(MADE, accesses=(WIDE,), dots=(Dot(15, "wgmma m64n64k16 f16", "", 4, True),))) == []


TOLD = [
    (replace(MADE, spilled=4), "spilled-registers"),
    (replace(MADE, at_once=1), "one-program-at-once"),
    (replace(MADE, dots=(Dot(15, "", "ieee", 64, True),)), "dot-in-plain-arithmetic"),
    (replace(MADE, dots=(Dot(15, "wgmma m64n64k8 tf32", "", 4, True),)), "dot-rounds-to-tf32"),
    (replace(MADE, dots=(Dot(15, "mma m16n8k16 f16", "", 4, True),)), "older-matrix-instruction"),
    (replace(MADE, loops=(replace(LOOP, kept_ready=0),)), "loop-not-pipelined"),
    (replace(MADE, loops=(replace(LOOP, scaled=(14,) * 8),)), "exponential-in-base-e"),
    (replace(MADE, loops=(replace(LOOP, divisions=(14,)),)), "division-in-loop"),
    (replace(MADE, loops=(replace(LOOP, conversions=(14,)),)), "layout-changed-in-loop"),
    (replace(MADE, accesses=(WIDE,), largest_block=64), "more-threads-than-elements"),
]


@pytest.mark.parametrize(("made", "name"), TOLD)
def test_each_is_told_from_one_number_and_in_whole_sentences(made: Made, name: str) -> None:
    [one] = slow(made, {})
    assert one.id == name
    assert "{" not in one.title + one.explanation + one.hint


def test_every_name_has_such_a_number_and_a_pair_of_kernels() -> None:
    named = [name for _, name in TOLD]
    assert len(named) == len(slowness._KINDS)
    assert {*named, *(f"narrow-{cause.value}" for cause in Cause)} == {*pairs()}


def test_where_memory_is_the_limit_arithmetic_costs_nothing() -> None:
    """In loops without tl.dot, nothing is said of divisions and exponentials, nor that nothing is loaded ahead."""
    loop = replace(LOOP, dots=False, divisions=(14,), scaled=(14,) * 8, kept_ready=0)
    assert names(replace(MADE, loops=(loop,))) == []


def test_a_row_may_be_scaled_in_a_loop() -> None:
    assert names(replace(MADE, loops=(replace(LOOP, scaled=(14, 14)),))) == []


def test_a_gpu_is_not_blamed_for_what_it_cannot_do() -> None:
    """One without asynchronous copies loads nothing ahead; one without newer matrix instructions uses those it has."""
    t4 = replace(MADE, target=KNOWN["sm_75"], loops=(replace(LOOP, kept_ready=0),))
    assert names(t4) == []
    a100 = replace(MADE, target=KNOWN["sm_80"], dots=(Dot(15, "mma m16n8k16 f16", "", 4, True),))
    assert names(a100) == []
    assert names(replace(MADE, target=KNOWN["gfx942"], spilled=3))
    [told] = slow(replace(MADE, target=KNOWN["gfx942"], spilled=3), {})
    assert "spills 3 values" in told.title


@pytest.mark.parametrize("cause", Cause)
@pytest.mark.parametrize(
    ("widths", "possible", "told"),
    [((2,), 16, True), ((4, 16), 16, True), ((8,), 16, False), ((2,), 4, False), ((0,), 16, False)],
)
def test_narrow_is_less_than_half(cause: Cause, widths: tuple[int, ...], possible: int, told: bool) -> None:
    made = replace(MADE, accesses=(Access(11, True, widths, 4, True, False, possible),))
    assert names(made, {(11, True): (Narrow(cause, ("k",)),)}) == ([f"narrow-{cause.value}"] if told else [])


def test_lines_with_the_same_fault_are_told_together() -> None:
    accesses = tuple(Access(line, False, (2,), 4, True, False, 16) for line in (11, 12))
    narrow = {(line, False): (Narrow(Cause.MASK),) for line in (11, 12)}
    [told] = slow(replace(MADE, accesses=accesses), narrow)
    assert told.lines == (11, 12)
    narrow[12, False] = (Narrow(Cause.ALIGNMENT, ("k", "stride")),)
    assert [one.lines for one in slow(replace(MADE, accesses=accesses), narrow)] == [(11,), (12,)]
