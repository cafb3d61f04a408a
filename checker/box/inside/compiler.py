"""The compiler: compile kernels for GPUs that need not be here, each in a process of its own.

What the server forks for a request runs nothing of the submission either: it forks a runner for each kernel and
target, and collects. A runner limits itself, enters the system-call filter and goes through its jobs, at most as far
as assembler text. The assembler itself (ptxas), which tells registers and spills, is then run on that text by the
process in between, if the request wants to know: a runner may start nothing. Neither what it reads of a runner nor
what an assembler makes of it may exhaust the machine, so it is limited as well.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
import warnings
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from checker.box.inside import children, harness
from checker.box.inside.lowering import described, executed, lowered
from checker.box.protocol import wire

ASSEMBLER_SECONDS = 20
AT_ONCE = 2
PATIENCE_SECONDS = 1.0  # for a runner that has closed its pipe too early to be gone
LONGEST_ANSWER = 64 << 20  # bytes of assembler text; a kernel of the course has less than a hundred thousand
LONGEST_HEADER = 1 << 16  # bytes of what is said of it: numbers, or a complaint of no more than lowering.MESSAGE_LIMIT


def prepare() -> None:
    """What takes long and is the same for all submissions."""
    import triton  # noqa: F401  (once, before the forks)


def rehearse() -> None:
    """What takes long only the first time. Before one submission that is no gain; before many it is."""
    from checker.box.inside import rehearsal

    lowered(rehearsal.kernel, rehearsal.JOB)
    _warm_up({rehearsal.JOB["target"]})


def serve(header: dict[str, Any], buffers: list[memoryview], number: int) -> None:
    """Compile what a request asks for."""
    path = harness.written(header["source"])
    _warm_up({job["target"] for job in header["jobs"]})
    harness.limit({"AS": header["memory"]}, filtered=False)  # of this process, of each runner, and of each assembler
    try:
        frame = wire.pack({"results": _results(header, path)})
    except Exception:  # an answer too odd for us: no reason to be silent, as if somebody had killed this process
        frame = wire.pack({"results": [_died(job, killed=False) for job in header["jobs"]]})
    harness.write_all(harness.ANSWER, frame)


def _results(header: dict[str, Any], path: str) -> list[dict[str, Any]]:
    """One result per job, in order."""
    results: list[dict[str, Any]] = []
    # What Triton has read of a kernel for one job, it need not read again for the next.
    groups = [list(group) for _, group in groupby(header["jobs"], key=lambda job: (job["kernel"], job["target"]))]
    for first in range(0, len(groups), AT_ONCE):
        runners = [_fork(header, group, path) for group in groups[first : first + AT_ONCE]]
        for group, (pid, reader) in zip(groups[first:], runners, strict=False):
            with os.fdopen(reader, "rb") as stream:
                data = stream.read(LONGEST_ANSWER)
            collected = _collected(group, data)
            missing = group[len(collected) :]
            killed = bool(missing) and _was_killed(pid, header)
            if not missing:
                os.kill(pid, signal.SIGKILL)  # it has said all that counts
                os.waitpid(pid, 0)
            results += [*collected, *(_died(job, killed) for job in missing)]
    for result in results:
        _assemble(result, header["assembled"])
    return results


def _warm_up(targets: set[str]) -> None:
    """Let Triton ask the assemblers for their versions now: a runner may not start them."""
    for target in targets:
        if target.startswith("sm_"):
            _ = _assembler(target).version


def _assembler(target: str) -> Any:
    """The ptxas that Triton would use: it has more than one."""
    from triton.backends.nvidia.compiler import get_ptxas

    return get_ptxas(int(target.removeprefix("sm_")))


def _was_killed(pid: int, header: dict[str, Any]) -> bool:
    """Wait until a runner is gone that has not said everything. Whether somebody outside has killed it.

    Under the filter it cannot send a signal, and the kernel sends this one only after the time that it may use.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (ended := os.wait4(pid, os.WNOHANG))[0]:
        if time.monotonic() > deadline:  # it has said too much, or has closed its pipe
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return False
        time.sleep(0.001)
    _, status, used = ended
    by_kill = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return by_kill and header["filter"] and used.ru_utime + used.ru_stime < header["limits"]["CPU"]


def _fork(header: dict[str, Any], jobs: list[dict[str, Any]], path: str) -> tuple[int, int]:
    """(process, descriptor to read its answer from) of a runner, which cannot write into the whole answer."""
    reader, writer = os.pipe()
    base = os.getpid()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    children.end_with_parent(base)
    os.close(harness.ANSWER)
    warnings.simplefilter("ignore")
    complaints, os_complaints = os.pipe()  # the compiler's passes complain on standard error only
    os.set_blocking(complaints, False)
    os.set_blocking(os_complaints, False)
    os.dup2(os_complaints, 2)
    os.dup2(os_complaints, 1)
    harness.limit(header["limits"], filtered=header["filter"])
    for frame in _answers(header["source"], jobs, path, complaints):
        harness.write_all(writer, frame)
    os._exit(0)


def _answers(source: str, jobs: list[dict[str, Any]], path: str, complaints: int) -> Iterator[bytes]:
    """A frame for each job."""
    try:
        kernel = executed(source, path)[jobs[0]["kernel"]]
    except BaseException as error:
        yield from [wire.pack({"error": described(error, path)})] * len(jobs)
        return
    for job in jobs:
        _said(complaints)  # whatever it was, it has kept nothing from compiling
        try:
            text, shared = lowered(kernel, job)
            frame = wire.pack({"error": None, "shared": shared}, [text.encode()])
        except BaseException as error:
            frame = wire.pack({"error": described(error, path, _said(complaints)), "alone": _alone(kernel, job)})
        yield frame


def _alone(kernel: Any, job: dict[str, Any]) -> int | None:
    """The first of a failed job's `parts` that fails as well; None if no part does so alone."""
    for number, part in enumerate(job["parts"]):
        try:
            lowered(kernel, part)
        except BaseException:
            return number
    return None


def _said(complaints: int) -> str:
    """What the compiler's passes have written since they were asked last."""
    try:
        return os.read(complaints, 1 << 16).decode(errors="replace")
    except BlockingIOError:
        return ""


def _collected(jobs: list[dict[str, Any]], data: bytes) -> list[dict[str, Any]]:
    """A runner's answers to its jobs, as many as arrived whole, in order."""
    results: list[dict[str, Any]] = []
    with contextlib.suppress(wire.MalformedFrame):
        for job, (header, buffers) in zip(jobs, wire.unpack(data, LONGEST_HEADER, 1), strict=False):
            text = b"".join(buffers).decode(errors="replace")
            known = {name: header.get(name) for name in ("error", "alone", "shared")}
            results.append({"target": job["target"], **known, "text": text})
    return results


def _died(job: dict[str, Any], killed: bool) -> dict[str, Any]:
    """The result of a job whose runner has ended without an answer. `killed`: from outside, and not by its limits."""
    error = {"type": "Died", "message": "the compiler did not come to an end", "line": 0, "program": 0}
    return {"target": job["target"], "error": error, "killed": killed}


def _assemble(result: dict[str, Any], wanted: bool) -> None:
    """Put registers and spilled bytes in place of the assembler text, if they are wanted."""
    text = result.pop("text", "")
    result["registers"] = result["spilled"] = None
    if not text or not wanted:
        return
    if not result["target"].startswith("sm_"):  # AMD's assembler text has the counts in it
        for field, words in (("registers", r"\.vgpr_count:\s+(\d+)"), ("spilled", r"\.vgpr_spill_count:\s+(\d+)")):
            if found := re.search(words, text):
                result[field] = int(found[1])
        return
    with open("kernel.ptx", "w", encoding="utf-8") as file:
        file.write(text)
    architecture = re.search(r"^\.target (\w+)", text, re.MULTILINE)
    command = [_assembler(result["target"]).path, "-v", f"--gpu-name={architecture[1] if architecture else ''}"]
    try:
        done = subprocess.run(
            [*command, "kernel.ptx", "-o", "kernel.o"],
            capture_output=True,
            text=True,
            timeout=ASSEMBLER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return  # information only
    if found := re.search(r"Used (\d+) registers", done.stderr):
        result["registers"] = int(found[1])
    if found := re.search(r"(\d+) bytes spill stores", done.stderr):
        result["spilled"] = int(found[1])
