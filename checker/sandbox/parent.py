"""The trusted side of the sandbox: its requests, its results, and its limits.

The server is started before anything slow is imported here, so that both import at the same time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.sandbox.exchange import Ending, Exchange, Received, TooBusy
from checker.sandbox.host import Host
from checker.sandbox.inside import seccomp
from checker.sandbox.processes import TooLittle
from checker.sandbox.protocol import wire
from checker.sandbox.protocol.device import Device

if TYPE_CHECKING:  # needs NumPy
    from checker.sandbox.protocol.launch import Launch
    from checker.sandbox.protocol.results import KernelError, LaunchResult

PASSES = 2  # in order, and shuffled; each in a process of its own
Pass = list[tuple[int, Iterable[int]]]  # (launch number, order of its programs)
Linked = tuple[str, Iterable[str]]  # another program, and its kernels, which this one launches


@dataclass(frozen=True)
class Limits:
    """The limits of a check. Wall clocks and pipes are watched by the parent; the rest binds each runner.

    What ends a submission is the work that it does, see `inside.budget`, and `patience`: so many seconds of CPU time in
    which nothing was counted. `wall_seconds` and `cpu_seconds` are far more than that work takes: a runner that comes
    to them is on a machine that is too busy, or too slow, and nobody is to blame.
    """

    wall_seconds: float = 600.0
    cpu_seconds: int = 120
    patience: float = 15.0
    waiting_seconds: float = 20.0  # in which nothing comes of a runner that sleeps: there is nothing to wait for
    memory_bytes: int = 1 << 30  # address space; importing Triton takes 0.3 GB of it
    file_bytes: int = 1 << 20
    output_bytes: int = 1 << 20
    answer_bytes: int = 256 << 20
    gpu_seconds: float = 300.0  # instead of wall_seconds on a GPU, where every shape is compiled anew
    gpu_output_bytes: int = 64 << 20  # instead of output_bytes: a GPU prints a line for each element
    gpu_shared_bytes: int = 0  # of a core, as if the GPU were a smaller one; 0: as it is
    pytorch_bytes: int = 512 << 20  # address space beyond what PyTorch has mapped once it is imported
    compiler_bytes: int = 4 << 30  # address space of a process that compiles
    filter: bool = True  # the system-call filter, where the kernel has one

    def of_runner(self, device: Device) -> dict[str, int]:
        """Return what a runner sets for itself, by the names of `setrlimit`.

        A GPU's driver needs address space without end, threads, and calls of its own; Triton starts a compiler.
        """
        if device.on_gpu:
            return {"CORE": 0, "CPU": self.cpu_seconds}
        if device.in_torch:
            return self.of_compiler() | {"NPROC": 0, "AS": self.pytorch_bytes}
        return self.of_compiler() | {"NPROC": 0, "AS": self.memory_bytes}

    def of_compiler(self) -> dict[str, int]:
        """Return the same for one that compiles."""
        return {"CORE": 0, "FSIZE": self.file_bytes, "CPU": self.cpu_seconds, "AS": self.compiler_bytes}


# What a shell limits: its letter for `ulimit`, what it is of, and its unit in bytes or seconds.
_SHELLS = {
    "AS": ("v", "MB of address space", 1 << 20),
    "CPU": ("t", "seconds of computing", 1),
    "FSIZE": ("f", "KB in a file", 1 << 10),
}


@dataclass(frozen=True)
class PassResult:
    """The results of one pass by launch number, as far as its runner got, and how it ended."""

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
class SandboxResult:
    """Everything that came out of the sandbox."""

    passes: list[PassResult]
    versions: dict[str, str]
    seconds: float


class Sandbox:
    """A server that is importing Triton, and its requests. Use as a context manager."""

    def __init__(self, limits: Limits, device: Device = Device.INTERPRETER, host: Host | None = None):
        self.limits, self.device, self.host = limits, device, host or Host()
        # What runs cannot send a signal, and cannot leave anything for the next submission.
        self.harmless = not device.on_gpu and limits.filter and seccomp.available()

    def __enter__(self) -> Sandbox:
        insist_on(self.limits.of_runner(self.device) | {"AS": self.limits.memory_bytes})
        self._lease = self.host.server(self.device, may_stay=self.harmless)
        self.server = self._lease.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._lease.__exit__(None, None, None)

    def run(
        self, source: str, kernels: list[str], launches: list[Launch], passes: list[Pass], linked: Iterable[Linked] = ()
    ) -> SandboxResult:
        """Run `passes` over `launches`, each a list of (launch, program order). Raises SandboxFailed, TooBusy."""
        started = time.monotonic()
        received = self.received(source, kernels, launches, passes, linked)
        seconds = time.monotonic() - started
        results = []
        for one, orders in zip(received, passes, strict=True):
            ending, code = one.ending(self.limits.cpu_seconds, self.harmless)
            asked = [number for number, _ in orders]
            results.append(believed(one, source, launches, asked, ending, code, self.device.on_gpu))
        return SandboxResult(results, self.server.versions, seconds)

    def received(
        self, source: str, kernels: list[str], launches: list[Launch], passes: list[Pass], linked: Iterable[Linked] = ()
    ) -> list[Received]:
        """Return what the runners sent, as bytes. Raises SandboxFailed, or TooBusy."""
        limits = self.limits
        header, buffers = request(source, kernels, launches, passes, self.device)
        header["limits"] = limits.of_runner(self.device)
        header["filter"] = limits.filter and not self.device.on_gpu
        header["patience"] = 0 if self.device.on_gpu else limits.patience
        header["most_shared"] = limits.gpu_shared_bytes
        header["linked"] = [[source, list(names)] for source, names in linked]
        with Exchange(self.server, wire.pack(header, buffers), len(passes)) as exchange:
            waiting = 0.0 if self.device.on_gpu else limits.waiting_seconds  # while a kernel runs, its host sleeps
            received = exchange.received(limits.wall_seconds, limits.answer_bytes, limits.output_bytes, waiting)
        if not self.device.on_gpu and any(one.machine_at_fault for one in received):
            raise not_done(limits)
        return received


def insist_on(wanted: Mapping[str, int]) -> None:
    """Raise TooLittle if a process may have less than this here: what ended then would look like its own mistake."""
    import resource  # which not every system has that does without a sandbox

    for name, (letter, what, unit) in _SHELLS.items():
        given, _ = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))
        if given != resource.RLIM_INFINITY and given < wanted.get(name, 0):
            raise TooLittle(
                f"Here a process may take {given // unit} {what}, and a check needs {wanted[name] // unit}. "
                f"`ulimit -{letter} unlimited` lifts that, or ask whoever has set it."
            )


def not_done(limits: Limits) -> TooBusy:
    """Return the sentence on a machine that did not finish the work that a submission may do."""
    return TooBusy(
        f"What your code may do takes seconds, but here it was not done after {limits.wall_seconds:g} s, or "
        f"{limits.cpu_seconds} s of computing."
    )


def request(
    source: str, kernels: list[str], launches: list[Launch], passes: list[Pass], device: Device
) -> tuple[dict[str, Any], list[bytes]]:
    """Return the header and the buffers of a frame that asks for `passes` over `launches`."""
    buffers: list[bytes] = []
    header = {
        "source": source,
        "kernels": kernels,
        "device": device,
        "launches": [launch.packed(buffers) for launch in launches],
        "passes": [[(number, [int(program) for program in order]) for number, order in one] for one in passes],
    }
    return header, buffers


def believed(
    one: Received, source: str, launches: list[Launch], asked: list[int], ending: Ending, code: int, on_gpu: bool
) -> PassResult:
    """Return a runner's bytes, as far as they have the form that was asked for."""
    from checker.sandbox.protocol.results import parse

    answers = parse(bytes(one.answer), launches, asked, on_gpu)
    printed = _printed(bytes(one.output), wire.launch_mark(source), len(launches))
    return PassResult(asked, answers.results, ending, code, printed, answers.loading, answers.malformed)


def gpu_missing() -> str:
    """Return why no kernel can be run on a GPU here, in a sentence; nothing if one can."""
    if not Path("/dev/nvidiactl").exists():
        return "There is no NVIDIA GPU in this machine, or its driver is not loaded."
    return ""


def torch_gpu_missing() -> str:
    """Return why PyTorch can use no GPU here, in a sentence; nothing if it seems that it can."""
    if not (missing := gpu_missing()) and find_spec("torch") is None:
        return "On a GPU this needs PyTorch with CUDA: name an environment that has it, VENV=/path/to/venv."
    return missing


def pytorch_missing() -> str:
    """Return why no PyTorch program can be run here, in a sentence; nothing if one can."""
    if find_spec("torch") is None:
        return "PyTorch is not installed here: `make torch` installs it."
    return ""


def _printed(output: bytes, mark: str, launches: int) -> dict[int, str]:
    """Return what the kernels printed; the child marks where each launch begins."""
    printed: dict[int, str] = {}
    numbers = {str(number): number for number in range(launches)}
    for section in output.decode(errors="replace").split(mark)[1:]:
        name, _, text = section.partition("\n")
        if text.strip() and (number := numbers.get(name)) is not None:
            printed[number] = printed.get(number, "") + text
    return printed
