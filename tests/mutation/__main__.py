"""`python -m tests.mutation [N ...] [--sample K]`: the mutation gate. Exit status 1 if a mutant got away.

Prints how many mutants were refused, how many of these with a name for the mistake or a place, and who survived. Of a
survivor the oracle says in which launch it is wrong; those that it knows nothing of need a reason in `survivors.json`.
"""

from __future__ import annotations

import argparse
import sys

from checker.course import ladder
from tests.mutation.gate import run


def main() -> None:
    """Run the gate for the puzzles named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("puzzles", nargs="*", type=ladder.id_of, default=list(ladder.stems()))
    parser.add_argument("--sample", type=int, help="check only so many mutants of each puzzle, chosen by a fixed seed")
    options = parser.parse_args()
    good = True
    for puzzle_id in options.puzzles:
        result = run(puzzle_id, options.sample)
        print(result.summary())
        good = good and not result.flaws
    sys.exit(not good)


if __name__ == "__main__":
    main()
