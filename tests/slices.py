"""Which tests `make test` runs: all cheap ones, and of the dear ones a slice, another one for each commit.

What a test costs is CPU seconds of the process and of all that it starts. `costs.json` has it for each test function,
and for each puzzle that it is about, if it is more than 0.2; `make test-costs` alone writes that. A test that does not
stand there is cheap: so a new one always runs.

Dear tests are put in the order of a hash of their names, and cut into slices of equal cost. Which slice it is counts
the commits, so as many commits as there are slices run every test there is. To the slice come one dear test of each
file that it has none of, and those of what has changed since the last push.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from checker.course import ladder

ROOT = Path(__file__).parents[1]
COSTS = Path(__file__).with_name("costs.json")
DEAR = 0.2  # CPU seconds; what costs more stands in the file
A_SLICE = 250.0  # CPU seconds: what `make test` spends on dear tests, whatever has changed
CHANGED = 80.0  # and on those of what has changed
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
    """The dear ones among these, each with the mean of its tests, rounded to a power of two."""
    every: defaultdict[tuple[str, str, str], list[float]] = defaultdict(list)
    for test, seconds in measured:
        every[test.file, test.function, test.puzzle].append(seconds)
    costs: dict[str, dict[str, dict[str, float]]] = {}
    for (file, function, puzzle), seconds_of in sorted(every.items()):
        if (mean := sum(seconds_of) / len(seconds_of)) > DEAR:
            costs.setdefault(file, {}).setdefault(function, {})[puzzle] = 2.0 ** round(math.log2(mean))
    return costs


@dataclass(frozen=True)
class Chosen:
    """The tests that run, by their numbers, and of which slice they are."""

    tests: frozenset[int]
    slice: int
    of: int  # slices there are


def chosen(tests: Collection[Item], costs: Costs, number: int, changed: Collection[str] = ()) -> Chosen:
    """Those that run as slice `number`, modulo how many there are. `changed`: rooms, files and puzzles."""
    of_test = {n: cost(test, costs) for n, test in enumerate(tests)}
    by_number = list(tests)
    dear = sorted((n for n in of_test if of_test[n]), key=lambda n: by_number[n].place)
    whole = sum(of_test.values())
    of = max(1, math.ceil(whole / A_SLICE))
    number %= of
    slices: list[list[int]] = [[] for _ in range(of)]
    before = 0.0
    for n in dear:
        slices[min(int(before / whole * of), of - 1)].append(n)
        before += of_test[n]
    following = [n for k in range(number + 1, number + of) for n in slices[k % of]]  # the next slice's first
    now = set(slices[number])
    files = {by_number[n].file for n in now}
    for n in following:
        if by_number[n].file not in files:
            files.add(by_number[n].file)
            now.add(n)
    left = CHANGED
    for n in following:
        test = by_number[n]
        if n not in now and of_test[n] <= left and not {test.room, test.puzzle}.isdisjoint(changed):
            left -= of_test[n]
            now.add(n)
    cheap = {n for n in of_test if not of_test[n]}
    return Chosen(frozenset(cheap | now), number, of)


def commits() -> int:
    """How many commits there are up to this one; 0 if nobody can say."""
    return int(_git("rev-list", "--count", "HEAD") or 0)


def changed() -> frozenset[str]:
    """What has changed since the last push, or since SINCE, in files that git knows and in new ones.

    Rooms, names of files in `tests`, and puzzles. Where all is pushed, what the last commit has changed.
    """
    since = os.environ.get("SINCE") or "@{upstream}"
    if _git("rev-parse", "--verify", f"{since}^{{commit}}") in ("", _git("rev-parse", "HEAD")):
        since = "HEAD~1"
    names = _git("diff", "--name-only", since) + "\n" + _git("ls-files", "--others", "--exclude-standard")
    return frozenset(about for name in names.splitlines() for about in about_of(name))


def about_of(name: str) -> Iterable[str]:
    """What a file is about: the room that it lies in, and the puzzle whose name it has."""
    path = Path(name)
    if path.parts[:1] in (("checker",), ("tests",)) and len(path.parts) > 1:
        yield path.parts[1]
    if (start := path.stem.partition("_")[0]) in IDS:
        yield start


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
