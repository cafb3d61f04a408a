"""Duration of a check, next to `python -c "import torch, triton"` in the same run.

    python -m benchmarks.check_latency [--runs 15] [--fresh] [--write]

Every command runs as a whole process, in turn (A B C A B C …), so that a drift of the machine hits
all alike; medians and ratios are quoted. Memory is the sum over all processes of a check, sampled
from /proc: PSS counts a page that processes share once, RSS once for each of them. `--fresh` also
clones the repository into an empty directory and times the first `make check PUZZLE=1` there.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import page
from benchmarks.setting import ROOT, in_words, setting
from checker.course.ladder import RUNGS, stems
from tests.kernels import named
from tests.train.conftest import course_in

YARDSTICK = "import torch, triton"
WRONG = {  # a mistake of each puzzle whose diagnosis compares many misconceptions
    "w1": "w1_mask_of_lanes",
    "w2": "w2_infinite_padding",
    "w3": "w3_tile_not_transposed",
    "a1": "a1_padding_counted",
    "a2": "a2_denominator_not_rescaled",
    "a3": "a3_denominator_not_rescaled",
    "p1": "p1_padding_loaded_as_zero",
    "p2": "p2_block_local",
    "p3": "p3_not_rescaled",
    "p4": "p4_not_rescaled",
    "p5": "p5_new_part_not_rescaled",
    "p6": "p6_top_left",
    "a4": "a4_delta_missing",
    "p7": "p7_delta_missing",
    "b1": "b1_bias_scaled",
    "b2": "b2_dropped_p_in_ds",
    "b3": "b3_accumulator_not_rescaled",
}


ALONE = {id: stem for id, stem in stems().items() if not RUNGS[id].launches}  # the others run kernels of these
NOTHING_KEPT = ["sh", "-c", 'cache=$(mktemp -d); XDG_CACHE_HOME="$cache" "$@"; rm -r "$cache"', "sh"]


def check(puzzle_id: str, path: str, *options: str) -> list[str]:
    """The command line of a whole check."""
    return [sys.executable, "-m", "checker", "check", puzzle_id, "--file", path, *options]


def commands(folder: Path) -> dict[str, list[str]]:
    """The command lines by what they are called; wrong kernels and a learner's course are written into a folder."""
    course = folder / "course"
    course.mkdir()
    inside = ["env", "-C", str(course_in(course)), f"PYTHONPATH={course}", sys.executable, "-m", "checker"]
    return {
        YARDSTICK: [sys.executable, "-c", YARDSTICK],
        **{
            f"puzzle {id}, right, --no-compile": check(id, f"solutions/{s}.py", "--no-compile")
            for id, s in ALONE.items()
        },
        "puzzle c1, right, with kernels of its own folder": [*inside, "check", "c1"],
        **{f"puzzle {id}, right, compiled before": check(id, f"solutions/{s}.py") for id, s in ALONE.items()},
        **{
            f"puzzle {id}, right, compiled now": NOTHING_KEPT + check(id, f"solutions/{s}.py")
            for id, s in ALONE.items()
        },
        **{
            f"puzzle {id}, wrong, with diagnosis": check(id, str(named(name).write(folder)))
            for id, name in WRONG.items()
        },
        "puzzle p1, not started": check("p1", "puzzles/p1_naive_softmax.py"),
    }


def seconds(command: list[str]) -> float:
    """Wall-clock time of a whole process."""
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
    passed = time.perf_counter() - started
    if done.returncode not in (0, 1, 4):  # accepted, refused, not started
        raise RuntimeError(f"{command} ended with {done.returncode}")
    return passed


def peak_memory(command: list[str]) -> dict[str, float]:
    """Largest sum of PSS and of RSS over a process and its descendants, in MB."""
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    peak = {"PSS": 0.0, "RSS": 0.0}
    while child.poll() is None:
        total = dict.fromkeys(peak, 0.0)
        for pid in [child.pid, *page.below(child.pid)]:
            try:
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            except OSError:
                continue
            for line in lines:
                name, _, rest = line.partition(":")
                if name.upper() in total:
                    total[name.upper()] += int(rest.split()[0]) / 1000
        peak = {name: max(peak[name], total[name]) for name in peak}
        time.sleep(0.003)
    return peak


def fresh_clone() -> dict[str, float]:
    """Seconds and MB from an empty directory to the first verdict; downloads whatever pip has not cached."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        subprocess.run(["git", "clone", "-q", str(ROOT), f"{folder}/course"], check=True)
        command = ["make", "check", "PUZZLE=1", f"PYTHON={Path(sys.executable).resolve()}"]
        subprocess.run(command, cwd=f"{folder}/course", stdout=subprocess.DEVNULL, check=True)
        passed = time.perf_counter() - started
        size = subprocess.run(["du", "-sm", f"{folder}/course"], capture_output=True, text=True, check=True)
        return {"seconds": passed, "MB": float(size.stdout.split()[0])}


def measure(runs: int, fresh: bool) -> dict[str, Any]:
    """All figures, as data."""
    with tempfile.TemporaryDirectory() as folder:
        return measured(commands(Path(folder)), runs, fresh)


def measured(lines: dict[str, list[str]], runs: int, fresh: bool) -> dict[str, Any]:
    """The figures of some command lines."""
    where = setting(("triton", "torch", "numpy"))
    times: dict[str, list[float]] = {name: [] for name in lines}
    for turn in range(runs + 1):
        for name, command in lines.items():
            passed = seconds(command)
            if turn:  # the first turn warms the disk cache
                times[name].append(passed)
    yardstick = statistics.median(times[YARDSTICK])
    return {
        **where,
        "runs": runs,
        "commands": {
            name: page.spread(values) | {"ratio": statistics.median(values) / yardstick}
            for name, values in times.items()
        },
        "memory_MB": {name: peak_memory(line) for name, line in lines.items()},
        "fresh_clone": fresh_clone() if fresh else None,
    }


def markdown(figures: dict[str, Any]) -> str:
    """The figures as a page."""
    lines = [
        "# How long a check takes",
        "",
        f"{in_words(figures)}; "
        f"{figures['runs']} runs of each, in turn. Made by `python -m benchmarks.check_latency --fresh --write`.",
        "",
        "| whole process | median s | min–max s | of `import torch, triton` | PSS MB | RSS MB |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in figures["commands"].items():
        memory = figures["memory_MB"].get(name, {})
        sizes = " | ".join(f"{memory[kind]:.0f}" if memory else "" for kind in ("PSS", "RSS"))
        span = f"{row['min']:.2f}–{row['max']:.2f}"
        lines.append(f"| {name} | {row['median']:.2f} | {span} | {row['ratio']:.2f} | {sizes} |")
    if figures["fresh_clone"]:
        one = figures["fresh_clone"]
        lines += [
            "",
            f"From an empty directory to the first verdict: {one['seconds']:.0f} s, {one['MB']:.0f} MB on disk",
        ]
        lines[-1] += " (wheels came from a registry nearby, or from pip's cache)."
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    page.main("check_latency", __doc__, measure, markdown, runs=15, fresh="also install into an empty directory")
