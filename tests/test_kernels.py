"""Right kernels pass; wrong ones are refused by name; hostile ones get nothing, lint or no lint."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from checker.box.cage.cage import Cage
from checker.box.host import Host
from checker.box.parent import Limits
from checker.check import Terms
from checker.judge import asked
from tests.conftest import check_kernel, sampled
from tests.kernels import Kernel, kernels, named

SOLVED = named("p1_naive_softmax")

KEYS = ("autumn", "winter", "spring")
SEED = 20220527
SAMPLE = 4  # for each key in `make test`; `make test-all` tries all
NEEDS_THE_COMPILER = {
    "loop-changes-type",
    "not-always-defined",
    "branches-differ",
    "loop-bound-not-integer",
    "shared-memory",
}
IN_CAGE = [  # in `make test`; `make test-all` tries all
    *("reads_solutions", "watches_processes", "through_other_roots", "mounts", "forged_answers", "network"),
    *("daemon", "memory_bomb", "deaf"),
]
UNFILTERED = [
    *("network", "daemon", "fork_bomb", "thread_bomb", "kill_parent", "stop_parent", "huge_file", "litter"),
    *("mounts", "kernel_services"),
]


def ids(kernel: Kernel) -> str:
    return kernel.name


def attacks(names: list[str]) -> list[Kernel]:
    return [named(f"p1_{name}") for name in names]


RIGHT = kernels("right")
# In `make test`, some are run and a few of these compiled; `make test-all` does both to all.
ACCEPTED = random.Random(SEED).sample(RIGHT, 16)
COMPILED = ACCEPTED[:5]


@pytest.mark.parametrize("kernel", sampled(RIGHT, ACCEPTED), ids=ids)
def test_right_kernels_are_accepted(kernel: Kernel, quick: Terms, monkeypatch: pytest.MonkeyPatch) -> None:
    """With five eighths of what a launch may do, and of what all may: so who writes in another style is not ended."""
    monkeypatch.setattr(asked, "MANY_TIMES", asked.MANY_TIMES * 5 // 8)
    monkeypatch.setattr(asked, "A_LITTLE", asked.A_LITTLE * 5 // 8)
    assert_accepted(kernel, replace(quick, targets=()))


@pytest.mark.parametrize("kernel", sampled(RIGHT, COMPILED), ids=ids)
def test_right_kernels_compile(kernel: Kernel, quick: Terms) -> None:
    assert_accepted(kernel, quick)


def assert_accepted(kernel: Kernel, terms: Terms) -> None:
    verdict = check_kernel(kernel, terms)
    assert verdict.accepted, verdict.findings
    assert verdict.earned == verdict.possible
    assert verdict.findings == ()


def compiled_if_need_be(kernel: Kernel) -> bool:
    return not NEEDS_THE_COMPILER.isdisjoint(kernel.findings)


WRONG = kernels("wrong")
OF_EACH = {one.findings: one for one in random.Random(SEED).sample(WRONG, len(WRONG))}  # one for each name
TRIED = random.Random(SEED).sample(sorted(OF_EACH.values()), 24)
ATTACKS = random.Random(SEED).sample(kernels("hostile"), 8)


def test_a_sample_of_kernels_is_tried(told: Callable[[str], None]) -> None:
    told(f"right kernels: {len(ACCEPTED)} of {len(RIGHT)}, {len(COMPILED)} of them compiled, or all in make test-all")
    told(f"wrong kernels: {len(TRIED)} of {len(WRONG)}, no two of one name, or all in make test-all")
    told(f"hostile kernels: {len(ATTACKS)} of {len(kernels('hostile'))}, or all in make test-all")


@pytest.mark.parametrize("kernel", sampled(WRONG, TRIED), ids=ids)
def test_wrong_kernels_are_refused_by_name(kernel: Kernel, quick: Terms) -> None:
    assert_refused_by_name(kernel, quick if compiled_if_need_be(kernel) else replace(quick, targets=()))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [one for one in kernels("wrong") if not compiled_if_need_be(one)], ids=ids)
def test_other_wrong_kernels_compile(kernel: Kernel, quick: Terms) -> None:
    """So what is said of them does not depend on whether they are compiled."""
    assert_refused_by_name(kernel, quick)


def assert_refused_by_name(kernel: Kernel, terms: Terms) -> None:
    verdict = check_kernel(kernel, terms)
    assert not verdict.accepted
    assert verdict.earned < verdict.possible
    assert tuple(f.id for f in verdict.findings) == kernel.findings, verdict.findings
    if verdict.findings[0].id == "undefined-masked-lanes":
        marked = dict(verdict.findings[0].where.source)[verdict.findings[0].where.line or 0]
        assert "tl.load" in marked and "other" not in marked


def assert_the_same(some: Sequence[Kernel], terms: Terms) -> None:
    """Grading draws other sizes and values; what is right or wrong stays so, under the same name."""
    for kernel in some:
        verdict = check_kernel(kernel, replace(terms, targets=()))
        if kernel.folder == "right":
            assert verdict.accepted, (kernel.name, verdict.findings)
        elif kernel.findings[0] not in NEEDS_THE_COMPILER:
            assert not verdict.accepted, kernel.name
            assert verdict.findings[0].id == kernel.findings[0], (kernel.name, verdict.findings)


@pytest.mark.parametrize("key", KEYS)
def test_a_sample_of_verdicts_does_not_depend_on_the_key(key: str, quick: Terms, told: Callable[[str], None]) -> None:
    every = [*kernels("right"), *kernels("wrong")]
    sample = random.Random(key).sample(every, SAMPLE)
    told(f"key {key}: {len(sample)} of {len(every)} kernels")
    assert_the_same(sample, replace(quick, key=key))


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("folder", ["right", "wrong"])
def test_verdicts_do_not_depend_on_the_key(folder: str, key: str, quick: Terms) -> None:
    assert_the_same(kernels(folder), replace(quick, key=key))


@pytest.mark.parametrize("lint", [True, False], ids=["lint-on", "lint-off"])
@pytest.mark.parametrize("kernel", sampled(kernels("hostile"), ATTACKS), ids=ids)
def test_attacks_fail(kernel: Kernel, lint: bool, box_folder: Path) -> None:
    assert_it_fails(kernel, Terms(lint=lint))


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("kernel", attacks(IN_CAGE), ids=ids)
def test_a_part_of_the_attacks_fails_in_the_cage(kernel: Kernel, kept: Host) -> None:
    terms = Terms(key="autumn", lint=False, host=kept)
    assert_it_fails(kernel, terms)
    assert check_kernel(SOLVED, replace(terms, lint=True)).accepted  # and the next one has nothing of it


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("lint", [True, False], ids=["lint-on", "lint-off"])
@pytest.mark.parametrize("servers", ["new", "kept"])
@pytest.mark.parametrize("kernel", kernels("hostile"), ids=ids)
def test_attacks_fail_in_the_cage(kernel: Kernel, servers: str, lint: bool, kept: Host) -> None:
    assert_it_fails(kernel, Terms(key="autumn", lint=lint, host=kept if servers == "kept" else Host(kept.cage)))


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("kernel", attacks(UNFILTERED), ids=ids)
def test_the_cage_alone_holds_what_attacks_the_machine(kernel: Kernel, cage: Cage) -> None:
    """The third wall by itself, as on a GPU: no lint, and no filter of the child's own."""
    verdict = check_kernel(kernel, Terms(key="autumn", lint=False, host=Host(cage), limits=Limits(filter=False)))
    assert verdict.status.value in kernel.expected("Lint off").split(" or "), verdict.findings


def assert_it_fails(kernel: Kernel, terms: Terms) -> None:
    allowed = kernel.expected("Lint on" if terms.lint else "Lint off").split(" or ")
    limits = replace(terms.limits, cpu_seconds=6, patience=2.0, waiting_seconds=2.0)
    verdict = check_kernel(kernel, replace(terms, limits=limits))
    assert verdict.status.value in allowed, verdict.findings
    assert verdict.earned == 0
    for finding in verdict.findings:
        words = finding.title + finding.explanation + finding.hint
        assert len(words) < 8000
        assert all(c.isprintable() or c in "\n\t" for c in words)
        assert "Traceback" not in words
