"""Duration of each command, and the size of the course.

    python3 -m benchmarks.commands [--runs 7] [--fresh] [--write]

Everything happens in a fresh clone of the last commit. Commands run as whole processes, in turns (A B C A B C …),
so that a drift of the machine hits all alike. Cold: there is no bytecode of the course yet, and nothing in any
cache of its own, as after a clone; the disk's cache is warm. `--fresh` also installs each layer into that clone.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import page
from benchmarks.setting import ROOT, in_words, setting
from checker.course.ladder import stems

STEMS = stems()
CHECKER = [sys.executable, "-m", "checker"]
WATCHED = ("p1", "p5", "p6", "p7")
COLD_RUNS = 3
MARK = "    # FILL IN"


@dataclass(frozen=True)
class Clone:
    """A clone to work in, and its own caches."""

    root: Path

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a command: nothing kept by other clones, and nothing kept for them."""
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        caches = dict.fromkeys(("XDG_CACHE_HOME", "MPLCONFIGDIR"), str(self.root / "caches"))
        return {**kept, "PYTHONPATH": str(self.root), **caches}

    def forget(self) -> None:
        """As it was after cloning, but for what is installed."""
        for folder in (self.root / "checker").rglob("__pycache__"):
            shutil.rmtree(folder)
        shutil.rmtree(self.root / "caches", ignore_errors=True)
        (self.root / "progress.txt").unlink(missing_ok=True)

    def begin_puzzle(self, puzzle_id: str) -> None:
        """As if a student had begun: something stands below the mark."""
        path = self.root / "puzzles" / f"{STEMS[puzzle_id]}.py"
        text = path.read_text()
        if f"{MARK.rstrip()}" in text and "begun = 1" not in text:
            path.write_text(text.replace(MARK, f"    begun = 1\n{MARK}", 1))


@dataclass(frozen=True)
class Command:
    """A command, and the state that it needs."""

    words: list[str]
    before: Callable[[Clone], None] = lambda clone: None


def solved(puzzle_id: str) -> list[str]:
    """The options that name a puzzle's solution."""
    return [puzzle_id, "--file", f"solutions/{STEMS[puzzle_id]}.py"]


MAKE = ["make", f"VENV={Path(sys.prefix)}"]
COMMANDS = {
    "help: `python -m checker --help`": Command([*CHECKER, "--help"]),
    "help: `make`": Command(["make"]),
    "check p1, not started": Command([*CHECKER, "check", "p1"]),
    "check p1, the same by make": Command([*MAKE, "check", "PUZZLE=p1"]),
    "check p1, right": Command([*CHECKER, "check", *solved("p1")]),
    "check p7, right": Command([*CHECKER, "check", *solved("p7")]),
    "check, all puzzles, not started": Command([*CHECKER, "check"]),
    "hint p4": Command([*CHECKER, "hint", "p4"]),
    "progress": Command([*CHECKER, "progress"]),
    "solution p4 --force": Command([*CHECKER, "solution", "p4", "--force"]),
    "reset p1": Command([*CHECKER, "reset", "p1"], lambda clone: clone.begin_puzzle("p1")),
    "trace p1, right": Command([*CHECKER, "trace", *solved("p1")]),
    "trace p5, right": Command([*CHECKER, "trace", *solved("p5")]),
    "trace p7, right: three pages": Command([*CHECKER, "trace", *solved("p7")]),
    "compiled p6, right": Command([*CHECKER, "compiled", *solved("p6")]),
    "compiled p7, right": Command([*CHECKER, "compiled", *solved("p7")]),
    "compiled p6, for sm_80": Command([*CHECKER, "compiled", *solved("p6"), "--targets", "sm_80"]),
    "bench p6 --predict": Command([*CHECKER, "bench", *solved("p6"), "--predict"]),
}


def seconds(clone: Clone, command: Command) -> float:
    """Wall-clock time of a whole process."""
    command.before(clone)
    begun = time.perf_counter()
    done = subprocess.run(command.words, cwd=clone.root, env=clone.variables, capture_output=True, check=False)
    passed = time.perf_counter() - begun
    if done.returncode not in (0, 4):
        raise RuntimeError(f"{command.words}: {done.returncode}: {done.stdout.decode()}{done.stderr.decode()}")
    return passed


def watching(clone: Clone) -> dict[str, float]:
    """Seconds from `watch` to its greeting, and from each save to the end of its report."""
    child = subprocess.Popen(
        [*CHECKER, "watch"], cwd=clone.root, env=clone.variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert child.stdout is not None
    took = {}
    try:
        begun = time.perf_counter()
        _until(child.stdout.fileno(), b"Ctrl-C ends this.")
        took["watch, until it watches"] = time.perf_counter() - begun
        time.sleep(1.0)  # it imports meanwhile what a check needs
        for puzzle_id in WATCHED:
            path = clone.root / "puzzles" / f"{STEMS[puzzle_id]}.py"
            before, text = path.read_text(), (clone.root / "solutions" / f"{STEMS[puzzle_id]}.py").read_text()
            begun = time.perf_counter()
            path.write_text(text)
            _until(child.stdout.fileno(), b"All of it is right")
            took[f"watch, from a save of {puzzle_id} to its report"] = time.perf_counter() - begun
            path.write_text(before)
            _until(child.stdout.fileno(), b"not started")
            time.sleep(0.3)
    finally:
        child.send_signal(signal.SIGINT)
        child.wait()
    return took


def _until(descriptor: int, words: bytes, most: float = 60.0) -> None:
    seen, end = b"", time.perf_counter() + most
    while words not in seen:
        if not select.select([descriptor], [], [], max(0.0, end - time.perf_counter()))[0]:
            raise RuntimeError(f"not shown within {most} s: {words.decode()}; but: {seen.decode()}")
        seen += os.read(descriptor, 65536)


def layers(clone: Clone) -> dict[str, dict[str, float]]:
    """Seconds and MB of each layer of the installation, one on top of the other."""
    python = f"PYTHON={Path(sys.executable).resolve()}"
    found, before = {}, 0.0
    for layer in ("check", "lab", "test"):
        begun = time.perf_counter()
        subprocess.run(["make", f".venv/.layer-{layer}", python], cwd=clone.root, capture_output=True, check=True)
        passed = time.perf_counter() - begun
        size = subprocess.run(["du", "-sm", str(clone.root / ".venv")], capture_output=True, text=True, check=True)
        whole = float(size.stdout.split()[0])
        found[layer] = {"seconds": passed, "MB": whole - before}
        before = whole
    return found


def sizes(root: Path) -> dict[str, Any]:
    """Bytes of what git keeps, of a clone with its history, and of each notebook."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    files = [root / name for name in names.split("\0") if name]
    history = sum(path.stat().st_size for path in (root / ".git").rglob("*") if path.is_file())
    tracked = sum(path.stat().st_size for path in files)
    notebooks = {path.name: path.stat().st_size for path in sorted((root / "notebooks").glob("*.ipynb"))}
    return {"files": len(files), "tracked": tracked, "clone": tracked + history, "notebooks": notebooks}


@contextlib.contextmanager
def cloned() -> Iterator[Clone]:
    """A clone of the last commit, gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "-q", f"file://{ROOT}", f"{folder}/course"], check=True)
        yield Clone(Path(folder) / "course")


def measure(runs: int, fresh: bool) -> dict[str, Any]:
    """All figures, as data."""
    where = setting(("triton", "numpy", "rich", "matplotlib"))
    with cloned() as clone:
        size = sizes(clone.root)
        cold: dict[str, list[float]] = {name: [] for name in COMMANDS}
        warm: dict[str, list[float]] = {name: [] for name in COMMANDS}
        for _ in range(COLD_RUNS):
            for name, command in COMMANDS.items():
                clone.forget()
                cold[name].append(seconds(clone, command))
        for turn in range(runs + 1):
            for name, command in COMMANDS.items():
                passed = seconds(clone, command)
                if turn:  # the first turn fills the caches
                    warm[name].append(passed)
        for turn in range(COLD_RUNS + runs):
            if turn < COLD_RUNS:
                clone.forget()
            for name, passed in watching(clone).items():
                (cold if turn < COLD_RUNS else warm).setdefault(name, []).append(passed)
        installed = layers(clone) if fresh else None
    return {
        **where,
        "load_after": round(os.getloadavg()[0], 1),
        "runs": runs,
        "cold_runs": COLD_RUNS,
        "commands": {name: {"cold": page.spread(cold[name]), "warm": page.spread(warm[name])} for name in warm},
        "layers": installed,
        "sizes": size,
    }


def markdown(figures: Mapping[str, Any]) -> str:
    """The figures as a page."""
    lines = [
        "# How long each command takes",
        "",
        f"{in_words(figures)}, {figures['load_after']} after. {figures['runs']} runs of each, in turns, and "
        f"{figures['cold_runs']} cold ones. Made by `python3 -m benchmarks.commands --fresh --write`.",
        "",
        "Whole processes, in a fresh clone. Cold: without bytecode of the course, and with nothing in any cache of its "
        "own; the disk's cache is warm.",
        "",
        "| command | median s | min–max s | cold, median s |",
        "|---|---|---|---|",
    ]
    for name, row in figures["commands"].items():
        warm, cold = row["warm"], row["cold"]
        lines.append(f"| {name} | {warm['median']:.2f} | {warm['min']:.2f}–{warm['max']:.2f} | {cold['median']:.2f} |")
    if figures["layers"]:
        lines += ["", "| layer installed | s | MB on disk |", "|---|---|---|"]
        lines += [f"| {name} | {one['seconds']:.0f} | {one['MB']:.0f} |" for name, one in figures["layers"].items()]
        lines += ["", "Each on top of the one before; wheels came from a registry nearby, or from pip's cache."]
    size = figures["sizes"]
    lines += [
        "",
        "# How large the course is",
        "",
        f"{size['files']} files, {size['tracked'] / 1e6:.2f} MB; with all history, {size['clone'] / 1e6:.2f} MB.",
        "",
        "| notebook | kB |",
        "|---|---|",
        *(f"| {name} | {count / 1e3:.1f} |" for name, count in size["notebooks"].items()),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    page.main("commands", __doc__, measure, markdown, runs=7, fresh="also install each layer")
