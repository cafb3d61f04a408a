"""`python -m benchmarks.capstone`: train the capstone's model on a GPU, with the course's own solutions.

It makes a learner's folder in which p6, p7 and c1 are solved, and runs `python -m checker train` there: the loss
with these kernels and with SDPA, and tokens per second of own, tuned, SDPA and eager attention. The page, the numbers
and the picture come into `$OUT`, or into `benchmarks/results/`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from checker import catalog
from checker.course.ladder import RUNGS
from checker.course.places import ROOT, script, solution

SOLVED = ("c1", *RUNGS["c1"].launches)


def filled_in(puzzle_id: str) -> str:
    """The puzzle's file with the solution's functions in place of the stub's."""
    stub, right = (path(puzzle_id).read_text(encoding="utf-8") for path in (script, solution))
    decorator = "" if RUNGS[puzzle_id].pytorch else "@triton.jit\n"
    before, _, after = stub.partition(f"# %%\n{decorator}def {catalog.load(puzzle_id).kernels[0].name}(")
    _, mark, rest = after.partition("# %% [markdown]")
    functions = right.split("\n\n\n", 1)[1].rstrip()  # below the docstring and the imports
    return f"{before}# %%\n{functions}\n\n\n{mark}{rest}"


def main() -> None:
    """Train, and leave the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", default="1000")
    options = parser.parse_args()
    results = Path(os.environ.get("OUT") or ROOT / "benchmarks" / "results")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("checker", "solutions"):
            (folder / part).symlink_to(ROOT / part)
        shutil.copytree(ROOT / "puzzles", folder / "puzzles")
        for puzzle_id in SOLVED:
            script(puzzle_id, folder).write_text(filled_in(puzzle_id), encoding="utf-8")
        asked = ["train", "--device", options.device, "--steps", options.steps, "--into", "train"]
        done = subprocess.run(
            [sys.executable, "-m", "checker", *asked],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])},
            check=False,
        )
        if done.returncode == 0:
            for suffix in ("json", "png"):
                shutil.copy(folder / "train" / f"train.{suffix}", results / f"capstone.{suffix}")
            page, _, _ = (folder / "train" / "page.md").read_text(encoding="utf-8").rpartition("\n\n")  # no progress
            (results / "capstone.md").write_text(page.replace("train.png", "capstone.png") + "\n", encoding="utf-8")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
