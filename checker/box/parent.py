"""The trusted side of the box: start the child, feed it, read its bytes within limits, leave nothing.

The child is started before anything slow is imported here, so that both import at the same time.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from checker.box.inside import seccomp
from checker.box.processes import Started, start
from checker.box.protocol import wire

if TYPE_CHECKING:
    from checker.box.cage.cage import Cage
    from checker.box.protocol.results import KernelError, Launch, LaunchResult
    from checker.box.warm import Forked, Warm

PASSES = 2  # in order, and shuffled; each in a process of its own
_CHUNK = 1 << 20
Pass = list[tuple[int, Iterable[int]]]  # (launch number, order of its programs)
STARTUP_SECONDS = 120.0  # to import Triton, also from a cold disk


@dataclass(frozen=True)
class Limits:
    """What a check may use. The wall clock is the parent's; the rest binds each runner."""

    wall_seconds: float = 20.0
    cpu_seconds: int = 15
    memory_bytes: int = 1 << 30  # address space; importing Triton takes 0.3 GB of it
    file_bytes: int = 1 << 20
    output_bytes: int = 1 << 20
    answer_bytes: int = 256 << 20
    compile_seconds: float = 60.0  # for all kernels and targets together
    gpu_seconds: float = 300.0  # instead of wall_seconds on a GPU, where every shape is compiled anew
    gpu_processes: int = 512  # of a slot in a cage on a GPU, threads too; the interpreter gets none
    gpu_output_bytes: int = 64 << 20  # instead of output_bytes: a GPU prints a line for each element
    compiler_bytes: int = 4 << 30  # address space of a process that compiles
    filter: bool = True  # the system-call filter, where the kernel has one


class Ending(str, Enum):
    """How a runner ended."""

    FINISHED = "finished"
    EXITED = "exited"  # left without having answered everything
    KILLED = "killed"  # by a signal of its own doing
    KILLED_FROM_OUTSIDE = "killed-from-outside"  # by SIGKILL, which it cannot send, and which was not ours
    CPU_TIME = "cpu-time"
    WALL_TIME = "wall-time"
    FLOODED = "flooded"
    STOPPED = "stopped"  # by us, because of how the other one ended


@dataclass
class Received:
    """One runner's bytes, not yet believed, and how it ended."""

    answer: bytearray = field(default_factory=bytearray)
    output: bytearray = field(default_factory=bytearray)
    ending: Ending = Ending.EXITED
    code: int = 0


class BoxFailed(Exception):
    """The box did not start: a sentence with what it complained of."""


@dataclass(frozen=True)
class PassResult:
    """What came of one pass: results by launch number, as far as its runner got, and how it ended."""

    asked: list[int]
    results: dict[int, LaunchResult]
    ending: Ending
    code: int
    printed: dict[int, str]  # by launch number, where something was
    loading: KernelError | None = None  # what kept the kernels from being loaded
    malformed: str | None = None  # why nothing after the last result can be believed

    @property
    def unanswered(self) -> int | None:
        """The launch that the runner was at when it ended, if it did not answer everything."""
        done = len(self.results)
        return self.asked[done] if done < len(self.asked) else None


@dataclass(frozen=True)
class BoxResult:
    """Everything that came out of the box."""

    passes: list[PassResult]
    versions: dict[str, str]
    seconds: float


class Box:
    """A child process that is importing Triton, and the pipes to it. Use as a context manager."""

    def __init__(self, limits: Limits, device: str = "interpreter", cage: Cage | None = None, warm: Warm | None = None):
        """`device`: `interpreter`, or `cuda`, where the memory limit and the system-call filter do not apply.

        `warm`: has the child imported already, in the same cage. Not on a GPU, and not without the system-call
        filter, which is why a submission cannot leave anything for the next one.
        """
        self.limits, self.device, self.cage = limits, device, cage
        # What runs cannot send a signal.
        self.harmless = device == "interpreter" and limits.filter and seccomp.available()
        self.warm = warm if self.harmless else None

    def __enter__(self) -> Box:
        self.folder = "" if self.cage or self.warm else tempfile.mkdtemp(prefix="flash-puzzles-box-")
        pipes = [os.pipe() for _ in range(1 + 2 * PASSES)]
        self.readers = [reader for reader, _ in pipes]
        writers = [writer for _, writer in pipes]
        try:
            self.child = self._started(writers)
        except BaseException:
            self._close_files()
            raise
        finally:
            for writer in writers:
                os.close(writer)
        return self

    def _started(self, writers: list[int]) -> Started | Forked:
        if self.warm is not None:
            return self.warm.start("checker.box.inside.child", writers)
        return start(
            "checker.box.inside.child",
            *writers,
            folder=self.folder,
            cage=self.cage,
            variables={"TRITON_INTERPRET": "1"} if self.device == "interpreter" else {},
            device=self.device,
            pass_fds=writers,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.child.end()
        for stream in (self.child.stdin, self.child.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):  # a broken pipe: the child went first
                    stream.close()
        self._close_files()

    def run(self, source: str, kernels: list[str], launches: list[Launch], passes: list[Pass]) -> BoxResult:
        """Run `passes` over `launches`: each a list of (launch number, program order). Raises BoxFailed."""
        started = time.monotonic()
        received, versions = self.received(source, kernels, launches, passes)
        seconds = time.monotonic() - started
        results = []
        for one, orders in zip(received, passes, strict=False):  # fewer passes may be asked for
            results.append(self._believed(one, launches, [number for number, _ in orders]))
        return BoxResult(results, versions, seconds)

    def _believed(self, one: Received, launches: list[Launch], asked: list[int]) -> PassResult:
        from checker.box.protocol.results import parse

        answers = parse(bytes(one.answer), launches, asked, self.device == "cuda")
        printed = _printed(bytes(one.output), len(launches))
        return PassResult(asked, answers.results, one.ending, one.code, printed, answers.loading, answers.malformed)

    def received(
        self, source: str, kernels: list[str], launches: list[Launch], passes: list[Pass]
    ) -> tuple[list[Received], dict[str, str]]:
        """What the runners sent, as bytes, and the versions that the base reports. Raises BoxFailed."""
        exchange = _Exchange(self.child, self.readers, self.limits)
        exchange.run(self._request(source, kernels, launches, passes))
        if exchange.early:
            self.child.end()
        versions: dict[str, str] = {}
        codes: dict[int, int] = {}
        for header in _whole_headers(bytes(exchange.report)):
            versions.update(header.get("hello", {}))
            if "pass" in header:
                out_of_time = header["code"] == -signal.SIGKILL and header["cpu"] >= self.limits.cpu_seconds
                codes[header["pass"]] = -signal.SIGXCPU if out_of_time else header["code"]
        for number, one in enumerate(exchange.passes):
            early = exchange.early.get(number)
            if exchange.early and early is None and number not in codes:
                early = Ending.STOPPED
            one.ending, one.code = _ending(early, codes.get(number), self.harmless)
        if not versions:
            complaint = exchange.complaint.decode(errors="replace")[-2000:].strip()
            raise BoxFailed(f"the box did not start: {complaint or 'no reason given'}")
        return exchange.passes, versions

    def _request(self, source: str, kernels: list[str], launches: list[Launch], passes: list[Any]) -> memoryview:
        buffers: list[bytes] = []
        asked = []
        for launch in launches:
            tensors = []
            for name, argument in launch.tensors.items():
                tensors.append(
                    {
                        "name": name,
                        "dtype": argument.values.dtype.name,
                        "shape": argument.values.shape,
                        "strides": argument.strides,
                        "bf16": argument.bf16,
                        "output": argument.output,
                        "buffer": len(buffers),
                    }
                )
                buffers.append(argument.values.tobytes())
            asked.append(
                {
                    "kernel": launch.kernel,
                    "grid": launch.grid,
                    "tensors": tensors,
                    "scalars": launch.scalars,
                    "constexprs": launch.constexprs,
                    "debug": launch.debug,
                    "most_touched": launch.most_touched,
                }
            )
        header = {
            "source": source,
            "kernels": kernels,
            "device": self.device,
            "limits": asdict(self.limits),
            "caged": self.cage is not None,
            "launches": asked,
            "passes": [
                [{"launch": number, "order": [int(p) for p in order]} for number, order in one] for one in passes
            ],
        }
        return memoryview(wire.pack(header, buffers))

    def _close_files(self) -> None:
        for reader in self.readers:
            os.close(reader)
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


class _Exchange:
    """One request written and every pipe read, until all are closed, a limit is hit or time is up."""

    def __init__(self, child: Started | Forked, readers: list[int], limits: Limits):
        assert child.stdin is not None
        self.stdin = child.stdin
        self.limits = limits
        self.report, self.complaint = bytearray(), bytearray()
        self.passes = [Received() for _ in range(PASSES)]
        self.early: dict[int, Ending] = {}  # passes that we ended
        self.sinks: dict[int, tuple[bytearray, int, int | None]] = {  # where to, how much, which pass
            readers[0]: (self.report, 1 << 16, None),
        }
        for stream in (child.stdout, child.stderr):
            if stream is not None:
                self.sinks[stream.fileno()] = (self.complaint, 1 << 20, None)
        for number, one in enumerate(self.passes):
            self.sinks[readers[1 + number]] = (one.answer, limits.answer_bytes, number)
            self.sinks[readers[1 + PASSES + number]] = (one.output, limits.output_bytes, number)

    def run(self, request: memoryview) -> None:
        """Serve all pipes. The wall clock starts when the base says hello, not while it imports."""
        deadline = time.monotonic() + STARTUP_SECONDS
        ready = False
        os.set_blocking(self.stdin.fileno(), False)
        with selectors.DefaultSelector() as selector:
            for descriptor in self.sinks:
                selector.register(descriptor, selectors.EVENT_READ)
            selector.register(self.stdin, selectors.EVENT_WRITE)
            while selector.get_map() and not self.early:
                events = selector.select(max(0.0, deadline - time.monotonic()))
                if not events and time.monotonic() >= deadline:
                    waiting = {self.sinks[fd][2] for fd in selector.get_map() if fd in self.sinks}
                    self.early = {number: Ending.WALL_TIME for number in waiting if number is not None}
                    return
                for key, _ in events:
                    if key.fileobj is self.stdin:
                        request = self._feed(request)
                        if not request:
                            selector.unregister(self.stdin)
                            self.stdin.close()
                    elif not self._drain(key.fd):
                        selector.unregister(key.fd)
                if self.report and not ready:
                    ready = True
                    deadline = time.monotonic() + self.limits.wall_seconds

    def _feed(self, request: memoryview) -> memoryview:
        """What is left of `request` after one write."""
        try:
            return request[os.write(self.stdin.fileno(), request[:_CHUNK]) :]
        except BrokenPipeError:
            return request[:0]  # the child is gone: its complaint says why

    def _drain(self, descriptor: int) -> bool:
        """Read once; False at the end of the stream. Too much ends the exchange."""
        sink, most, number = self.sinks[descriptor]
        data = os.read(descriptor, _CHUNK)
        sink += data
        if len(sink) > most:
            del sink[most:]
            if number is not None:
                self.early[number] = Ending.FLOODED
        return bool(data)


def gpu_missing() -> str:
    """Why no kernel can be run on a GPU here, in a sentence; nothing if one can."""
    if not Path("/dev/nvidiactl").exists():
        return "There is no NVIDIA GPU in this machine, or its driver is not loaded."
    if find_spec("torch") is None:
        return "Running kernels on a GPU needs PyTorch with CUDA: name an environment that has it, VENV=/path/to/venv."
    return ""


def _printed(output: bytes, launches: int) -> dict[int, str]:
    """What the kernels printed; the child marks where each launch begins."""
    printed: dict[int, str] = {}
    for section in output.decode(errors="replace").split(wire.LAUNCH_MARK)[1:]:
        number, _, text = section.partition("\n")
        if text.strip() and number.isascii() and number.isdigit() and int(number) < launches:
            printed[int(number)] = printed.get(int(number), "") + text
    return printed


def _whole_headers(data: bytes) -> Iterator[dict[str, Any]]:
    """Headers of the frames that arrived whole; the base may have been killed in the middle of one."""
    with contextlib.suppress(wire.MalformedFrame):
        for header, _ in wire.unpack(data):
            yield header


def _ending(early: Ending | None, code: int | None, harmless: bool) -> tuple[Ending, int]:
    if early is not None:
        return early, 0
    if code is None or code == -signal.SIGKILL:  # None: its parent has been killed, and cannot say
        return Ending.KILLED_FROM_OUTSIDE if harmless else Ending.KILLED, signal.SIGKILL
    if code == -signal.SIGXCPU:
        return Ending.CPU_TIME, signal.SIGXCPU
    if code < 0:
        return Ending.KILLED, -code
    return (Ending.FINISHED if code == 0 else Ending.EXITED), code
