"""Right kernels pass; wrong ones are refused by name; hostile ones get nothing, lint or no lint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checker import catalog
from checker.check import Conditions
from checker.course.misconception import Writes
from checker.course.puzzle import Puzzle
from checker.judge import kernel as judged
from checker.judge import requests
from checker.judge.models import Models
from checker.judge.notes import Note
from checker.judge.values import name_wrong
from checker.judge.wrong import Wrong
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
def test_wrong_kernels_are_refused_by_name(kernel: Kernel, quick: Conditions, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what earns points is compiled: what the compiler says of it would be a finding beside these.

    A name by values holds in each launch that the judge has compared: there its sign gives what the kernel wrote.
    """
    unlike: list[str] = []

    def compared(puzzle: Puzzle, items: list[Wrong], *others: Any) -> list[Note]:
        notes = name_wrong(puzzle, items, *others)
        unlike.extend(unlike_its_names(puzzle, items, notes))
        return notes

    monkeypatch.setattr(judged, "name_wrong", compared)
    assert_refused_by_name(kernel, quick)
    known = "".join(where for where, names in UNLIKE_ITS_NAME.items() if kernel.name in names.split())
    expected = bool(known) == bool(unlike) or kernel.name == ON_SOME_MACHINES
    assert kernel.puzzle in NOT_HELD or (expected and all(one in known for one in unlike)), (
        f"in {unlike} it wrote something else than the sign of its name: mend the sign, or list it in UNLIKE_ITS_NAME"
    )


def unlike_its_names(puzzle: Puzzle, items: list[Wrong], notes: list[Note]) -> list[str]:
    """Return the titles of telling launches in which no sign that names the kernel gives what it wrote."""
    models, signs = Models(puzzle, items), []
    for said in ((note.finding.id, note.finding.title, note.finding.explanation) for note in notes):
        ideas = [one for one in puzzle.misconceptions if (one.id, one.title, one.explanation) == said]
        if own := [sign for one in ideas for sign in one.signs if isinstance(sign, Writes)]:
            signs.append(max(own, key=lambda sign: sum(models.explains(sign, item) for item in items)))
    telling = [item for item in items if item.case.informative and not item.undefined] if signs else []
    return [one.case.title for one in telling if not any(models.explains(sign, one) for sign in signs)]


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


# Kernels by the launches in which they write something else than their name says, in some as NumPy rounds. There a sum,
# P or dS is rounded, overflows or underflows as no formula does; a row begins with -inf; or heads are of sequences.
UNLIKE_ITS_NAME = {
    "every kind of row": "p1_sums_x w2_summed_as_integers",
    "few keys": "p6_p_rounded b2_p_rounded",
    "fp16": "a3_max_not_kept p5_max_overwritten_too_early p5_whole_tiles_only",
    "fp16, fp16, causal, a bias as a mask": "b1_product_in_half",
    "fp16, small V": "p5_keys_and_values_exchanged",
    "every kind of query": "b2_scores_dropped",
    "every kind of query, fp16": "p5_last_keys_only_too",
    "split: every kind of query, split: a wide head": "b3_parts_in_half",
    "dbias: every kind of query, dbias: fp16": "b1_dbias_delta_outside",
    "dropout_dk_dv: every kind of query, dropout_dk_dv: fp16": "b2_delta_of_one_tile",
    "dropout_dk_dv: p is 0": "b2_tile_transposed",
    "dq: every kind of query, dq: fp16": "p7_base_two_for_s_only p7_dq_with_v p7_scores_not_scaled",
    "dk_dv: fp16, large dP": "p7_dv_from_ds",
    "dk_dv: more queries than keys": "p7_p_transposed_without_row_mask",
    "beginning with -inf": "p3_first_element_for_maximum p4_first_element_for_maximum",
    "heads side by side in memory, rows and heads apart in memory": "a2_one_head",
    "K transposed in memory": "a2_whole_tiles_only",
}
ON_SOME_MACHINES = "b1_dbias_delta_outside"  # elsewhere its name holds in all of them
NOT_HELD = ("a4", "c1")  # puzzles in PyTorch whose functions were not compared yet
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
