"""Measure a puzzle's kernels on this machine's GPU, or predict without one; keep the result, and a picture of it."""

from __future__ import annotations

import contextlib
import datetime
import json
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from checker import catalog
from checker.bench.inside.request import Request
from checker.bench.result import IN_GLUON, Result, Timing, from_json
from checker.bench.roofline import NAMED, asked, size_of
from checker.check import Outcome, program_of
from checker.course import ladder, places
from checker.course.puzzle import PLENTY, Puzzle, Timed
from checker.course.status import Misuse
from checker.course.verdict import Traffic
from checker.judge.forms import fitting
from checker.sandbox.compiling import cache_folder
from checker.sandbox.parent import torch_gpu_missing
from checker.sandbox.processes import Started, command_of, environment
from checker.submission.read import Submission, from_file

Tell = Callable[[str], None]


class BenchmarkFailed(Exception):
    """The GPU, or the process that used it, gave up: a sentence."""


@dataclass(frozen=True)
class Extent:
    """The sizes to measure, and the time for it."""

    every: bool = False  # every size of the catalog, and not the usual ones only
    milliseconds: int = 80  # of runs per implementation and size
    most_seconds: float = 600.0

    def sizes(self, puzzle: Puzzle, free: int) -> list[Timed]:
        """Return the sizes to be timed on a GPU with so many free bytes."""
        assert puzzle.timed is not None
        return [timed for timed in puzzle.timed(free) if timed.usual or self.every]


def source_of(puzzle_id: str, submission: Submission) -> str:
    """Return the kernels of a submission, and nothing else of it."""
    program, _ = program_of(submission, catalog.load(puzzle_id).kernels)
    return program.source


def of_the_course(puzzle_id: str, path: Path) -> str | Path:
    """Return a solution or a tuned version as it is timed: its linted kernels, or itself if it launches itself."""
    return path if places.launches_itself(path) else source_of(puzzle_id, from_file(path))


def result_of(outcome: Outcome, extent: Extent, tell: Tell, *, only_predict: bool = False) -> Result:
    """Time an accepted submission next to the course's own kernels, or predict if there is no GPU. Raises Misuse."""
    puzzle_id = outcome.verdict.puzzle
    assert puzzle_id is not None and outcome.submission is not None and outcome.program is not None
    puzzle = catalog.load(puzzle_id)
    if puzzle.pytorch:
        raise Misuse(f"Puzzle {puzzle_id} is written in PyTorch: it is judged by memory and work, and not timed.")
    if puzzle.timed is None:
        raise Misuse(f"Puzzle {puzzle_id} has no sizes to be timed at.")
    if only_predict or torch_gpu_missing():
        return predict(puzzle_id, extent, outcome.verdict.runs[0].traffic)
    sources: dict[str, str | Path] = {"yours": outcome.program.source}
    forms = {"solution": places.solution(puzzle_id)}
    for path in places.steps(puzzle_id):  # the last of each kind remains
        forms[IN_GLUON if places.launches_itself(path) else "tuned"] = path
    for name, path in forms.items():
        if path.exists() and path.read_text(encoding="utf-8") != outcome.submission.text:
            sources[name] = of_the_course(puzzle_id, path)
    return measure(puzzle_id, sources, extent, tell)


def predict(puzzle_id: str, extent: Extent, traffic: Iterable[Traffic] = (), free: int = PLENTY) -> Result:
    """Return what the roofline allows on named GPUs: `low` if each byte is moved once, else as counted on the
    interpreter.

    `free`: bytes that a GPU of that kind is taken to have.
    """
    puzzle = catalog.load(puzzle_id)
    traffic = list(traffic)
    sizes = []
    for timed in extent.sizes(puzzle, free):
        size = size_of(puzzle, timed, traffic)
        timings = []
        for gpu in NAMED:
            best, counted = (1e3 * gpu.seconds(size.flops, moved) for moved in (size.least, size.counted))
            timings.append(Timing(gpu.name, counted, best, counted))
        sizes.append(replace(size, timings=tuple(timings)))
    return Result(puzzle_id, puzzle.title, tuple(sizes), date=_today())


def measure(
    puzzle_id: str,
    sources: Mapping[str, str | Path],
    extent: Extent,
    tell: Tell,
    timed: Sequence[Timed] | Callable[[int], list[Timed]] | None = None,
) -> Result:
    """Time kernels and peers in one process. Raises BenchmarkFailed.

    `sources`: by name, linted text; or the path of a file of the project's own that launches itself and is not linted.
    `timed`: at these sizes, or those for the GPU's free bytes, in place of the puzzle's own.
    """
    puzzle = catalog.load(puzzle_id)
    before = _clocks()
    with _child(extent.most_seconds) as child:
        found = child.answer(tell)
        free, target, shared = (found[name] for name in ("free", "target", "shared"))
        chosen = timed(free) if callable(timed) else timed or extent.sizes(puzzle, free)
        wanted = [_fitting(one, target, shared, puzzle.work is not None) for one in chosen]
        child.ask(
            {
                "sources": {name: text for name, text in sources.items() if isinstance(text, str)},
                "own": {name: str(path) for name, path in sources.items() if isinstance(path, Path)},
                "sizes": [asked(one) for one in wanted],
                "milliseconds": extent.milliseconds,
            }
        )
        gpu = child.answer(tell)
        sizes = []
        for one in wanted:
            measured = child.answer(tell)
            timings = tuple(Timing(**timing) for timing in measured["timings"])
            sizes.append(replace(size_of(puzzle, one), timings=timings, left_out=tuple(measured["left_out"])))
    clocks = f"before: {before}; after: {_clocks()}"
    return Result(puzzle_id, puzzle.title, tuple(sizes), clocks=clocks, date=_today(), **gpu)


def reread(path: Path) -> Result:
    """Return a result that was kept. Misuse if the file is none."""
    try:
        return from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Misuse(f"{path} cannot be shown: {error}.") from error


def save(result: Result, folder: Path) -> list[Path]:
    """Write JSON, and a picture if matplotlib is there; the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    data, picture = (folder / f"{ladder.entry(result.puzzle).stem}.{kind}" for kind in ("json", "png"))
    data.write_text(result.to_json(), encoding="utf-8")
    try:
        from checker.bench import chart
    except ImportError:  # a GPU host's own environment may not have it
        return [data]
    picture.write_bytes(chart.png(result))
    return [data, picture]


def _fitting(timed: Timed, target: str, shared: int, multiplies: bool) -> Timed:
    """Return the same with what is to be tried on this GPU."""
    tried = {name: fitting(some, target, shared, multiplies) for name, some in timed.tunings.items()}
    return replace(timed, tunings=tried)


@dataclass
class _Child:
    """The process that measures."""

    process: Started
    complaint: Path  # what it writes to standard error
    late: bool = False  # its time was up

    def stop(self) -> None:
        """End it: its time is up."""
        self.late = True
        self.process.end()

    def ask(self, request: Request) -> None:
        """Send the one request."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # its complaint says why
            self.process.stdin.write(json.dumps(request).encode())
            self.process.stdin.close()

    def answer(self, tell: Tell) -> dict[str, Any]:
        """Return what it answers next; what it does until then is told. Raises BenchmarkFailed."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                said = json.loads(line)
            except (ValueError, RecursionError):
                said = None
            if not isinstance(said, dict):
                raise BenchmarkFailed("The GPU's process wrote something that is not a result.")
            if "doing" not in said:
                return said
            tell(said["doing"])
        if self.late:
            raise BenchmarkFailed("The benchmark did not finish in time.")
        last = self.complaint.read_text(errors="replace").strip().splitlines()[-1:] or ["no reason given"]
        raise BenchmarkFailed(f"The GPU's process ended early: {last[0][:300]}")


@contextlib.contextmanager
def _child(most_seconds: float) -> Iterator[_Child]:
    """The child, which does not outlive this, nor its time."""
    with tempfile.TemporaryDirectory(prefix="flash-puzzles-bench-", ignore_cleanup_errors=True) as folder:
        variables = environment(folder)
        try:
            cache = cache_folder() / "bench"
        except RuntimeError:
            cache = Path(folder)
        variables |= {"TRITON_CACHE_DIR": str(cache / "triton"), "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor")}
        complaint = Path(folder) / "complaint"
        with complaint.open("wb") as stderr:
            process = Started(
                command_of("checker.bench.inside.child"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=folder,
                env=variables,
                start_new_session=True,
            )
        child = _Child(process, complaint)
        timer = threading.Timer(most_seconds, child.stop)
        timer.start()
        try:
            yield child
        finally:
            timer.cancel()
            process.end()


def _clocks() -> str:
    """Return the clocks of GPU and memory now, if the driver tells."""
    query = ["nvidia-smi", "--query-gpu=clocks.sm,clocks.mem,temperature.gpu", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    sm, memory, degrees = (*done.stdout.splitlines()[0].split(", "), "?", "?")[:3]
    return f"SM {sm}, memory {memory}, {degrees} °C"


def _today() -> str:
    return datetime.date.today().isoformat()
