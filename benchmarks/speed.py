"""`python3 -m benchmarks.speed [PUZZLE ...]`: every size of every timed puzzle, on this machine's GPU, all in one run.

Times the solution, each step of the speed track, and the peers; writes `speed.json` and `speed.md` into $OUT,
or into `benchmarks/results/`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from checker import catalog
from checker.bench import command, table
from checker.bench.result import Result
from checker.bench.run import Extent, measure
from checker.course import ladder
from checker.submission.read import from_file

RESULTS = Path(os.environ.get("OUT", Path(__file__).parent / "results"))


def forms(puzzle_id: str) -> dict[str, str]:
    """Linted text of the solution and of each step, by name."""
    paths = {"solution": command.SOLUTIONS / f"{ladder.stems()[puzzle_id]}.py"}
    for path in command.steps(puzzle_id):
        _, step, *words = path.stem.split("_")
        paths[f"tuned {step}, {' '.join(words)}"] = path
    return {name: command.source_of(puzzle_id, from_file(path)) for name, path in paths.items()}


def write(results: list[Result], commit: str) -> None:
    """The data, and the tables made of it."""
    kept = {"commit": commit, "results": [json.loads(result.to_json()) for result in results]}
    (RESULTS / "speed.json").write_text(json.dumps(kept, indent=1) + "\n")
    heading = f"# Speed\n\nWritten by `python3 -m benchmarks.speed` at commit {commit}.\n"
    (RESULTS / "speed.md").write_text("\n".join((heading, table.summary(results), table.markdown(results))) + "\n")


def main() -> None:
    """Measure, and write what was measured after each puzzle."""
    described = subprocess.run(
        ["git", "describe", "--always"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    results: list[Result] = []
    timed = [rung for rung in ladder.RUNGS if catalog.load(rung).timed]
    for puzzle_id in map(ladder.id_of, sys.argv[1:]) if sys.argv[1:] else timed:
        own = forms(puzzle_id)
        results.append(measure(puzzle_id, own, Extent(every=True), lambda doing: print(doing, file=sys.stderr)))
        write(results, described.stdout.strip() or "unknown")


if __name__ == "__main__":
    main()
