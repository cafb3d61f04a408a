"""The sandbox from outside: what comes back is believed only if it fits what was asked."""

from __future__ import annotations

import os
import re
import struct
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker.check import Conditions, running
from checker.course.status import ExitStatus
from checker.course.verdict import Status, Verdict
from checker.learner.practice import fault
from checker.sandbox.exchange import Ending, TooBusy
from checker.sandbox.inside import seccomp
from checker.sandbox.parent import Limits, Sandbox, SandboxResult
from checker.sandbox.processes import Sleep, Started
from checker.sandbox.protocol import wire
from checker.sandbox.protocol.launch import Launch, TensorArgument
from checker.sandbox.protocol.records import BARRIER, BLOCK, LOAD, MEMORY, OPERATION, STORE, TOO_MUCH_WORK
from checker.sandbox.protocol.results import LaunchResult, parse
from tests.conftest import ROOT, SOLUTION, check_path, killing, ran

SOURCE = SOLUTION.replace("import", "# import")  # the sandbox provides triton and tl itself
KERNEL = "naive_softmax_kernel"


def launch(rows: int = 2, n: int = 5) -> Launch:
    x = np.arange(rows * n, dtype=np.float32).reshape(rows, n) / n
    tensors = {
        "x_ptr": TensorArgument(x, (n, 1)),
        "y_ptr": TensorArgument(np.full((rows, n), np.nan, np.float32), (n + 3, 1)),
    }
    scalars = {"x_row_stride": ("int32", n), "y_row_stride": ("int32", n + 3), "n_cols": ("int32", n)}
    return Launch(KERNEL, (rows, 1, 1), tensors, dict(scalars), {"BLOCK_SIZE": 8})


def answers(source: str, limits: Limits | None = None) -> tuple[list[Ending], list[bytes], list[Launch]]:
    launches = [launch(), launch(3, 8)]
    passes = [[(0, range(2)), (1, range(3))], [(1, [2, 0, 1])]]
    with Sandbox(limits or Limits()) as sandbox:
        received = sandbox.received(source, [KERNEL], launches, passes)
        assert sandbox.server.versions["triton"]
        endings = [one.ending(sandbox.limits.cpu_seconds, sandbox.harmless)[0] for one in received]
        return endings, [bytes(one.answer) for one in received], launches


@pytest.fixture(scope="module")
def right() -> tuple[bytes, list[Launch]]:
    endings, data, launches = answers(SOURCE)
    assert endings == [Ending.FINISHED] * 2
    return data[0], launches


def test_launches_come_back_computed_and_logged(right: tuple[bytes, list[Launch]]) -> None:
    data, launches = right
    parsed = parse(data, launches, [0, 1])
    assert parsed.malformed is None
    assert list(parsed.results) == [0, 1]
    for number, result in parsed.results.items():
        x = launches[number].tensors["x_ptr"].values.astype(float)
        e = np.exp(x)
        assert np.allclose(result.tensors["y_ptr"], e / e.sum(axis=1, keepdims=True))
        assert np.array_equal(result.tensors["x_ptr"], launches[number].tensors["x_ptr"].values)
        accesses = np.isin(result.log.kind, (LOAD, STORE))
        assert result.log.program[accesses].tolist() == [p for p in range(len(x)) for _ in range(2)]
        assert set(result.log.line[accesses].tolist()) == {
            n for n, text in enumerate(SOURCE.split("\n"), 1) if "tl.load" in text or "tl.store" in text
        }
        assert (result.log.distinct[accesses] == x.shape[1]).all()


@settings(max_examples=300)
@given(st.data())
def test_damaged_answers_are_refused_or_change_only_what_they_may(
    right: tuple[bytes, list[Launch]], data: st.DataObject
) -> None:
    """Whatever bytes come back, parsing ends, raises nothing, and keeps to what was asked for."""
    good, launches = right
    damaged = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        match data.draw(st.sampled_from(["flip", "cut", "insert", "repeat"])):
            case "flip":
                damaged[at] ^= data.draw(st.integers(1, 255))
            case "cut":
                del damaged[at : at + data.draw(st.integers(1, 200))]
            case "insert":
                damaged[at:at] = data.draw(st.binary(max_size=20))
            case "repeat":
                damaged += damaged[at:]
        if not damaged:
            break
    parsed = parse(bytes(damaged), launches, [0, 1])
    for number, result in parsed.results.items():
        _fits(result, launches[number])


def _fits(result: LaunchResult, asked: Launch) -> None:
    for name, argument in asked.tensors.items():
        assert result.tensors[name].shape == argument.values.shape
        assert result.tensors[name].dtype == argument.values.dtype
    assert result.log.distinct.sum() == result.log.elements.size
    assert ((result.log.program >= 0) & (result.log.program < asked.programs)).all()
    extent = [list(asked.tensors.values())[t].values.size for t in result.log.tensor]
    assert (result.log.elements < np.repeat(extent, result.log.distinct)).all()


ENDLESS = SOLUTION.replace("    row =", "    n = sum(iter(int, 1))\n    row =", 1)  # nothing of it is counted


@pytest.fixture
def check_killed(monkeypatch: pytest.MonkeyPatch, check_text: Callable[..., Verdict]) -> Callable[[bool], Verdict]:
    """Check a kernel whose sandbox is killed meanwhile: its base, or one of its runners."""

    def run(runner: bool) -> Verdict:
        class Killed(Sandbox):
            def run(self, *arguments: Any) -> SandboxResult:
                with killing(self.server.process.pid, runner):
                    return super().run(*arguments)

        monkeypatch.setattr(running, "Sandbox", Killed)
        return check_text(ENDLESS, conditions=Conditions(targets=(), lint=False, limits=Limits(patience=2.0)))

    return run


@pytest.mark.parametrize("runner", [False, True], ids=["base", "runner"])
def test_a_sandbox_that_is_killed_from_outside_is_our_fault(
    runner: bool, check_killed: Callable[[bool], Verdict]
) -> None:
    """As by the system when memory is short. Under the filter a submission can kill nothing, itself included."""
    with pytest.raises(RuntimeError, match="killed from outside"):
        check_killed(runner)


def test_without_the_filter_a_submission_may_have_done_it_itself(
    monkeypatch: pytest.MonkeyPatch, check_killed: Callable[[bool], Verdict]
) -> None:
    monkeypatch.setattr("checker.sandbox.parent.seccomp.available", lambda: False)
    assert "crashed" in {finding.id for finding in check_killed(True).findings}


def test_deaf_to_the_time_limit_is_not_killed_from_outside() -> None:
    """The kernel sends SIGKILL, too: a second after the limit that was ignored."""
    limits = Limits(patience=0.5, cpu_seconds=2)
    verdict = check_path(ROOT / "tests" / "hostile" / "p1_deaf.py", Conditions(targets=(), lint=False, limits=limits))
    assert verdict.status is Status.TIME_LIMIT


def test_answers_in_another_order_are_malformed(right: tuple[bytes, list[Launch]]) -> None:
    data, launches = right
    assert parse(data, launches, [1, 0]).malformed is not None
    assert parse(data, launches, [0]).malformed is not None
    assert parse(data + b"x", launches, [0, 1]).malformed is not None


@pytest.mark.parametrize(
    "odd", [{"again": 2.0}, {"again": [0]}, {"again": False}, {"outside": []}, {"outside": {}}], ids=str
)
def test_odd_words_are_no_fault_of_the_checker(odd: dict[str, Any], right: tuple[bytes, list[Launch]]) -> None:
    """A fault of the checker is tried again and never scored: a submission would like to cause one."""
    data, launches = right
    header, buffers = next(wire.unpack(data))
    own: list[bytes] = [bytes(b) for b in buffers]
    copies = 3 if "again" in odd else 1
    forged = wire.pack(header | odd, [*own[:-2] * copies, *own[-2:]])
    parsed = parse(forged, launches, [0])
    assert parsed.malformed is not None if "again" in odd else parsed.results[0].outside is None


LAUNCHED = {"kernel": 0, "line": 1, "signature": {}, "constexprs": {}, "multiples": [], "options": {}}


@pytest.mark.parametrize(
    "launched",
    [
        *(None, {}, 1, [1], [[]], "x", [{}]),
        *([LAUNCHED | odd] for odd in ({"kernel": "0"}, {"line": 1 << 63}, {"multiples": {}}, {"multiples": [1]})),
        *([LAUNCHED | odd] for odd in ({"options": {"x": 1.0}}, {"signature": {"x": 1}}, {"constexprs": {"x": None}})),
    ],
    ids=str,
)
def test_launches_of_another_form_are_malformed(launched: object, right: tuple[bytes, list[Launch]]) -> None:
    data, launches = right
    header, buffers = next(wire.unpack(data))
    own = [bytes(b) for b in buffers]
    assert parse(wire.pack(header | {"launched": launched}, own), launches, [0]).malformed
    assert not parse(wire.pack(header | {"launched": [LAUNCHED]}, own), launches, [0]).malformed


@pytest.mark.parametrize(
    "moved", [None, [], {"nothing": [1, 2]}, {"x": [1]}, {"x": [1, -2]}, {"x": [1, 2.0]}, {"x": "ab"}]
)
def test_what_was_moved_is_two_numbers_for_tensors(moved: object, right: tuple[bytes, list[Launch]]) -> None:
    data, launches = right
    header, buffers = next(wire.unpack(data))
    own, tensor = [bytes(b) for b in buffers], next(iter(launches[0].tensors))
    odd: Any = (
        {tensor if name == "x" else name: one for name, one in moved.items()} if isinstance(moved, dict) else moved
    )
    assert parse(wire.pack(header | {"moved": odd}, own), launches, [0]).malformed
    assert parse(wire.pack(header | {"moved": {tensor: [1, 2]}}, own), launches, [0]).results[0].moved == {
        tensor: (1, 2)
    }


def test_many_empty_buffers_take_no_memory(right: tuple[bytes, list[Launch]]) -> None:
    """Eight bytes announce a buffer; an object for it takes two hundred."""
    count = 1_000_000
    forged = struct.pack("<II", 2, count) + bytes(8 * count) + b"{}"
    tracemalloc.start()
    try:
        assert parse(forged, right[1], [0, 1]).malformed is not None
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_what_only_a_gpu_may_say_is_not_believed_of_the_interpreter(right: tuple[bytes, list[Launch]]) -> None:
    """A GPU keeps no log and may leave a huge launch out: a submission would like to say so of itself."""
    data, launches = right
    frames = [({**header, "on_gpu": True, "left_out": MEMORY}, buffers) for header, buffers in wire.unpack(data)]
    forged = b"".join(wire.pack(header, [bytes(b) for b in buffers]) for header, buffers in frames)
    for result in parse(forged, launches, [0, 1]).results.values():
        assert not result.on_gpu and not result.left_out
    assert all(result.left_out for result in parse(forged, launches, [0, 1], on_gpu=True).results.values())
    assert all(one.small for one in launches)
    wide = replace(launches[0].tensors["x_ptr"], strides=(1 << 28, 1))
    assert not replace(launches[0], tensors={"x_ptr": wide}).small


def test_a_flood_is_the_only_news(sandbox_folder: Path) -> None:
    """Both runners are ended because one prints too much; the other has not crashed."""
    verdict = check_path(ROOT / "tests" / "hostile" / "p1_output_flood_by_the_rules.py", Conditions())
    assert [finding.id for finding in verdict.findings] == ["output-flood"]


def test_frames_survive_the_wire() -> None:
    frames = [({"a": 1}, [b"", b"xyz"]), ({}, []), ({"n": float("inf")}, [b"\0" * 100])]
    data = b"".join(wire.pack(header, buffers) for header, buffers in frames)
    assert [(header, [bytes(b) for b in buffers]) for header, buffers in wire.unpack(data)] == frames


def test_a_length_that_lies_takes_no_memory() -> None:
    lie = (2**32 - 1).to_bytes(4, "little") * 2 + b"{}"
    with pytest.raises(wire.MalformedFrame):
        list(wire.unpack(lie))


def test_barriers_are_logged_where_they_stand() -> None:
    barrier = SOURCE.replace("    numerator =", "    tl.debug_barrier()\n    numerator =", 1)
    _, data, launches = answers(barrier)
    log = parse(data[0], launches, [0, 1]).results[0].log
    kept = log.kind != BLOCK
    assert log.kind[kept].tolist() == [LOAD, BARRIER, STORE] * 2
    line = next(n for n, text in enumerate(barrier.split("\n"), 1) if "debug_barrier" in text)
    assert log.line[kept][1] == line


def test_atomics_are_refused_by_the_sandbox_itself() -> None:
    _, data, launches = answers(SOURCE.replace("    numerator =", "    tl.atomic_add(y_ptr, 1.0)\n    numerator =", 1))
    error = parse(data[0], launches, [0, 1]).results[0].error
    assert error is not None and "atomic" in error.message


ENDLESS_LOOP = SOURCE.replace("    row = ", "    for step in range(0, 1 << 40):\n        pass\n    row = ")
PLENTY = 1 << 60


def test_too_much_work_ends_a_launch_with_its_loop_and_then_the_pass() -> None:
    slow = SOURCE.replace(
        "    row = ",
        "    for turn in range(0, n_cols - 5):\n        for step in range(0, 1 << 40):\n            pass\n    row = ",
    )
    line = next(n for n, text in enumerate(slow.split("\n"), 1) if "1 << 40" in text)
    endings, data, launches = answers(slow)
    assert endings == [Ending.FINISHED] * 2
    first, second = parse(data[0], launches, [0, 1]).results.values()
    assert first.error is None and second.error is not None
    assert (second.error.type, second.error.line) == (TOO_MUCH_WORK, line)
    turns = launches[1].most_work / (2 * OPERATION + 1)  # the counter of a turn is an operation, too
    assert 0.99 * turns < int(second.error.message) < turns
    _, data, launches = answers(ENDLESS_LOOP)
    assert list(parse(data[0], launches, [0, 1]).results) == [0]


LOOPS = {
    "while": "    while True:\n        pass\n",
    "static_range": "    for step in tl.static_range(0, 1 << 40):\n        pass\n",
    "nested": "    for i in range(0, 1 << 20):\n        for j in tl.static_range(0, 5):\n            pass\n",
    "blocks": "    for step in range(0, 1 << 40):\n        block = tl.zeros((256, 256), tl.float32) + 1.0\n",
    "products": "    a = tl.zeros((64, 64), tl.float32)\n    for i in range(0, 1 << 40):\n        c = tl.dot(a, a)\n",
    "loads": "    for step in range(0, 1 << 40):\n        x = tl.load(x_ptr + tl.arange(0, 4))\n",
}


@pytest.mark.parametrize("name", LOOPS)
def test_every_kind_of_loop_is_counted(name: str) -> None:
    """What it does is weighed: with large blocks it gets fewer turns."""
    source = SOURCE.replace("    row = ", f"{LOOPS[name]}    row = ")
    _, data, launches = answers(source)
    error = parse(data[0], launches, [0]).results[0].error
    assert error is not None and error.type == TOO_MUCH_WORK
    assert source.split("\n")[error.line - 1].strip().startswith(("for", "while"))
    turns = int(error.message) * OPERATION / launches[0].most_work
    assert turns < {"blocks": 0.04, "products": 0.04, "loads": 0.2}.get(name, 1.0)
    assert turns > {"blocks": 0.01, "products": 0.01, "loads": 0.05}.get(name, 0.4)


def test_all_launches_of_a_pass_may_do_a_quarter_of_what_each_may() -> None:
    """One that does a little less than it may is followed by three of its kind, and not by a fourth."""
    turns = int(0.9 * launch().most_work / (2 * OPERATION))
    source = SOURCE.replace("    row = ", f"    for step in range(0, {turns}):\n        pass\n    row = ")
    launches = [launch(rows=1) for _ in range(20)]
    with Sandbox(Limits()) as sandbox:
        [one] = sandbox.received(source, [KERNEL], launches, [[(n, range(1)) for n in range(20)]])
    results = list(parse(bytes(one.answer), launches, list(range(20))).results.values())
    assert len(results) == 6 and [r.error is None for r in results] == [True] * 5 + [False]


UNCOUNTED = SOURCE.replace("    row = ", "    n = min(iter(int, 1))\n    row = ")
ROUNDS = """    for step in range(0, 40):
        for counted in range(0, 2100):
            pass
        n = 3 ** 8_000_000 % 7
    row = """


def test_what_counts_nothing_is_ended_by_its_own_clock(sandbox_folder: Path) -> None:
    endings, _, _ = answers(UNCOUNTED, Limits(patience=0.5))
    assert endings == [Ending.CPU_TIME] * 2


def test_time_that_nothing_explains_adds_up(sandbox_folder: Path) -> None:
    """However much is counted in between."""
    one = replace(launch(rows=1), most_work=PLENTY)
    with Sandbox(Limits(patience=2.5)) as sandbox:
        result = sandbox.run(SOURCE.replace("    row = ", ROUNDS), [KERNEL], [one], [[(0, range(1))]]).passes[0]
    error = result.results[0].error if 0 in result.results else None
    assert result.ending is Ending.CPU_TIME or (error is not None and error.type == "TooMuchWork"), result


def test_that_clock_stands_still_as_long_as_something_is_counted(sandbox_folder: Path) -> None:
    """This takes longer than its patience on any machine: a turn of the loop costs microseconds."""
    turns = SOURCE.replace("    row = ", "    for step in range(0, 300_000):\n        pass\n    row = ")
    one = replace(launch(rows=1), most_work=PLENTY)
    with Sandbox(Limits(patience=0.2)) as sandbox:
        result = sandbox.run(turns, [KERNEL], [one], [[(0, range(1))]])
    assert result.passes[0].ending is Ending.FINISHED and result.passes[0].results[0].error is None


@pytest.mark.parametrize("limits", [Limits(wall_seconds=0.5), Limits(cpu_seconds=1)], ids=["wall", "cpu"])
def test_who_may_still_work_at_the_machines_limits_is_not_to_blame(limits: Limits, sandbox_folder: Path) -> None:
    with pytest.raises(TooBusy, match="What your code may do takes seconds"), Sandbox(limits) as sandbox:
        sandbox.run(ENDLESS_LOOP, [KERNEL], [replace(launch(), most_work=PLENTY)], [[(0, range(2))]])
    verdict = fault("p1", TooBusy("In 600 s …"))
    assert (verdict.status, verdict.exit_status, verdict.earned) == (Status.TOO_BUSY, ExitStatus.FAULT, 0)
    assert "not your code's fault" in verdict.findings[0].hint


ASLEEP = SOURCE.replace("    row = ", "    import time\n    while True:\n        time.sleep(0.1)\n    row = ")


def test_who_only_sleeps_is_ended(sandbox_folder: Path) -> None:
    """Also in short naps, of which each is counted."""
    endings, _, _ = answers(ASLEEP, Limits(waiting_seconds=0.5))
    assert Ending.WAITED in endings


def test_who_would_like_to_compute_does_not_sleep() -> None:
    """Four processes share one processor, so each waits for it most of the time; one more has nothing to do."""
    loop = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nwhile True: pass"
    parent = "import subprocess, sys; all = [subprocess.Popen([sys.executable, '-c', text]) for text in sys.argv[1:]]; "
    parent += "[one.wait() for one in all]"
    busy, idle = (
        Started([sys.executable, "-c", parent, *texts], start_new_session=True)
        for texts in ([loop] * 4, ["import time; time.sleep(600)"])
    )
    try:
        asleep = {one: Sleep(one.pid) for one in (busy, idle)}
        end = time.monotonic() + 300
        while asleep[idle].seconds() < 1.0 and time.monotonic() < end:
            assert asleep[busy].seconds() < 0.6
            time.sleep(0.05)
        assert asleep[idle].seconds() >= 1.0
        asleep[idle].disturbed()
        assert asleep[idle].seconds() == 0.0
    finally:
        busy.end()
        idle.end()


def test_without_the_filter_strays_are_still_ended(sandbox_folder: Path) -> None:
    """The second wall alone: processes that leave session and group, where nothing forbids to start them."""
    stray = (
        "    import os, time\n    if os.fork() == 0:\n        os.setsid()\n        os.fork()\n        time.sleep(600)\n"
    )
    if os.geteuid() != 0:
        pytest.skip("an ordinary user's process limit of 0 already forbids it")
    answers(SOURCE.replace("    row = ", stray + "    row = "), Limits(filter=False))


def test_the_filter_is_in_force_on_this_machine() -> None:
    """All further tests of attacks rest on it; where it is missing they must not pass silently."""
    if not seccomp.available():
        if os.environ.get("REQUIRE_ALL_TOOLS"):
            pytest.fail("no system-call filters on this machine, and REQUIRE_ALL_TOOLS is set")
        pytest.skip("no system-call filters on this machine")
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from checker.sandbox.inside import seccomp\n"
        "import os, socket, threading, time\n"
        "fds = os.pipe()\n"
        "assert seccomp.enter()\n"
        "def denied(call, *a):\n"
        "    try: call(*a)\n"
        "    except (PermissionError, RuntimeError): return\n"
        "    raise SystemExit(f'{call} was allowed')\n"
        "denied(os.fork); denied(os.kill, os.getppid(), 0); denied(socket.socket); denied(os.setsid)\n"
        "denied(open, '/tmp/never-made', 'w'); denied(os.mkdir, '/tmp/never-made'); denied(os.unlink, '/tmp/x')\n"
        "denied(os.execv, '/bin/true', ['true']); denied(os.symlink, 'a', '/tmp/never-made')\n"
        "denied(threading.Thread(target=time.sleep, args=(0,)).start)\n"
        "import fcntl; r, w = fds\n"
        "denied(fcntl.fcntl, r, fcntl.F_SETOWN, os.getppid()); denied(fcntl.fcntl, r, fcntl.F_SETFL, os.O_ASYNC)\n"
        "denied(os.setpriority, os.PRIO_PROCESS, os.getppid(), 5); denied(os.sched_setaffinity, 0, {0})\n"
        "denied(os.utime, '/tmp'); denied(os.pidfd_open, os.getppid()); denied(os.pipe)\n"
        "open('/etc/passwd').read(); os.write(1, b'fine')\n"
    )
    assert ran(sys.executable, "-c", script, ROOT, ends=0).stdout == "fine"


@pytest.mark.parametrize("filter", [seccomp.program, seccomp.cage_program])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_is_well_formed(machine: str, filter: Callable[[str], bytes]) -> None:
    """Every jump stays inside, and the last instruction returns."""
    code = filter(machine)
    rules = [code[at : at + 8] for at in range(0, len(code), 8)]
    assert len(rules) < 4096
    for at, rule in enumerate(rules):
        operation, yes, no = int.from_bytes(rule[:2], "little"), rule[2], rule[3]
        if operation & 7 == 5:
            assert at + 1 + max(yes, no) < len(rules)
    assert int.from_bytes(rules[-1][:2], "little") == 6


HEADERS = {"x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "aarch64": "/usr/include/asm-generic/unistd.h"}


@pytest.mark.parametrize("machine", HEADERS)
def test_numbers_of_system_calls_are_those_of_the_kernel(machine: str) -> None:
    """Against the kernel's own headers, where they are installed."""
    header = Path(HEADERS[machine])
    if not header.exists():
        pytest.skip(f"{header} is not installed")
    text = header.read_text()
    known = dict(re.findall(r"#define (__NR_\w+)\s+(\d+)", text))
    known |= {
        name: known[alias] for name, alias in re.findall(r"#define (__NR_\w+)\s+(__NR\w+)", text) if alias in known
    }
    known |= {name.replace("__NR3264_", "__NR_"): n for name, n in re.findall(r"#define (__NR3264_\w+)\s+(\d+)", text)}
    known["__NR_newfstatat"] = known.get("__NR_newfstatat", known.get("__NR_fstatat", ""))
    tables: list[dict[str, Any]] = [seccomp.ALLOWED, seccomp.ALLOWED_WITH, seccomp.READ_ONLY]
    tables += [seccomp.DENIED, seccomp.DENIED_WITH, seccomp.ABSENT]
    for name, numbers in (item for table in tables for item in table.items()):
        number = numbers[list(HEADERS).index(machine)]
        assert (f"__NR_{name}" in known) == (number is not None), name
        assert number is None or int(known[f"__NR_{name}"]) == number, name


@pytest.mark.parametrize(
    "text", ["\\x1e" + "9" * 4400, "\x1e" + "9" * 4400, "\\x1e0\\nanother", "\x1e" + "0" * 64 + " 0"]
)
def test_what_is_printed_is_never_taken_for_a_mark(check_text: Callable[..., Verdict], text: str) -> None:
    """It is shown where it was printed. Python refuses to make a number of more than 4300 digits."""
    store = "    tl.store(y_ptr"
    verdict = check_text(
        old=store, new=f'    if row == 0:\n        print("{text}")\n{store}', conditions=Conditions(targets=())
    )
    assert verdict.accepted
    lines = [line for _, shown in verdict.printed for line in shown.split("\n") if line.startswith("program")]
    assert lines and all(line.partition(":")[2].startswith(" \ufffd") for line in lines)
    assert all(shown.startswith("program 0:") for _, shown in verdict.printed)


@pytest.mark.parametrize("least", [-(1 << 63) - 1, 1 << 63, 10**4000])
def test_a_number_that_no_register_holds_is_malformed(least: int) -> None:
    error = {"type": "E", "message": "", "line": least, "program": 0}
    answers = parse(wire.pack({"launch": None, "error": error}), [launch()], [0])
    assert answers.malformed and answers.loading is None


def deep(depth: int) -> str:
    """The solution with an error at the bottom of so many functions, each of which calls the one above it."""
    called = ["tl.reshape(x, (3, 5))", *(f"helper_{n}(x)" for n in range(depth))]
    helpers = "".join(f"@triton.jit\ndef helper_{n}(x):\n    return {called[n]}\n\n\n" for n in range(depth))
    text = SOLUTION.replace("@triton.jit\n", f"{helpers}@triton.jit\n", 1)
    return text.replace("tl.exp(x.to(tl.float32))", f"tl.exp({called[-1]}.to(tl.float32))")


def test_an_error_at_the_bottom_of_many_functions_is_told_as_of_one(check_text: Callable[..., Verdict]) -> None:
    """Triton wraps it once for each, in a text that doubles."""
    one, many = (check_text(deep(depth), conditions=Conditions(targets=())) for depth in (1, 26))
    assert one.status is many.status is Status.CRASHED
    assert one.findings == many.findings and one.findings[0].where is not None
    assert one.findings[0].where.line == deep(1).split("\n").index("    return tl.reshape(x, (3, 5))") + 1
