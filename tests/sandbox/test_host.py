"""A host that keeps its servers: the same verdicts, nothing of one submission for the next, whatever happens."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from checker.check import Conditions
from checker.course.verdict import Status, Verdict
from checker.report.as_json import as_dict
from checker.sandbox.cage.cage import Cage
from checker.sandbox.compiling import Compiler, Job
from checker.sandbox.exchange import Ending, Exchange
from checker.sandbox.host import Host, Server
from checker.sandbox.parent import Limits, Sandbox
from tests.conftest import ROOT, SOLUTION, check_kernel, check_path
from tests.kernels import named

pytestmark = pytest.mark.usefixtures("nothing_left")
SOLVED = ROOT / "solutions" / "p1_naive_softmax.py"
SAME = ("p1_naive_softmax", "p7_causal_backward", "p1_no_load_mask", "p3_starts_as_an_integer")
FIRST_LINE = "    row = tl.program_id(0)"


@pytest.fixture
def conditions(cage: Cage) -> Conditions:
    return Conditions(key="autumn", host=Host(cage), targets=(), lint=False)


def doing(*lines: str) -> str:
    """A right kernel that first does something else."""
    assert FIRST_LINE in SOLUTION
    return SOLUTION.replace(FIRST_LINE, "".join(f"    {line}\n" for line in lines) + FIRST_LINE)


def canonical(verdict: Verdict) -> dict[str, object]:
    made = as_dict(verdict)
    for run in made["runs"]:
        del run["seconds"]
    return made


def servers(host: Host) -> dict[str, int]:
    """The processes that hold the servers that wait."""
    return {kind: one.process.pid for kind, idle in host._idle.items() for one in idle if not one.gone}


@pytest.mark.parametrize("name", SAME)
def test_the_verdict_is_that_of_a_cold_start(name: str, cage: Cage, kept: Host) -> None:
    conditions, kernel = Conditions(key="autumn", host=Host(cage)), named(name)
    assert canonical(check_kernel(kernel, replace(conditions, host=kept))) == canonical(
        check_kernel(kernel, conditions)
    )


def test_one_server_serves_all(cage: Cage) -> None:
    with Host(cage, kept=True) as kept:
        for _ in range(3):
            assert check_path(SOLVED, Conditions(key="autumn", host=kept)).accepted
            seen = servers(kept)
            assert set(seen) == {"interpreter", "compiler"}
        assert check_path(SOLVED, Conditions(key="autumn", host=kept)).accepted
        assert servers(kept) == seen
    for pid in seen.values():
        assert not Path(f"/proc/{pid}").exists()


MISCHIEF = [
    # what the next kernel calls, and what judges the accesses
    "import checker.sandbox.inside.memory as memory, triton.language as language, numpy",
    "language.exp = language.core.exp = numpy.exp = lambda x: x * 0",
    "memory.Memory.load = memory.Memory.store = None",
    "def tried(call, *arguments):",
    "    try: call(*arguments)",
    "    except BaseException: pass",
    "import os, signal, subprocess, ctypes",
    "for folder in ('.', '/tmp', '/dev/shm', '/code/checker/sandbox'):",
    "    tried(open, f'{folder}/numpy.py', 'w')",
    "    tried(os.mkdir, f'{folder}/numpy')",
    "tried(subprocess.Popen, ['sleep', '600'])",
    "for pid in os.listdir('/proc'):",
    "    if pid.isdigit() and int(pid) != os.getpid():",
    "        tried(os.kill, int(pid), signal.SIGKILL)",
    "        tried(open, f'/proc/{pid}/mem', 'r+b')",
]


def test_nothing_of_a_submission_is_left_for_the_next(
    conditions: Conditions, cage: Cage, check_text: Callable[..., Verdict]
) -> None:
    look = doing(
        "import os, gc",
        "files = [f'{place}/{name}' for place in ('.', '/dev/shm') for name in os.listdir(place)]",
        "texts = [one for one in gc.get_objects() if isinstance(one, str) and 'mark of the first' in one]",
        "raise ValueError(f'found: {files} {len(texts)}')",
    )
    with Host(cage, kept=True) as kept:
        alone = check_text(look, conditions=replace(conditions, host=kept))
        # Where the project lies in /tmp, as a fresh clone may, the folder that it lies in is seen by its name.
        assert re.search(r"found: \[('\./[^']+')?\] 0$", alone.findings[0].explanation)
        before = servers(kept)
        check_text(doing("'mark of the first'", *MISCHIEF), conditions=replace(conditions, host=kept))
        assert check_text(look, conditions=replace(conditions, host=kept)).findings == alone.findings
        assert check_text(SOLUTION, conditions=replace(conditions, host=kept)).accepted
        assert servers(kept) == before


def test_a_file_of_one_request_is_gone_before_the_next(kept: Host) -> None:
    look = "int('made: %d' % __import__('os').stat('submission.py').st_ino)"
    source = f"@triton.jit\ndef kernel(x_ptr, look={look}):\n    pass\n"  # runs if nothing has linted it
    job, seen = Job("kernel", "sm_90", {"x_ptr": "*fp32"}, {}), set()
    for _ in range(2):
        with Compiler(source, [job], Limits(), kept, cached=False) as compiler:
            [result] = compiler.results()
        assert result.error is not None and "made: " in result.error.message
        seen.add(result.error.message)
    assert len(seen) == 2  # made anew, and not overwritten


def test_no_memory_of_a_process_can_be_read(
    conditions: Conditions, cage: Cage, kept: Host, check_text: Callable[..., Verdict]
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
        conditions=replace(conditions, host=kept),
    )
    bubblewrap = "'1'" if cage.tier == "B" else ""  # of the same user, and it knows nothing either
    assert f"opened: [{bubblewrap}]" in verdict.findings[0].explanation


@pytest.mark.parametrize("module", ["interpreter", "compiler"])
def test_a_server_that_was_killed_is_replaced(module: str, cage: Cage) -> None:
    with Host(cage, kept=True) as kept:
        conditions = Conditions(key="autumn", host=kept)
        assert check_path(SOLVED, conditions).accepted
        before = servers(kept)
        os.kill(before[module], signal.SIGKILL)
        while before[module] in servers(kept).values():
            time.sleep(0.01)
        assert check_path(SOLVED, conditions).accepted
        assert servers(kept)[module] != before[module]


def test_a_child_that_was_stopped_takes_its_server_with_it(
    conditions: Conditions, cage: Cage, check_text: Callable[..., Verdict]
) -> None:
    with Host(cage, kept=True) as kept:
        begun = replace(conditions, host=kept, limits=Limits(waiting_seconds=2.0))
        assert check_text(SOLUTION, conditions=begun).accepted
        before = servers(kept)
        verdict = check_text(doing("import time; time.sleep(600)"), conditions=begun)
        assert verdict.status is Status.CRASHED
        assert before["interpreter"] not in servers(kept).values()
        assert check_text(SOLUTION, conditions=begun).accepted


@pytest.mark.parametrize("text", ["import os\n" * 3, SOLUTION.replace("tl.exp(", "exec("), "def ("])
def test_a_refused_submission_costs_no_server(
    text: str, cage: Cage, conditions: Conditions, check_text: Callable[..., Verdict]
) -> None:
    """It is never asked."""
    with Host(cage, kept=True) as kept:
        begun = replace(conditions, host=kept, lint=True)
        assert check_text(SOLUTION, conditions=begun).accepted
        before = servers(kept)
        assert not check_text(text, conditions=begun).runs
        assert servers(kept) == before


def test_a_server_that_cannot_start_is_our_fault(cage: Cage, tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho no room >&2; exit 1\n")
    broken.chmod(0o755)
    later = Cage(cage.tier, str(broken), cage.slot)
    with Host(later, kept=True) as kept, pytest.raises(RuntimeError, match="the sandbox did not start: no room"):
        check_path(SOLVED, Conditions(key="autumn", host=kept))


def test_who_asks_for_two_servers_at_a_time_gets_two(cage: Cage) -> None:
    with Host(cage, kept=True) as kept:
        with Sandbox(Limits(), host=kept) as first, Sandbox(Limits(), host=kept) as second:
            assert first.server is not second.server
        with Sandbox(Limits(), host=kept) as third:
            assert third.server in (first.server, second.server)


def test_a_server_has_one_request_at_a_time() -> None:
    with Host().server("compiler") as server, Exchange(server, b""), pytest.raises(RuntimeError, match="one request"):
        Exchange(server, b"")


def test_a_server_that_never_says_that_nothing_is_left_is_not_waited_for() -> None:
    """As one that was stopped: its runner has ended, and what that has left keeps the pipes open."""

    class Stuck(Server):
        def __init__(self) -> None:
            self.versions, self.busy = {"triton": "3"}, False
            self.process = SimpleNamespace(pid=os.getpid())
            self.channel, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    server = Stuck()
    server.theirs.send(b'{"runner": 0, "code": 0, "cpu_seconds": 0.1}')
    with server.channel, server.theirs, Exchange(server, b"x") as exchange:
        [one] = exchange.received(0.2, 1, 1)
    assert one.ending(1, harmless=True) == (Ending.FINISHED, 0)
    assert server.busy  # so it is ended, and serves no other


def test_without_the_filter_every_submission_has_processes_of_its_own(cage: Cage) -> None:
    with Host(cage, kept=True) as kept:
        limits = Limits(filter=False)
        assert check_path(SOLVED, Conditions(key="autumn", host=kept, limits=limits)).accepted
        assert servers(kept) == {}


def test_what_is_begun_serves_the_first_and_ends_unless_it_was_asked_for() -> None:
    host = Host()
    with host.begun("interpreter"):
        [pid] = servers(host).values()
        with Sandbox(Limits(), host=host) as first, Sandbox(Limits(), host=host) as second:
            assert first.server.process.pid == pid != second.server.process.pid
    with host.begun("interpreter"):
        [begun] = host._idle["interpreter"]
    assert begun.process.poll() is not None and servers(host) == {}
