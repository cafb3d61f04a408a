"""The trusted side of the compiler: start it, wait for it, believe little of what it says."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from checker.sandbox.exchange import Ending, Exchange, Received, TooBusy
from checker.sandbox.host import COMPILER, Host, Server
from checker.sandbox.inside import seccomp
from checker.sandbox.inside.lowering import ASSEMBLER
from checker.sandbox.parent import Limits
from checker.sandbox.processes import SandboxFailed
from checker.sandbox.protocol import wire
from checker.sandbox.protocol.results import KernelError, MalformedAnswer, parse_error

KEPT = 500  # outcomes in the cache
LONGEST_ANSWER = 16 << 20  # bytes, mostly assembler text; a kernel of the course has less than a hundred thousand
LONGEST_HEADER = 1 << 16  # bytes; an object for each of many small things takes far more memory than its text
_NUMBERS = ("shared", "tensor_memory", "registers", "spilled")  # of a result; the compiler tells two, the assembler two
_NO_CACHE = (OSError, ValueError, RuntimeError)  # among them that there is no home folder, and RecursionError
DIED = "Died"  # the type of the error of a compiler that has given no answer
_DIED = {"type": DIED, "message": "the compiler did not finish", "line": 0, "program": 0}


@dataclass(frozen=True)
class Job:
    """One kernel to compile for one target, in the form that Triton gives it for one kind of launch.

    `signature`: Triton's type of each parameter, in order. `simpler`: forms that have only a part of what is special
    about this one. They are tried if it does not compile, to find what that is due to.
    """

    kernel: str
    target: str  # sm_90, sm_80, gfx942, …
    signature: dict[str, str]
    constexprs: dict[str, int | float | bool]
    multiples: tuple[str, ...] = ()  # integers that are multiples of 16, as all pointers are
    until: str = ""  # Triton's name of the last stage; none: all of them, to assembler text
    options: Mapping[str, int] = field(default_factory=dict)  # num_warps, num_stages
    most_shared: int = 0  # bytes; what asks for more is compiled with fewer stages, as far as there are any
    fewer: tuple[int, ...] = ()  # these, one after the other
    stages: tuple[str, ...] = ()  # Triton's names of those whose texts are wanted, beside the assembler's
    simpler: tuple[Job, ...] = ()


@dataclass(frozen=True)
class Compiled:
    """The result of a job. Unknown values are None."""

    job: Job  # if a part of what was asked did not compile, that part; if it has fewer stages, with these
    error: KernelError | None
    shared: int | None = None  # bytes of shared memory
    registers: int | None = None  # per thread
    spilled: int | None = None  # bytes, or registers on AMD
    tensor_memory: int | None = None  # columns that a program takes, where a GPU has any
    texts: Mapping[str, str] = field(default_factory=dict)  # by stage, if the job wanted any: the assembler's too


class Compiler:
    """A compilation under way. Use as a context manager; leaving it ends what still runs."""

    def __init__(
        self,
        source: str,
        jobs: Sequence[Job],
        limits: Limits,
        host: Host | None = None,
        *,
        cached: bool = True,
        assembled: bool = True,
    ):
        """`cached`: believe, and keep, what an earlier check on this machine found out. Grading does neither.

        `assembled`: find out how many registers a kernel takes, which only NVIDIA's assembler can tell. That is no
        part of a verdict, so grading does without a tenth of its work, and without showing ptxas a stranger's text.

        A host that keeps its servers compiles only once results are asked for: who checks many submissions has other
        work for a second core.
        """
        self.source, self.jobs, self.limits = source, list(jobs), limits
        self.host, self.cached, self.assembled = host or Host(), cached, assembled
        # What Triton has read of a kernel for one job, it need not read again for the next.
        self.groups = [list(group) for _, group in groupby(self.jobs, key=lambda job: (job.kernel, job.target))]
        self.harmless = limits.filter and seccomp.available()  # as for a `Sandbox`
        self.exchange: Exchange | None = None
        self.known: list[Compiled] | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Compiler:
        self.known = self._known() if self.jobs and self.cached else None
        if self.jobs and not self.host.kept and self.known is None:
            self._start()
        return self

    def _start(self) -> Exchange:
        header = {
            "source": self.source,
            "groups": [[asdict(job) for job in group] for group in self.groups],
            "limits": self.limits.of_compiler(),
            "filter": self.limits.filter,
        }
        server = self._stack.enter_context(self.host.server(COMPILER, may_stay=self.harmless))
        self.exchange = self._stack.enter_context(Exchange(server, wire.pack(header), len(self.groups)))
        return self.exchange

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def results(self) -> list[Compiled]:
        """Return one result per job, in order. Waits for them; a compiler that gives none is an error in each."""
        if not self.jobs:
            return []
        if self.known is not None:
            return self.known
        exchange = self.exchange or self._start()
        try:
            received = exchange.received(self.limits.wall_seconds, LONGEST_ANSWER, self.limits.output_bytes)
        except SandboxFailed as reason:
            raise RuntimeError(f"the compiler did not start: {reason}") from reason
        answers, texts = [], []
        for group, one in zip(self.groups, received, strict=True):
            for header, text in self._answered(group, one):
                answers.append(
                    {name: header.get(name) for name in ("error", "alone", "stages", *_NUMBERS[:2], "texts")}
                )
                texts.append(text)
        if self.assembled and not exchange.server.busy:
            self._assemble(exchange.server, answers, texts)
        try:
            results = self._read(answers)
        except MalformedAnswer:
            return self._read([{"error": _DIED}] * len(self.jobs))
        if self.cached and not any(result.error and result.error.type == DIED for result in results):
            self._remember(answers)
        return results

    def _answered(self, group: list[Job], one: Received) -> list[tuple[dict[str, Any], bytes]]:
        """Return what a runner has answered to each of its jobs, not yet believed: a header, and assembler text."""
        answers: list[tuple[dict[str, Any], bytes]] = []
        most = 1 + max(len(job.stages) for job in group)
        with contextlib.suppress(wire.MalformedFrame):
            for header, buffers in islice(wire.unpack(bytes(one.answer), LONGEST_HEADER, most), len(group)):
                texts = [bytes(buffer) for buffer in buffers]
                stages = group[len(answers)].stages
                header["texts"] = {
                    name: text.decode(errors="replace")
                    for name, text in zip((ASSEMBLER, *stages) if stages else (), texts, strict=False)
                }
                answers.append((header, texts[0] if texts else b""))
        missing = len(group) - len(answers)
        ending, _ = one.ending(self.limits.cpu_seconds, self.harmless)
        if missing and ending is Ending.WALL_TIME:  # a kernel that takes long runs into the limit on CPU time
            raise TooBusy(f"The compiler was not done after {self.limits.wall_seconds:g} s.")
        if missing and ending is Ending.KILLED_FROM_OUTSIDE:
            raise RuntimeError("the compiler was killed from outside, as by the system when memory is short")
        return answers + [({"error": _DIED}, b"")] * missing

    def _assemble(self, server: Server, answers: list[dict[str, Any]], texts: list[bytes]) -> None:
        """Have the assembler texts assembled, and add to the answers what that tells. It is information only."""
        if not (with_text := [number for number, text in enumerate(texts) if text]):
            return
        header = {
            "targets": [self.jobs[number].target for number in with_text],
            "limits": {"AS": self.limits.compiler_bytes},
        }
        frame = wire.pack(header, [texts[number] for number in with_text])
        with Exchange(server, frame, len(with_text)) as exchange:
            received = exchange.received(self.limits.wall_seconds, LONGEST_HEADER, self.limits.output_bytes)
        for number, one in zip(with_text, received, strict=True):
            with contextlib.suppress(wire.MalformedFrame, StopIteration):
                told, _ = next(wire.unpack(bytes(one.answer), LONGEST_HEADER, 0))
                answers[number] |= {name: told.get(name) for name in ("registers", "spilled")}

    def _read(self, answers: Any) -> list[Compiled]:
        if not isinstance(answers, list) or len(answers) != len(self.jobs):
            raise MalformedAnswer("not one answer per job")
        return [_result(fields, job) for fields, job in zip(answers, self.jobs, strict=True)]

    def _cache_file(self) -> Path:
        """Return where the outcome is kept: named after the source, the jobs, the compiler and how it is called."""
        triton, inside = find_spec("triton"), Path(__file__).parent / "inside"  # the first of which tells its version
        files = (str(triton and triton.origin), inside / "compiler.py", inside / "lowering.py")
        caller = [Path(file).read_text("utf-8") for file in files]
        asked = json.dumps([self.source, [asdict(job) for job in self.jobs], self.assembled, *caller])
        return cache_folder() / "compiled" / f"{hashlib.sha256(asked.encode()).hexdigest()}.json"

    def _known(self) -> list[Compiled] | None:
        """Return the outcome that was kept. None if there is none, or whatever else lies there: then it is compiled."""
        with contextlib.suppress(*_NO_CACHE, MalformedAnswer):
            if (file := self._cache_file()).is_file():  # a pipe would have us wait
                return self._read(json.loads(file.read_text(encoding="utf-8")))
        return None

    def _remember(self, answers: list[dict[str, Any]]) -> None:
        """Keep an outcome, whole or not at all; the oldest make room. A cache that cannot be written is no harm."""
        with contextlib.suppress(*_NO_CACHE):
            file = self._cache_file()
            file.parent.mkdir(parents=True, exist_ok=True)
            new = file.with_suffix(f".{os.getpid()}")
            try:
                new.write_text(json.dumps(answers), encoding="utf-8")
                new.replace(file)
            finally:
                new.unlink(missing_ok=True)
            kept = sorted(file.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)
            for old in kept[:-KEPT]:
                old.unlink(missing_ok=True)


def cache_folder() -> Path:
    """Return the folder of what is kept between checks. RuntimeError if nobody says where the home folder is."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flash-puzzles"


def _result(fields: Any, job: Job) -> Compiled:
    if not isinstance(fields, dict):
        raise MalformedAnswer("a result is not an object")
    numbers = {name: fields.get(name) for name in _NUMBERS}
    if not all(n is None or (isinstance(n, int) and 0 <= n < 1 << 63) for n in numbers.values()):
        raise MalformedAnswer("a result's numbers are none")
    texts = fields.get("texts") or {}
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise MalformedAnswer("a result's texts are none")
    error, alone, stages = fields.get("error"), fields.get("alone"), fields.get("stages")
    if type(alone) is int and 0 <= alone < len(job.simpler):
        job = job.simpler[alone]
    if stages in job.fewer:
        job = replace(job, options={**job.options, "num_stages": stages})
    return Compiled(job, None if error is None else parse_error(error), **numbers, texts=texts)
