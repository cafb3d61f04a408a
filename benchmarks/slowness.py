"""`python3 -m benchmarks.slowness [NAME ...]`: on a GPU, what each named slowness costs.

The kernels are those of `tests/compiled/slow.toml`: one that is slow, and the same without the fault. Both are compared
with a reference, and then timed alternately in one process. Writes `slowness.json` and `slowness.md` into $OUT, or into
`benchmarks/results/`.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from checker import catalog
from checker.bench.result import Result
from checker.bench.run import Extent, measure
from checker.check import program_of
from checker.compiled.form import timed_at
from checker.course.puzzle import Timed
from checker.submission.read import from_cells
from tests.compiled.slow import Pair, pairs

RESULTS = Path(os.environ.get("OUT", Path(__file__).parent / "results"))


@dataclass(frozen=True)
class Cost:
    """The times of both kernels of a pair."""

    finding: str
    puzzle: str
    says: str
    unit: str  # of the speeds: TFLOP/s or GB/s
    slow: float
    quick: float
    slow_launch: str
    quick_launch: str

    @property
    def times(self) -> float:
        """How many times as fast the quick one is."""
        return self.quick / self.slow


def timed(pair: Pair, *, quick: bool) -> Timed:
    """The one launch of one of the two."""
    puzzle = catalog.load(pair.puzzle)
    size, launch = (pair.quick_size, pair.quick_launch) if quick else (pair.size, pair.launch)
    found = timed_at(puzzle, puzzle.kernels[0], size, launch)
    assert found is not None, f"puzzle {pair.puzzle} is not timed"
    [tuning] = found.tunings[puzzle.kernels[0].name]
    return replace(found, name=f"{found.name}; {tuning}", usual=False)


def source(pair: Pair, text: str) -> str:
    """The kernels of a text, and nothing else of it."""
    submission = from_cells([("code", text)], "kernel.py", numbered=False)
    return program_of(submission, catalog.load(pair.puzzle).kernels)[0].source


def measured(pair: Pair) -> tuple[Cost, Result]:
    """Both kernels, timed in one process."""
    forms = {"slow": source(pair, pair.slow_text), "quick": source(pair, pair.quick_text)}
    launches = {one.name: one for one in (timed(pair, quick=False), timed(pair, quick=True))}
    result = measure(pair.puzzle, forms, Extent(), lambda doing: print(doing, file=sys.stderr), [*launches.values()])
    first, last = result.sizes[0], result.sizes[-1]
    slow, quick = first.of("slow"), last.of("quick")
    assert slow is not None and quick is not None, [*first.left_out, *last.left_out]
    speeds = first.speed(slow.median), last.speed(quick.median)
    return Cost(pair.finding, pair.puzzle, pair.says, first.unit, *speeds, first.name, last.name), result


def page(costs: list[Cost], result: Result) -> str:
    """The costs as a page, the greatest first."""
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    lines = [
        "# What each named slowness costs",
        "",
        f"{result.gpu}, {versions}, {result.date}. Made by `python3 -m benchmarks.slowness`, both of a pair in a run;",
        "medians with a cold L2. The kernels are in [`tests/compiled/slow.toml`](../../tests/compiled/slow.toml).",
        "",
        "| name | puzzle | the slow kernel | slow | without it | times as fast |",
        "|---|---|---|---:|---:|---:|",
    ]
    for one in sorted(costs, key=lambda one: -one.times):
        speeds = f"{one.slow:.0f} {one.unit} | {one.quick:.0f} {one.unit} | {one.times:.2f}"
        lines.append(f"| {one.finding} | {one.puzzle} | {one.says} | {speeds} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write what was measured after each pair."""
    costs: list[Cost] = []
    for name in sys.argv[1:] or pairs():
        try:
            cost, result = measured(pairs()[name])
        except Exception as error:  # one that cannot be timed does not keep the others from it
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        costs.append(cost)
        kept = {"gpu": result.gpu, "versions": result.versions, "date": result.date, "clocks": result.clocks}
        kept["costs"] = [{**asdict(one), "times": one.times} for one in costs]  # type: ignore[assignment]
        (RESULTS / "slowness.json").write_text(json.dumps(kept, indent=1) + "\n")
        (RESULTS / "slowness.md").write_text(page(costs, result))


if __name__ == "__main__":
    main()
