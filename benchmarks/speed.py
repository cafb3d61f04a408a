"""`python3 -m benchmarks.speed [PUZZLE ...]`: every size of every timed puzzle, on this machine's GPU, all in one run.

`s3`, the long rows, must be asked for; p3's solution is timed next to it, at the same sizes.
Times the solution, each tuned version, and the peers; writes `speed.json` and `speed.md` into $OUT,
or into `benchmarks/results/`.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import os
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterable
from pathlib import Path

from checker import catalog
from checker.bench import table
from checker.bench.result import Result
from checker.bench.run import Extent, measure, of_the_course
from checker.catalog import s3_long_rows
from checker.course import ladder, places
from checker.course.puzzle import Timed

RESULTS = Path(os.environ.get("OUT", Path(__file__).parent / "results"))


def timed_files(puzzle_id: str) -> dict[str, Path]:
    """The solution and each step, by name."""
    solution = places.ROOT / "solutions" / f"{ladder.entry(puzzle_id).stem}.py"
    paths = {"solution": solution} if solution.exists() else {}
    for path in places.steps(puzzle_id):
        _, step, *words = path.stem.split("_")
        paths[f"tuned {step}, {' '.join(words)}"] = path
    return paths


def forms(puzzle_id: str) -> dict[str, str | Path]:
    """The same as they are timed."""
    return {name: of_the_course(puzzle_id, path) for name, path in timed_files(puzzle_id).items()}


def beside(puzzle_id: str) -> dict[str, Callable[[int], list[Timed]]]:
    """Other puzzles that are timed beside one, and at which sizes, given the free bytes."""
    return {"p3": s3_long_rows.of_puzzle_3} if puzzle_id == "s3" else {}


def mark(path: Path) -> str:
    """What the code of a file is known by, in any Python: its comments, its words and its layout may change."""
    text = path.read_text(encoding="utf-8")
    documented = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Module | ast.FunctionDef))
    words = {node.body[0].lineno for node in documented if ast.get_docstring(node) is not None}
    code = [
        token.string.strip() or tokenize.tok_name[token.type]
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in (tokenize.COMMENT, tokenize.NEWLINE, tokenize.NL)
        and not (token.type == tokenize.STRING and token.start[0] in words)
    ]
    return hashlib.sha256("".join(code).encode()).hexdigest()[:12]


def marks(results: Iterable[Result]) -> dict[str, str]:
    """Those of all that was timed, by path: a page whose kernels are others by now is stale."""
    timed = {(one.puzzle, timing.name) for one in results for size in one.sizes for timing in size.timings}
    paths = [timed_files(puzzle_id).get(name) for puzzle_id, name in timed]
    return {str(path.relative_to(places.ROOT)): mark(path) for path in sorted(filter(None, paths))}


def write(results: list[Result], commit: str) -> None:
    """The data, and the tables made of it."""
    kept = {
        "commit": commit,
        "kernels": marks(results),
        "results": [json.loads(result.to_json()) for result in results],
    }
    (RESULTS / "speed.json").write_text(json.dumps(kept, indent=1) + "\n")
    heading = f"# Speed\n\nWritten by `python3 -m benchmarks.speed` at commit {commit}.\n"
    (RESULTS / "speed.md").write_text("\n".join((heading, table.summary(results), table.markdown(results))) + "\n")


def tell(doing: str) -> None:
    """What is going on."""
    print(doing, file=sys.stderr)


def main() -> None:
    """Measure, and write what was measured after each puzzle."""
    described = subprocess.run(
        ["git", "describe", "--always"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    results: list[Result] = []
    timed = [rung for rung in ladder.RUNGS if catalog.load(rung).timed]
    for puzzle_id in map(ladder.timed_id, sys.argv[1:]) if sys.argv[1:] else timed:
        for one, sizes in {puzzle_id: None, **beside(puzzle_id)}.items():
            results.append(measure(one, forms(one), Extent(every=True), tell, sizes))
            write(results, described.stdout.strip() or "unknown")


if __name__ == "__main__":
    main()
