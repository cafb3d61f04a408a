"""`python -m tests.mutation [N ...] [--slice K]`: the mutation gate. Exit status 1 if a mutant got away.

Prints how many mutants were refused, how many of these with a name for the mistake or a place, and who survived. Of a
survivor the oracle says in which launch it is wrong; those that it knows nothing of need a reason in `survivors.json`.
All mutants take hours, so they are cut into slices. `green.json` says of each slice at which commit all of its mutants,
of all puzzles, were last refused or excused.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from checker.course import ladder
from tests.mutation.gate import ROOT, SLICES, fate, of_slice, run
from tests.slices import git

GREEN = Path(__file__).with_name("green.json")


def green(number: int, puzzles: list[str]) -> bool:
    """Whether no mutant of a slice got away."""
    results = []
    # Not in threads: Python 3.11 cannot parse in two of them at once.
    with ProcessPoolExecutor() as pool:
        asked = {puzzle_id: of_slice(puzzle_id, number) for puzzle_id in puzzles}
        begun = {puzzle_id: pool.map(partial(fate, puzzle_id), chosen) for puzzle_id, chosen in asked.items()}
        for puzzle_id, fates in begun.items():
            results.append(run(puzzle_id, fates))
            print(results[-1].summary(), flush=True)
    return not any(result.flaws for result in results)


def noted(number: int) -> str:
    """A sentence: whether the commit could be noted that a slice was green at."""
    commit = git("rev-parse", "HEAD")
    # What counts is what judges and is judged.
    if not commit or git("status", "--porcelain", "--", "checker", "solutions", "tests/mutation/*.py"):
        return f"slice {number} is green, of no commit: this is not noted."
    every = json.loads(GREEN.read_text(encoding="utf-8")) if GREEN.exists() else {}
    every[str(number)] = commit[:12]
    GREEN.write_text(json.dumps(dict(sorted(every.items(), key=lambda one: int(one[0]))), indent=1) + "\n", "utf-8")
    return f"slice {number} is green: noted in {GREEN.relative_to(ROOT)}."


def main() -> None:
    """Run the gate: for the puzzles named, or all; one slice, or one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("puzzles", nargs="*", type=ladder.id_of, default=list(ladder.stems()))
    parser.add_argument("--slice", type=int, help=f"check only these mutants, one of {SLICES} slices")
    options = parser.parse_args()
    flawed = []
    for number in range(SLICES) if options.slice is None else [options.slice % SLICES]:
        if not green(number, options.puzzles):
            flawed.append(number)
        elif set(options.puzzles) >= set(ladder.stems()):
            print(noted(number), flush=True)
    sys.exit(bool(flawed))


if __name__ == "__main__":
    main()
