"""Children that are forked warm: the same verdicts, nothing of one submission for the next, whatever happens."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from checker.box.cage.cage import Cage
from checker.box.inside.forkserver import PATIENCE_SECONDS
from checker.box.parent import Box, Limits
from checker.box.warm import Warm
from checker.check import Terms
from checker.course.verdict import Status, Verdict
from checker.report.as_json import as_dict
from tests.conftest import ROOT, SOLUTION, check_kernel, check_path
from tests.kernels import named

pytestmark = pytest.mark.usefixtures("nothing_left")
SOLVED = ROOT / "solutions" / "p1_naive_softmax.py"
SAME = ("p1_naive_softmax", "p7_causal_backward", "p1_no_load_mask", "p3_starts_as_an_integer")
FIRST_LINE = "    row = tl.program_id(0)"


@pytest.fixture
def terms(cage: Cage) -> Terms:
    return Terms(key="autumn", cage=cage, targets=(), lint=False)


def doing(*lines: str) -> str:
    """A right kernel that first does something else."""
    assert FIRST_LINE in SOLUTION
    return SOLUTION.replace(FIRST_LINE, "".join(f"    {line}\n" for line in lines) + FIRST_LINE)


def canonical(verdict: Verdict) -> dict[str, object]:
    made = as_dict(verdict)
    for run in made["runs"]:
        del run["seconds"]
    return made


def servers(warm: Warm) -> dict[str, int]:
    """The processes that hold those that fork."""
    return {
        module.rpartition(".")[2]: server.child.pid
        for module, server in warm._servers.items()
        if not server.closed and server.child is not None
    }


@pytest.mark.parametrize("name", SAME)
def test_the_verdict_is_that_of_a_cold_start(name: str, cage: Cage, warm: Warm) -> None:
    terms, kernel = Terms(key="autumn", cage=cage), named(name)
    assert canonical(check_kernel(kernel, replace(terms, warm=warm))) == canonical(check_kernel(kernel, terms))


def test_one_server_serves_all(cage: Cage) -> None:
    with Warm(cage) as warm:
        for _ in range(3):
            assert check_path(SOLVED, Terms(key="autumn", cage=cage, warm=warm)).accepted
            seen = servers(warm)
            assert set(seen) == {"child", "compiler"}
        assert check_path(SOLVED, Terms(key="autumn", cage=cage, warm=warm)).accepted
        assert servers(warm) == seen
    for pid in seen.values():
        assert not Path(f"/proc/{pid}").exists()


MISCHIEF = [
    # what the next kernel calls, and what judges the accesses
    "import checker.box.inside.memory as memory, triton.language as language, numpy",
    "language.exp = language.core.exp = numpy.exp = lambda x: x * 0",
    "memory.Memory.load = memory.Memory.store = None",
    "def tried(call, *arguments):",
    "    try: call(*arguments)",
    "    except BaseException: pass",
    "import os, signal, subprocess, ctypes",
    "for folder in ('.', '/tmp', '/dev/shm', '/code/checker/box'):",
    "    tried(open, f'{folder}/numpy.py', 'w')",
    "    tried(os.mkdir, f'{folder}/numpy')",
    "tried(subprocess.Popen, ['sleep', '600'])",
    "for pid in os.listdir('/proc'):",
    "    if pid.isdigit() and int(pid) != os.getpid():",
    "        tried(os.kill, int(pid), signal.SIGKILL)",
    "        tried(open, f'/proc/{pid}/mem', 'r+b')",
]


def test_nothing_of_a_submission_is_left_for_the_next(
    terms: Terms, cage: Cage, check_text: Callable[..., Verdict]
) -> None:
    look = doing(
        "import os, gc",
        "files = [f'{place}/{name}' for place in ('.', '/dev/shm') for name in os.listdir(place)]",
        "texts = [one for one in gc.get_objects() if isinstance(one, str) and 'mark of the first' in one]",
        "raise ValueError(f'found: {files} {len(texts)}')",
    )
    with Warm(cage) as warm:
        alone = check_text(look, terms=replace(terms, warm=warm))
        said = alone.findings[0].explanation
        assert "'./submission.py'" in said and "/dev/shm" not in said and said.endswith("] 0")
        before = servers(warm)
        check_text(doing("'mark of the first'", *MISCHIEF), terms=replace(terms, warm=warm))
        assert check_text(look, terms=replace(terms, warm=warm)).findings == alone.findings
        assert check_text(SOLUTION, terms=replace(terms, warm=warm)).accepted
        assert servers(warm) == before


def test_a_file_of_one_child_is_gone_before_the_next(
    terms: Terms, warm: Warm, check_text: Callable[..., Verdict]
) -> None:
    look = doing("import os", "raise ValueError(os.stat('submission.py').st_ino)")
    first, second = (check_text(look, terms=replace(terms, warm=warm)).findings[0].explanation for _ in range(2))
    assert first != second  # made anew, and not overwritten


def test_no_memory_of_a_process_can_be_read(
    terms: Terms, cage: Cage, warm: Warm, check_text: Callable[..., Verdict]
) -> None:
    """The server has seen nothing that is worth reading; all the same."""
    verdict = check_text(
        doing(
            "import os",
            "found = []",
            "for pid in os.listdir('/proc'):",
            "    try:",
            "        with open(f'/proc/{pid}/mem', 'rb'): found.append(pid)",
            "    except OSError: pass",
            "raise ValueError(f'opened: {found}')",
        ),
        terms=replace(terms, warm=warm),
    )
    bubblewrap = "'1'" if cage.tier == "B" else ""  # of the same user, and it knows nothing either
    assert f"opened: [{bubblewrap}]" in verdict.findings[0].explanation


@pytest.mark.parametrize("module", ["child", "compiler"])
def test_a_server_that_was_killed_is_replaced(module: str, cage: Cage) -> None:
    with Warm(cage) as warm:
        terms = Terms(key="autumn", cage=cage, warm=warm)
        assert check_path(SOLVED, terms).accepted
        before = servers(warm)
        os.kill(before[module], signal.SIGKILL)
        assert warm._servers[f"checker.box.inside.{module}"].channel.recv(1) == b""  # all of it is gone
        assert check_path(SOLVED, terms).accepted
        assert servers(warm)[module] != before[module]


def test_a_child_that_was_stopped_takes_its_server_with_it(
    terms: Terms, cage: Cage, check_text: Callable[..., Verdict]
) -> None:
    with Warm(cage) as warm:
        begun = replace(terms, warm=warm, limits=Limits(wall_seconds=2))
        assert check_text(SOLUTION, terms=begun).accepted
        before = servers(warm)
        verdict = check_text(doing("while True: pass"), terms=begun)
        assert verdict.status is Status.TIME_LIMIT
        assert before["child"] not in servers(warm).values()
        assert check_text(SOLUTION, terms=begun).accepted


@pytest.mark.parametrize("text", ["import os\n" * 3, SOLUTION.replace("tl.exp(", "exec("), "def ("])
def test_a_refused_submission_costs_no_server(
    text: str, cage: Cage, terms: Terms, check_text: Callable[..., Verdict]
) -> None:
    """Its child waits for a request that never comes."""
    with Warm(cage) as warm:
        begun = replace(terms, warm=warm, lint=True)
        assert check_text(SOLUTION, terms=begun).accepted
        before = servers(warm)
        started = time.monotonic()
        assert not check_text(text, terms=begun).runs
        assert time.monotonic() - started < PATIENCE_SECONDS
        assert servers(warm) == before


def test_a_server_that_cannot_start_is_our_fault(cage: Cage, tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho no room >&2; exit 1\n")
    broken.chmod(0o755)
    later = Cage(cage.tier, str(broken), cage.slot)
    with Warm(later) as warm, pytest.raises(RuntimeError, match="the box did not start: no room"):
        check_path(SOLVED, Terms(key="autumn", cage=later, warm=warm))


def test_a_server_has_one_child_at_a_time(warm: Warm) -> None:
    with Box(Limits(), cage=warm.cage, warm=warm), pytest.raises(RuntimeError, match="one child at a time"):
        Box(Limits(), cage=warm.cage, warm=warm).__enter__()


def test_without_the_filter_every_submission_has_processes_of_its_own(cage: Cage) -> None:
    with Warm(cage) as warm:
        limits = Limits(filter=False)
        assert check_path(SOLVED, Terms(key="autumn", cage=cage, warm=warm, limits=limits)).accepted
        assert servers(warm) == {}
