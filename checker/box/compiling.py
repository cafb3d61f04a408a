"""The trusted side of the compiler: start it, wait for it, believe little of what it says."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from checker.box.parent import Limits
from checker.box.processes import Started, start
from checker.box.protocol import wire
from checker.box.protocol.results import KernelError, MalformedAnswer, parse_error

if TYPE_CHECKING:
    from checker.box.cage.cage import Cage
    from checker.box.warm import Forked, Warm

KEPT = 500  # outcomes in the cache
_KILLED = "the compiler was killed from outside, as by the system when memory is short"
LONGEST_RESULTS = 1 << 20  # bytes; an object for each of many small things takes far more memory than its text


@dataclass(frozen=True)
class Job:
    """One kernel to compile for one target, in the form that Triton gives it for one kind of launch.

    `signature`: Triton's type of each parameter, in order. `parts`: forms that have only a part of what is special
    about this one. They are tried if it does not compile, to find what that is due to.
    """

    kernel: str
    target: str  # sm_90, sm_80, gfx942, …
    signature: dict[str, str]
    constexprs: dict[str, int | float | bool]
    multiples: tuple[str, ...] = ()  # integers that are multiples of 16, as all pointers are
    until: str = ""  # Triton's name of the last stage; none: all of them, to assembler text
    parts: tuple[Job, ...] = ()


@dataclass(frozen=True)
class Compiled:
    """What came of a job. What is not known is None."""

    job: Job  # if a part of what was asked did not compile, that part
    error: KernelError | None
    shared: int | None = None  # bytes of shared memory
    registers: int | None = None  # per thread
    spilled: int | None = None  # bytes, or registers on AMD


class Compiler:
    """A compilation under way. Use as a context manager; leaving it ends what still runs."""

    def __init__(
        self,
        source: str,
        jobs: Sequence[Job],
        limits: Limits,
        cage: Cage | None = None,
        *,
        cached: bool = True,
        assembled: bool = True,
        warm: Warm | None = None,
    ):
        """`cached`: believe, and keep, what an earlier check on this machine found out. Grading does neither.

        `assembled`: find out how many registers a kernel takes, which only NVIDIA's assembler can tell. That is no
        part of a verdict, so grading does without a tenth of its work, and without showing ptxas a stranger's text.

        `warm`: compile by its means, in the same cage, and only once results are asked for: who checks many
        submissions has other work for a second core.
        """
        self.source, self.jobs, self.limits = source, list(jobs), limits
        self.cage, self.cached, self.warm = cage, cached, warm if limits.filter else None
        self.assembled = assembled
        self.child: Started | Forked | None = None
        self.folder = ""

    def __enter__(self) -> Compiler:
        if self.jobs and self.warm is None and not (self.cached and self._cache_file().exists()):
            self._start()
        return self

    def _start(self) -> None:
        self.folder = "" if self.cage or self.warm else tempfile.mkdtemp(prefix="flash-puzzles-compiler-")
        header = {
            "source": self.source,
            "jobs": [asdict(job) for job in self.jobs],
            "limits": asdict(self.limits),
            "assembled": self.assembled,
        }
        with tempfile.TemporaryFile() as request:
            request.write(wire.pack(header))
            request.seek(0)
            if self.warm is not None:
                self.child = self.warm.start("checker.box.inside.compiler", stdin=request.fileno())
                return
            self.child = start(
                "checker.box.inside.compiler",
                folder=self.folder,
                cage=self.cage,
                stdin=request,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.child is not None:
            self.child.end()
            for stream in (self.child.stdout, self.child.stderr):
                if stream is not None:
                    stream.close()
            if self.folder:
                shutil.rmtree(self.folder, ignore_errors=True)

    def results(self) -> list[Compiled]:
        """One result per job, in order. Waits for them; a compiler that gives none is an error in each."""
        if not self.jobs:
            return []
        if self.child is None and self.cached:
            with contextlib.suppress(OSError, MalformedAnswer, ValueError):
                return self._read(json.loads(self._cache_file().read_text(encoding="utf-8")))
            self._cache_file().unlink(missing_ok=True)  # damaged: compile after all
        if self.child is None:
            self._start()
        assert self.child is not None
        try:
            answer, _ = self.child.communicate(timeout=self.limits.compile_seconds)
            frames = wire.unpack(answer, LONGEST_RESULTS, 0)
            if next(frames, None) is None:  # it says hello before it reads a line of the submission
                raise RuntimeError("the compiler did not start")
            header, _ = next(frames)
            results = self._read(header)
        except subprocess.TimeoutExpired:  # a kernel that takes long runs into the limit on CPU time
            seconds = f"{self.limits.compile_seconds:g} s"
            raise RuntimeError(f"the compiler was not done after {seconds}: the machine is too busy") from None
        except StopIteration:
            raise RuntimeError(_KILLED) from None
        except (wire.MalformedFrame, MalformedAnswer):
            gone = KernelError("Died", "the compiler did not come to an end", 0, 0)
            return [Compiled(job, gone) for job in self.jobs]
        if any(fields.get("killed") is True for fields in header["results"]):
            raise RuntimeError(_KILLED)
        if self.cached and not any(r.error and r.error.type == "Died" for r in results):
            self._remember(header)
        return results

    def _read(self, header: Any) -> list[Compiled]:
        listed = header.get("results") if isinstance(header, dict) else None
        if not isinstance(listed, list) or len(listed) != len(self.jobs):
            raise MalformedAnswer("not one result per job")
        return [_result(fields, job) for fields, job in zip(listed, self.jobs, strict=True)]

    def _cache_file(self) -> Path:
        """Where the outcome is kept: named after the source, the jobs, the compiler and how it is called."""
        caller = "".join(
            (Path(__file__).parent / "inside" / f"{n}.py").read_text("utf-8") for n in ("compiler", "lowering")
        )
        asked = json.dumps([self.source, [asdict(job) for job in self.jobs], self.assembled, version("triton"), caller])
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return root / "flash-puzzles" / "compiled" / f"{hashlib.sha256(asked.encode()).hexdigest()}.json"

    def _remember(self, header: dict[str, Any]) -> None:
        """Keep an outcome, whole or not at all; the oldest make room. A cache that cannot be written is no harm."""
        file = self._cache_file()
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as new:
                json.dump(header, new)
            Path(new.name).replace(file)
            kept = sorted(file.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)
            for old in kept[:-KEPT]:
                old.unlink(missing_ok=True)


def _result(fields: Any, job: Job) -> Compiled:
    if not isinstance(fields, dict):
        raise MalformedAnswer("a result is not an object")
    numbers = [fields.get(name) for name in ("shared", "registers", "spilled")]
    if not all(n is None or (isinstance(n, int) and n >= 0) for n in numbers):
        raise MalformedAnswer("a result's numbers are none")
    error, alone = fields.get("error"), fields.get("alone")
    if type(alone) is int and 0 <= alone < len(job.parts):
        job = job.parts[alone]
    return Compiled(job, None if error is None else parse_error(error), *numbers)
