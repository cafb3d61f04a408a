"""Right kernels pass; wrong ones are refused by name; hostile ones get nothing, lint or no lint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checker import catalog
from checker.check import Conditions
from checker.course.puzzle import Puzzle
from checker.judge import requests
from checker.sandbox.cage.cage import Cage
from checker.sandbox.host import Host
from checker.sandbox.parent import Limits
from tests.conftest import check_kernel
from tests.kernels import Kernel, kernels, named
from tests.languages import IN_CHINESE, assert_the_same_in_chinese

SOLVED = named("p1_naive_softmax")

KEYS = ("autumn", "winter", "spring")
NEEDS_THE_COMPILER = {
    "launch-too-large",
    "launch-does-not-compile",
    "loop-changes-type",
    "not-always-defined",
    "branches-differ",
    "loop-bound-not-integer",
    "shared-memory",
}
UNFILTERED = [
    *("network", "daemon", "fork_bomb", "thread_bomb", "kill_parent", "stop_parent", "huge_file", "litter"),
    *("mounts", "kernel_services"),
]


def ids(kernel: Kernel) -> str:
    return kernel.name


def needs_the_compiler(kernel: Kernel) -> bool:
    return not NEEDS_THE_COMPILER.isdisjoint(kernel.findings)


@pytest.mark.parametrize("kernel", kernels("right"), ids=ids)
def test_right_kernels_are_accepted(kernel: Kernel, quick: Conditions, monkeypatch: pytest.MonkeyPatch) -> None:
    """With five eighths of what a launch may do, and of what all may: so who writes in another style is not ended."""
    monkeypatch.setattr(requests, "MANY_TIMES", requests.MANY_TIMES * 5 // 8)
    monkeypatch.setattr(requests, "A_LITTLE", requests.A_LITTLE * 5 // 8)
    verdict = check_kernel(kernel, quick)
    assert verdict.accepted, verdict.findings
    assert verdict.earned == verdict.possible
    assert verdict.findings == ()


@pytest.mark.parametrize("kernel", kernels("wrong"), ids=ids)
def test_wrong_kernels_are_refused_by_name(kernel: Kernel, quick: Conditions) -> None:
    """And what earns points is compiled: what the compiler says of it would be a finding beside these."""
    assert_refused_by_name(kernel, quick)


def assert_refused_by_name(kernel: Kernel, conditions: Conditions) -> None:
    verdict = check_kernel(kernel, conditions)
    assert not verdict.accepted
    assert verdict.earned < verdict.possible
    assert tuple(f.id for f in verdict.findings) == kernel.findings, verdict.findings
    if kernel.puzzle in IN_CHINESE:
        assert_the_same_in_chinese(verdict)
    if verdict.findings[0].id == "undefined-masked-lanes":
        marked = dict(verdict.findings[0].where.source)[verdict.findings[0].where.line or 0]
        assert "tl.load" in marked and "other" not in marked


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("kernel", kernels("right"), ids=ids)
def test_right_kernels_are_accepted_whatever_the_key(kernel: Kernel, key: str, quick: Conditions) -> None:
    """Grading draws other sizes and values than practice."""
    verdict = check_kernel(kernel, replace(quick, key=key, targets=()))
    assert verdict.accepted, verdict.findings


# What is said instead where a key draws values that hide the mistake's own name. These are to become none.
UNDER_SOME_KEYS = {
    "a2_kj_times_qi": "product-of-wrong-shapes",
    "a2_p_divided_in_each_tile": "wrong-values",
    "p5_only_the_new_part_divided": "wrong-values",
}


@pytest.mark.parametrize("kernel", [one for one in kernels("wrong") if not needs_the_compiler(one)], ids=ids)
def test_names_do_not_depend_on_the_key(kernel: Kernel, quick: Conditions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names come of the cases that tell, which take a third of the time. If these do not show it, all are run."""
    for key in KEYS:
        conditions = replace(quick, key=key, targets=())
        with monkeypatch.context() as patched:
            patched.setattr(catalog, "load", lambda id, load=catalog.load: with_telling_cases(load(id)))
            verdict = check_kernel(kernel, conditions)
        if [finding.id for finding in verdict.findings[:1]] != [kernel.findings[0]]:
            verdict = check_kernel(kernel, conditions)
        assert not verdict.accepted
        named = {kernel.findings[0], UNDER_SOME_KEYS.get(kernel.name)}
        assert verdict.findings[0].id in named, (key, verdict.findings)


def with_telling_cases(puzzle: Puzzle) -> Puzzle:
    return replace(puzzle, cases=lambda draw: [one for one in puzzle.cases(draw) if one.informative and not one.once])


@pytest.mark.parametrize("lint", [True, False], ids=["lint-on", "lint-off"])
@pytest.mark.parametrize("kernel", kernels("hostile"), ids=ids)
def test_attacks_fail(kernel: Kernel, lint: bool, sandbox_folder: Path) -> None:
    assert_it_fails(kernel, Conditions(lint=lint))


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("lint", [True, False], ids=["lint-on", "lint-off"])
@pytest.mark.parametrize("servers", ["new", "kept"])
@pytest.mark.parametrize("kernel", kernels("hostile"), ids=ids)
def test_attacks_fail_in_the_cage(kernel: Kernel, servers: str, lint: bool, kept: Host) -> None:
    conditions = Conditions(key="autumn", lint=lint, host=kept if servers == "kept" else Host(kept.cage))
    assert_it_fails(kernel, conditions)
    if servers == "kept" and not lint:  # and the next one has nothing of it
        assert check_kernel(SOLVED, replace(conditions, lint=True)).accepted


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("kernel", [named(f"p1_{name}") for name in UNFILTERED], ids=ids)
def test_the_cage_alone_holds_what_attacks_the_machine(kernel: Kernel, cage: Cage) -> None:
    """The third wall by itself, as on a GPU: no lint, and no filter of the child's own."""
    verdict = check_kernel(kernel, Conditions(key="autumn", lint=False, host=Host(cage), limits=Limits(filter=False)))
    assert verdict.status.value in kernel.expected("Lint off").split(" or "), verdict.findings


def assert_it_fails(kernel: Kernel, conditions: Conditions) -> None:
    allowed = kernel.expected("Lint on" if conditions.lint else "Lint off").split(" or ")
    limits = replace(conditions.limits, cpu_seconds=6, patience=2.0, waiting_seconds=2.0)
    verdict = check_kernel(kernel, replace(conditions, limits=limits))
    assert verdict.status.value in allowed, verdict.findings
    assert verdict.earned == 0
    for finding in verdict.findings:
        words = finding.title + finding.explanation + finding.hint
        assert len(words) < 8000
        assert all(c.isprintable() or c in "\n\t" for c in words)
        assert "Traceback" not in words
