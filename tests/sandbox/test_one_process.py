"""A sandbox that is one process: the same verdicts, an end for what does not end, and no points."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from checker.check import Conditions
from checker.course.verdict import Finding
from checker.sandbox import standin
from checker.sandbox.exchange import SandboxFailed
from checker.sandbox.host import Host
from checker.sandbox.one_process import OneProcess
from checker.sandbox.parent import Limits
from tests.conftest import STEMS_OF_KERNELS, check_kernel, sandboxed_processes
from tests.kernels import Kernel, kernels, named

ALONE = Host(alone=True)
TRIED = random.Random(3).sample([k for k in kernels("wrong") if k.puzzle in STEMS_OF_KERNELS], 3)


@pytest.mark.parametrize("kernel", [named("p1_naive_softmax"), *TRIED], ids=lambda kernel: kernel.name)
def test_verdicts_are_those_of_processes(kernel: Kernel, quick: Conditions) -> None:
    """But for the last digits of a product, which depend on where in memory its factors lie, and the example."""
    limits = Limits()
    alone = check_kernel(kernel, Conditions(host=ALONE, limits=limits))
    usual = check_kernel(kernel, Conditions(host=quick.host, limits=limits, targets=()))

    def told(found: Finding) -> Finding:
        return replace(found, examples=(), error_map=None, where=replace(found.where, index=None))

    one, other = (list(map(told, verdict.findings)) for verdict in (alone, usual))
    assert (alone.status, one) == (usual.status, other)
    kept, lost = ([(each.name, each.passed, each.case) for each in of.properties] for of in (alone, usual))
    assert kept == lost
    assert alone.sandbox.startswith("none: ") and not alone.compiled


@pytest.mark.parametrize(
    ("name", "finding"), [("p1_long_loop", "time-limit"), ("p1_output_flood_by_the_rules", "output-flood")]
)
def test_what_does_not_end_is_ended_and_its_case_is_named(name: str, finding: str, sandbox_folder: Path) -> None:
    verdict = check_kernel(named(name), Conditions(host=ALONE, limits=Limits(output_bytes=1 << 14)))
    [found] = verdict.findings
    assert found.id == finding and found.where.case
    assert sandboxed_processes(sandbox_folder) == []


def test_a_process_that_is_gone_is_told(sandbox_folder: Path) -> None:
    gone = check_kernel(named("p1_exit_early"), Conditions(host=ALONE, lint=False))
    assert [finding.id for finding in gone.findings] == ["no-output"]


def test_one_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch, sandbox_folder: Path) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(SandboxFailed, match="No module named"), OneProcess(Limits()) as sandbox:
        sandbox.run("", [], [], [])


def test_it_is_for_machines_without_triton_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert not Host().alone
    monkeypatch.setattr(standin, "CARRIED", tmp_path)
    standin.needed.cache_clear()
    assert not Host().alone  # Triton is here
    monkeypatch.setattr(standin, "find_spec", lambda name: None)
    standin.needed.cache_clear()
    assert Host().alone
    standin.needed.cache_clear()


@pytest.mark.parametrize("more", [{"key": "autumn"}, {"device": "cuda"}], ids=str)
def test_it_gives_no_points(more: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="only practice on the interpreter"):
        Conditions(host=ALONE, **more)
