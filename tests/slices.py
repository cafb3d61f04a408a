"""Which tests `make test` runs: all cheap ones, and of the dear ones a slice, another one for each commit.

What a test costs is CPU seconds of the process and of all that it starts. `costs.json` has it for each test function
that may take more than a moment, and for each puzzle that it is about; `make test-costs` alone writes that. A test of
another function is cheap: so a new one always runs.

The dear tests of a file are put in the order of a hash of their names, and cut into ten slices of equal cost, or into
more if a slice were longer than `LONGEST`: so tests that try hundreds of kernels leave room for others. Which slice it
is counts the commits. To the slices come tests of what has changed since the last push.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.course import ladder

ROOT = Path(__file__).parents[1]
COSTS = Path(__file__).with_name("costs.json")
DEAR = 0.2  # CPU seconds; a function that costs more, for some puzzle, stands in the file
LEAST = 0.0625  # CPU seconds: less is as little as this
SLICES = 10  # of a file's dear tests at least: so many commits run all of them
LONGEST = 20.0  # CPU seconds of a file's slice
SHORT = 2.0  # CPU seconds of a test that stands for its file where no other one's turn has come
CHANGED = 40.0  # CPU seconds of those of what has changed
IDS = {rung.id for rung in ladder.LADDER}


@dataclass(frozen=True)
class Item:
    """A test as pytest knows it: `id` is its file in `tests`, its function, and its parameters in brackets."""

    id: str

    @property
    def file(self) -> str:
        return self.id.partition("::")[0].removeprefix("tests/")

    @property
    def function(self) -> str:
        return self.id.partition("::")[2].partition("[")[0]

    @property
    def puzzle(self) -> str:
        """The puzzle that its parameters name; none: nothing."""
        words = self.id.partition("[")[2].rstrip("]").split("-")
        return next((start for word in words if (start := word.partition("_")[0]) in IDS), "")

    @property
    def room(self) -> str:
        """The folder that it lies in, named as that of `checker` that it is about; if there is none, its file."""
        return self.file.partition("/")[0]

    @property
    def place(self) -> str:
        """Where it stands among all tests: a hash, so that a slice has of everything."""
        return hashlib.sha256(self.id.encode()).hexdigest()


Costs = Mapping[str, Mapping[str, Mapping[str, float]]]  # of file, function and puzzle


def read() -> Costs:
    """What is known of costs."""
    found: Costs = json.loads(COSTS.read_text(encoding="utf-8"))
    return found


def cost(test: Item, costs: Costs) -> float:
    """CPU seconds; 0 if it is cheap. Of another puzzle than was measured it costs what most do."""
    by_puzzle = costs.get(test.file, {}).get(test.function, {})
    if not by_puzzle or test.puzzle in by_puzzle:
        return by_puzzle.get(test.puzzle, 0.0)
    return sorted(by_puzzle.values())[len(by_puzzle) // 2]


def summed(measured: Iterable[tuple[Item, float]]) -> Costs:
    """Functions that are dear for some puzzle, with the mean of each puzzle's tests, rounded to a power of two."""
    every: defaultdict[tuple[str, str], defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for test, seconds in measured:
        every[test.file, test.function][test.puzzle].append(seconds)
    costs: dict[str, dict[str, dict[str, float]]] = {}
    for (file, function), by_puzzle in sorted(every.items()):
        means = {puzzle: sum(seconds_of) / len(seconds_of) for puzzle, seconds_of in sorted(by_puzzle.items())}
        if max(means.values()) > DEAR:
            rounded = {puzzle: 2.0 ** round(math.log2(max(mean, LEAST))) for puzzle, mean in means.items()}
            costs.setdefault(file, {})[function] = rounded
    return costs


def chosen(every: Sequence[Item], costs: Costs, number: int, changed: Collection[str] = ()) -> frozenset[Item]:
    """Those that run as slice `number`. `changed`: rooms, files and puzzles."""
    dear = {item: seconds for item in every if (seconds := cost(item, costs))}
    files: defaultdict[str, list[Item]] = defaultdict(list)
    for item in sorted(dear, key=lambda item: item.place):
        files[item.file].append(item)
    now = {item for of_file in files.values() for item in _slice(of_file, dear, number)}
    left = CHANGED
    for item in sorted(dear.keys() - now, key=lambda item: item.place):
        if dear[item] <= left and not {item.room, item.puzzle}.isdisjoint(changed):
            left -= dear[item]
            now.add(item)
    return frozenset(every) - dear.keys() | now


def _slice(of_file: list[Item], dear: Mapping[Item, float], number: int) -> list[Item]:
    """A slice of a file's dear tests; if none begins in it, the next one that does and is `SHORT`, if there is any."""
    whole = sum(dear[item] for item in of_file)
    slices = max(SLICES, math.ceil(whole / LONGEST))
    this = (number + int(Item(of_file[0].file).place, 16)) % slices  # else all files had their first test in slice 0
    slice_of, before = {}, 0.0
    for item in of_file:
        slice_of[item] = int(before / whole * slices)
        before += dear[item]
    short = sorted(
        (item for item in of_file if dear[item] <= SHORT), key=lambda item: (slice_of[item] < this, slice_of[item])
    )
    return [item for item in of_file if slice_of[item] == this] or short[:1]


def commits() -> int:
    """How many commits there are up to this one; 0 if nobody can say."""
    return int(git("rev-list", "--count", "HEAD") or 0)


def changed() -> frozenset[str]:
    """What has changed since the last push, or since SINCE, in files that git knows and in new ones.

    Rooms, names of files in `tests`, and puzzles. Where all is pushed, what the last commit has changed.
    """
    since = os.environ.get("SINCE") or "@{upstream}"
    if git("rev-parse", "--verify", f"{since}^{{commit}}") in ("", git("rev-parse", "HEAD")):
        since = "HEAD~1"
    names = git("diff", "--name-only", since) + "\n" + git("ls-files", "--others", "--exclude-standard")
    return frozenset(about for name in names.splitlines() for about in about_of(name))


def about_of(name: str) -> Iterable[str]:
    """What a file is about: the room that it lies in, and the puzzle whose name it has."""
    path = Path(name)
    if path.parts[:1] in (("checker",), ("tests",)) and len(path.parts) > 1:
        yield path.parts[1]
    if (start := path.stem.partition("_")[0]) in IDS:
        yield start


def git(*arguments: str) -> str:
    """What it says; nothing if it is not there, or has failed."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
