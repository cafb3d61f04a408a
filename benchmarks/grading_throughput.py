"""Submissions graded in a minute, next to nbgrader without our steps, and its growth with the class.

    python -m benchmarks.grading_throughput [--runs 3] [--class 100 1000 10000] [--write]
    python -m benchmarks.grading_throughput --report 300 10000 [--write]

The second form measures only the page on a class, and leaves the other figures as they were.

Whole commands, with everything that they start and import. "Own" submissions differ from each other; of those that are
alike one is judged. nbgrader as it is executes the same notebooks, with tests in them that import torch and triton and
compare with torch, on Triton's interpreter, as a course without this checker would have it.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

from benchmarks.made_up_class import PUZZLES, STEMS, hand_in, submissions, with_own_name
from benchmarks.page import RESULTS, below, children, show
from benchmarks.setting import ROOT, in_words, setting
from checker.course.status import ExitStatus
from checker.nbgrader.assignment import source_notebook

NOTEBOOKS = 30  # that nbgrader as it is grades
OWN = 120  # submissions, all different
FIRE, KILL_SECONDS = 400, 20.0
REPORTED = 300  # submissions that are judged before a page is made of them
OF_A_CLASS = (ExitStatus.ACCEPTED, ExitStatus.FAULT)  # there are files that cannot be read, and so get no score
STOCK_TEST = """
import torch

for n_rows, n_cols in [(4, 64), (3, 100), (2, 1000), (8, 781)]:
    x = torch.randn(n_rows, n_cols)
    torch.testing.assert_close(naive_softmax(x), torch.softmax(x, dim=-1))
"""


def command(folder: Path, *words: str, ends: tuple[int, ...] = (0,), **variables: str) -> float:
    """Seconds of a whole command in `folder`. RuntimeError unless it ends with one of these statuses."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(folder / "config"), **variables}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"  # nbgrader starts alembic by name
    begun = time.perf_counter()
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in ends:
        raise RuntimeError(f"{words}: {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.perf_counter() - begun


def checker(folder: Path, *words: str, ends: tuple[int, ...] = (ExitStatus.ACCEPTED,)) -> float:
    """Seconds of one of our commands."""
    return command(folder, sys.executable, "-m", "checker", *words, ends=ends)


def notebook(student: int, *, stock: bool) -> str:
    """A right submission of puzzle p1, without the experiments; in a stock course the check is a test."""
    made = nbformat.reads(source_notebook(ROOT, "p1", 100), as_version=4)
    check = next(n for n, cell in enumerate(made.cells) if cell.metadata.get("nbgrader", {}).get("grade"))
    made.cells = made.cells[: check + 1]
    if stock:
        made.cells[check].source = STOCK_TEST
    kernel = next(cell for cell in made.cells if cell.metadata.get("nbgrader", {}).get("solution"))
    if student >= 0:
        own = with_own_name(kernel.source.encode(), f"of_{student}").decode()
        kernel.source = re.sub("### (BEGIN|END) SOLUTION", "", own)
    return nbformat.writes(made)


def hand_in_notebooks(course: Path, *, stock: bool) -> None:
    """Write the submissions of all students to where nbgrader collects them."""
    for student in range(NOTEBOOKS):
        place = course / "submitted" / f"student{student:02}" / STEMS["p1"]
        place.mkdir(parents=True)
        (place / f"{STEMS['p1']}.ipynb").write_text(notebook(student, stock=stock))


def of_nbgrader_as_it_is(folder: Path) -> float:
    """Seconds for `autograde` of NOTEBOOKS."""
    (folder / "nbgrader_config.py").write_text("c = get_config()\nc.CourseDirectory.course_id = 'stock'\n")
    source = folder / "source" / STEMS["p1"]
    source.mkdir(parents=True)
    (source / f"{STEMS['p1']}.ipynb").write_text(notebook(-1, stock=True))
    command(folder, "nbgrader", "generate_assignment", STEMS["p1"])
    hand_in_notebooks(folder, stock=True)
    took = command(folder, "nbgrader", "autograde", STEMS["p1"], TRITON_INTERPRET="1")
    command(folder, "nbgrader", "export", "--to=grades.csv")
    with (folder / "grades.csv").open() as file:
        scores = Counter(row["score"] for row in csv.DictReader(file))
    if scores != {"100.0": NOTEBOOKS}:
        raise RuntimeError(f"nbgrader as it is gave {scores}")
    return took


def of_ours(folder: Path) -> dict[str, float]:
    """Seconds for the same notebooks: `grade`, and then `autograde`, which has only to take over what is known."""
    checker(folder, "course", "course")
    course = folder / "course"
    command(course, "nbgrader", "generate_assignment", STEMS["p1"], XDG_CONFIG_HOME=str(folder / "config"))
    hand_in_notebooks(course, stock=False)
    took = {"grade": checker(folder, "grade", "--csv", "grades.csv")}
    assert_scores(folder, NOTEBOOKS, accepted=NOTEBOOKS)
    if (judged := records(course)) != NOTEBOOKS:
        raise RuntimeError(f"they are not all different: {judged} records of {NOTEBOOKS}")
    took["autograde"] = command(course, "nbgrader", "autograde", STEMS["p1"], XDG_CONFIG_HOME=str(folder / "config"))
    return took


def records(course: Path) -> int:
    """How many programs were judged."""
    return len(list((course / "records").rglob("*.json")))


def assert_scores(folder: Path, count: int, accepted: int | None = None) -> dict[str, int]:
    """How many of each verdict; RuntimeError unless everybody has one."""
    with (folder / "grades.csv").open() as file:
        verdicts = Counter(row["verdict"] for row in csv.DictReader(file))
    if verdicts.total() != count or "" in verdicts or accepted not in (None, verdicts["accepted"]):
        raise RuntimeError(f"the gradebook is not complete: {verdicts}")
    return dict(verdicts)


def own(folder: Path, kind: str) -> float:
    """Seconds for OWN submissions of puzzles p1 to p4, all of them different: `right`, or half of them `wrong`."""
    checker(folder, "course", "course")
    every = [one for one in submissions(100 * OWN) if one[0] in ("right, own", "wrong, own")]
    right = [one for one in every if one[0] == "right, own"]
    wrong = [one for one in every if one[0] == "wrong, own"]
    chosen = right[:OWN] if kind == "right" else [*right[: OWN // 2], *wrong[: OWN // 2]]
    hand_in(folder / "handed in", iter(chosen))
    took = checker(folder, "grade", "handed in", "--csv", "grades.csv")
    assert_scores(folder, OWN)
    return took


def class_of(folder: Path, count: int) -> dict[str, Any]:
    """One run over a whole class."""
    checker(folder, "course", "course")
    made = list(submissions(count))
    hand_in(folder / "handed in", iter(made))
    memory = _Memory()
    with memory:
        seconds = checker(folder, "grade", "handed in", "--csv", "grades.csv", "--json", "grades.json", ends=OF_A_CLASS)
    return {
        "submissions": count,
        "distinct": records(folder / "course"),
        "seconds": seconds,
        "verdicts": assert_scores(folder, count),
        "memory, by quarters": memory.quarters(),
    }


def reports(folder: Path, counts: list[int]) -> dict[str, float]:
    """Seconds for the page on a class of each size. A few are judged; the others hand in the same under other names."""
    checker(folder, "course", "course")
    submitted = folder / "course" / "submitted"
    hand_in(submitted, submissions(min(REPORTED, *counts)))
    checker(folder, "grade", ends=OF_A_CLASS)
    some, took = sorted(submitted.iterdir()), {}
    for count in sorted(counts):
        for number in range(len(list(submitted.iterdir())), count):
            shutil.copytree(some[number % len(some)], submitted / f"other{number:05}")
        took[str(count)] = checker(folder, "class-report")
    return took


def under_fire(folder: Path, count: int) -> dict[str, Any]:
    """A class on two Dask workers of which one is killed every KILL_SECONDS, and again on none that is."""
    own_ones = [one for one in submissions(10 * count) if one[0].endswith("own")][:count]
    hand_in(folder / "handed in", iter(own_ones))
    results, seconds, kills = [], [], 0
    for name, words in (("fire", ["--cluster", "local", "--jobs", "2"]), ("calm", [])):
        checker(folder, "course", name)
        begun = time.perf_counter()
        grading = subprocess.Popen(
            [sys.executable, "-m", "checker", "grade", "handed in", "--course", name, "--json", f"{name}.json", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(folder / "config")},
            stdout=subprocess.DEVNULL,
        )
        while name == "fire" and grading.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                grading.wait(KILL_SECONDS)
                break
            if workers := [pid for pid in children(grading.pid) if "spawn_main" in _command_line(pid)]:
                os.kill(workers[kills % len(workers)], signal.SIGKILL)
                kills += 1
        if grading.wait() != 0:
            raise RuntimeError(f"grading ended with {grading.returncode}")
        seconds.append(time.perf_counter() - begun)
        results.append(_canonical(json.loads((folder / f"{name}.json").read_text())))
    if results[0] != results[1] or records(folder / "fire") != count:
        raise RuntimeError(f"not the same: {records(folder / 'fire')} records of {count}")
    return {"submissions": count, "kills": kills, "seconds": seconds[0], "seconds without": seconds[1]}


def _canonical(export: Any) -> Any:
    """An export without what may differ from run to run."""
    if isinstance(export, dict):
        return {name: _canonical(value) for name, value in export.items() if name != "seconds"}
    return [_canonical(one) for one in export] if isinstance(export, list) else export


class _Memory:
    """MB of all processes below this one, sampled: each page counted once (PSS)."""

    def __init__(self) -> None:
        self.samples: list[float] = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._sample)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def _sample(self) -> None:
        while not self.over.wait(1.0):
            self.samples.append(sum(_pss(pid) for pid in below(os.getpid())) / 1024)

    def quarters(self) -> list[float]:
        """The median of each quarter of the run."""
        quarter = max(1, len(self.samples) // 4)
        parts = [self.samples[n * quarter : (n + 1) * quarter] for n in range(4)]
        return [round(statistics.median(part)) for part in parts if part]


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def _pss(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return float(next(line for line in lines if line.startswith("Pss:")).split()[1])
    except (OSError, StopIteration):  # it ended meanwhile
        return 0.0


def measure(runs: int, classes: list[int]) -> dict[str, Any]:
    """All figures, as data. What is compared is measured in turns."""
    figures: dict[str, Any] = {"setting": setting(("triton", "nbgrader", "torch")), "runs": runs}
    turns: dict[str, list[float]] = {"stock": [], "grade": [], "autograde": [], "right": [], "half": []}
    for _ in range(runs):
        with _folder() as folder:
            turns["stock"].append(of_nbgrader_as_it_is(folder))
        with _folder() as folder:
            for name, seconds in of_ours(folder).items():
                turns[name].append(seconds)
        for kind in ("right", "half"):
            with _folder() as folder:
                turns[kind].append(own(folder, kind))
        print(turns, file=sys.stderr, flush=True)  # all of it takes an hour, and may end before that
    figures["turns"] = turns
    with _folder() as folder:
        figures["under fire"] = under_fire(folder, FIRE)
    figures["classes"] = []
    for count in classes:
        with _folder() as folder:
            figures["classes"].append(class_of(folder, count))
        print(figures["classes"][-1], file=sys.stderr, flush=True)
    return figures


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="grading-throughput-") as folder:
        yield Path(folder)


def markdown(figures: dict[str, Any]) -> str:
    """The page of results."""
    seconds = {name: statistics.median(turns) for name, turns in figures["turns"].items() if turns}
    lines = [
        "# Grading",
        "",
        f"{in_words(figures['setting'])}. Medians of {figures['runs']} turns, whole commands.",
        "",
    ]
    if seconds:
        stock, ours, both = (seconds["stock"], seconds["grade"], seconds["grade"] + seconds["autograde"])
        lines += [
            f"| {NOTEBOOKS} notebooks of puzzle p1, right, all different | s | a minute | |",
            "|---|---|---|---|",
            f"| nbgrader as it is: `nbgrader autograde` | {stock:.1f} | {60 * NOTEBOOKS / stock:.0f} | 1 |",
            f"| `make grade` | {ours:.1f} | {60 * NOTEBOOKS / ours:.0f} | {stock / ours:.1f} × |",
            f"| both, one after the other | {both:.1f} | {60 * NOTEBOOKS / both:.0f} | {stock / both:.1f} × |",
            "",
            f"| {OWN} files of puzzles {PUZZLES[0]} to {PUZZLES[-1]}, all different | s | a second |",
            "|---|---|---|",
            f"| all right | {seconds['right']:.1f} | {OWN / seconds['right']:.1f} |",
            f"| half of them wrong | {seconds['half']:.1f} | {OWN / seconds['half']:.1f} |",
            "",
        ]
    fire = figures["under fire"]
    lines += [
        f"{fire['submissions']} files, all different, on two Dask workers, one of which was killed every "
        f"{KILL_SECONDS:.0f} s: {fire['kills']} kills, {fire['seconds']:.0f} s. Every submission has one record, and "
        "the export is, but for the times in it, that of a run without Dask in which nobody was killed, which took "
        f"{fire['seconds without']:.0f} s.",
        "",
    ]
    if figures["classes"]:
        lines += [
            "| class | judged | s | of the class a second | judged a second | MB in each quarter of the run |",
            "|---|---|---|---|---|---|",
        ]
    for one in figures["classes"]:
        count, judged, took = one["submissions"], one["distinct"], one["seconds"]
        memory = ", ".join(f"{value:.0f}" for value in one["memory, by quarters"])
        lines.append(f"| {count} | {judged} | {took:.0f} | {count / took:.1f} | {judged / took:.1f} | {memory} |")
    if report := figures.get("report"):
        each = ", ".join(f"{seconds:.1f} s for {count}" for count, seconds in report["seconds"].items())
        lines += ["", f"`make class`, of what was judged before ({in_words(report['setting'])}): {each}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, and write if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--class", dest="classes", type=int, nargs="*", default=[100, 1000, 10000])
    parser.add_argument("--report", type=int, nargs="+", default=[], help="measure only the page on a class")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/grading_throughput.{md,json}")
    options = parser.parse_args()
    if options.report:
        figures = json.loads((RESULTS / "grading_throughput.json").read_text())
        with _folder() as folder:
            seconds = reports(folder, options.report)
        figures["report"] = {"setting": setting(("triton",)), "seconds": seconds}
    else:
        figures = measure(options.runs, options.classes)
    show("grading_throughput", figures, markdown(figures), options.write)


if __name__ == "__main__":
    main()
