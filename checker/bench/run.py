"""Measure a puzzle's kernels on this machine's GPU, or predict without one."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker import catalog
from checker.bench.result import Result, Size, Timing
from checker.bench.result import size_of as size_from
from checker.bench.roofline import NAMED
from checker.bench.workload import size_of
from checker.box.processes import command_of, environment
from checker.course.verdict import Traffic

_PLENTY = 40 << 30  # bytes of memory that a predicted GPU is taken to have free
Tell = Callable[[str], None]


class BenchmarkFailed(Exception):
    """The GPU, or the process that used it, gave up: a sentence."""


@dataclass(frozen=True)
class Extent:
    """How much is measured, and for how long."""

    every: bool = False  # every size of the catalog, and not the usual ones only
    milliseconds: int = 80  # of runs per implementation and size
    most_seconds: float = 600.0


def predict(number: int, extent: Extent, traffic: Iterable[Traffic] = ()) -> Result:
    """What the roofline allows on named GPUs: `low` if each byte is moved once, else as counted on the interpreter."""
    puzzle = catalog.load(number)
    traffic = list(traffic)
    assert puzzle.timed is not None
    sizes = []
    for timed in puzzle.timed(_PLENTY):
        if timed.usual or extent.every:
            size = size_of(puzzle, timed, traffic)
            timings = []
            for gpu in NAMED:
                best, counted = (1e3 * gpu.seconds(size.flops, moved) for moved in (size.least, size.counted))
                timings.append(Timing(gpu.name, counted, best, counted))
            sizes.append(Size(**{**vars(size), "timings": tuple(timings)}))
    return Result(number, puzzle.title, tuple(sizes), date=_today())


def measure(number: int, sources: Mapping[str, str], extent: Extent, tell: Tell) -> Result:
    """Time kernels (by name: their linted text) and peers in one process. Raises BenchmarkFailed."""
    puzzle = catalog.load(number)
    request = {
        "puzzle": number,
        "sources": dict(sources),
        "every": extent.every,
        "milliseconds": extent.milliseconds,
    }
    before = _clocks()
    sizes: list[Size] = []
    facts: dict[str, Any] = {}
    for line in _answers(request, extent.most_seconds):
        if "doing" in line:
            tell(line["doing"])
        elif "size" in line:
            sizes.append(size_from(line["size"]))
        else:
            facts = line
    return Result(
        number,
        puzzle.title,
        tuple(sizes),
        gpu=facts["gpu"],
        copy=facts["limits"]["copy"],
        matrix=facts["limits"]["matrix"],
        clocks=f"before: {before}; after: {_clocks()}",
        date=_today(),
        versions=facts["versions"],
    )


def _answers(request: dict[str, Any], most_seconds: float) -> Iterable[dict[str, Any]]:
    """What the child says, line by line, to the last; the child does not outlive this."""
    folder = tempfile.mkdtemp(prefix="flash-puzzles-bench-")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flash-puzzles" / "bench"
    variables = environment(folder)
    variables |= {"TRITON_CACHE_DIR": str(cache / "triton"), "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor")}
    complaint = tempfile.TemporaryFile()  # noqa: SIM115
    child = subprocess.Popen(
        command_of("checker.bench.child"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaint,
        cwd=folder,
        env=variables,
        start_new_session=True,
    )
    try:
        assert child.stdin is not None and child.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # its complaint says why
            child.stdin.write(json.dumps(request).encode())
            child.stdin.close()
        done = False
        for line in _lines(child, time.monotonic() + most_seconds):
            done = "limits" in line
            yield line
        if not done:
            complaint.seek(0)
            last = complaint.read().decode(errors="replace").strip().splitlines()[-1:] or ["no reason given"]
            raise BenchmarkFailed(f"The GPU's process ended early: {last[0][:300]}")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        complaint.close()
        shutil.rmtree(folder, ignore_errors=True)


def _lines(child: subprocess.Popen[bytes], deadline: float) -> Iterable[dict[str, Any]]:
    """The child's lines as they come, until it closes its end. BenchmarkFailed when time is up."""
    arrived: queue.Queue[bytes] = queue.Queue()
    assert child.stdout is not None
    stream = child.stdout

    def read() -> None:
        for line in stream:
            arrived.put(line)
        arrived.put(b"")

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = arrived.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise BenchmarkFailed("The benchmark did not come to an end in time.") from None
        if not line:
            return
        try:
            yield json.loads(line)
        except ValueError:
            raise BenchmarkFailed("The GPU's process said something that is no result.") from None


def _clocks() -> str:
    """The clocks of GPU and memory now, if the driver tells."""
    query = ["nvidia-smi", "--query-gpu=clocks.sm,clocks.mem,temperature.gpu", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    sm, memory, degrees = (*done.stdout.splitlines()[0].split(", "), "?", "?")[:3]
    return f"SM {sm}, memory {memory}, {degrees} °C"


def _today() -> str:
    return datetime.date.today().isoformat()
