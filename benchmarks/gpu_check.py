"""`python3 -m benchmarks.gpu_check`: how long a check on a GPU takes, beside PyTorch that makes one number there.

Whole processes, in turn; nothing that a check has compiled is kept for the next one. Writes into $OUT, or into
`benchmarks/results/`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.page import RESULTS
from benchmarks.setting import in_words, setting
from checker.course.ladder import RUNGS, stems
from checker.course.places import solution

YARDSTICK = "import torch; print(torch.zeros(1, device='cuda').device, torch.cuda.get_device_name())"
RUNS = 3


def seconds(command: list[str]) -> tuple[float, str]:
    """(time of a whole process, what it printed). Raises CalledProcessError if it failed."""
    begun = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.monotonic() - begun, done.stdout


def main() -> None:
    """Measure, print and write the table."""
    commands = {"the yardstick": [sys.executable, "-c", YARDSTICK]}
    for puzzle_id in stems():
        if not RUNGS[puzzle_id].pytorch:
            check = [sys.executable, "-m", "checker", "check", puzzle_id, "--device", "cuda"]
            commands[puzzle_id] = [*check, "--file", str(solution(puzzle_id))]
    where = setting(("torch", "triton"))
    times: dict[str, list[float]] = {name: [] for name in commands}
    gpu = ""
    for _ in range(RUNS):
        for name, command in commands.items():
            taken, said = seconds(command)
            times[name].append(taken)
            if name == "the yardstick":
                gpu = said.split(maxsplit=1)[1].strip()
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    lines = [
        "# How long a check on a GPU takes",
        "",
        f"{gpu}; {in_words(where)}; medians of {RUNS}, whole processes, right kernels. Made by",
        "`python3 -m benchmarks.gpu_check`. The yardstick is `import torch; torch.zeros(1, device='cuda')`.",
        "",
        "| | median s | min–max s | of the yardstick |",
        "|---|---:|---:|---:|",
    ]
    for name, taken in times.items():
        share = medians[name] / medians["the yardstick"]
        lines.append(f"| {name} | {medians[name]:.2f} | {min(taken):.2f}–{max(taken):.2f} | {share:.2f} |")
    page = "\n".join(lines) + "\n"
    print(page)
    Path(os.environ.get("OUT") or RESULTS, "gpu_check.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
