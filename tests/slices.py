"""Choice of tests for `make test`: all cheap ones, and of the slow ones a slice, another one for each commit.

What a test costs is CPU seconds of the process and of all that it starts. `costs.json` has it for each test function
that may take more than a moment, and for each puzzle that it is about; `make test-costs` alone writes that. A test of
another function is cheap: so a new one always runs.

The dear tests of a file are put in the order of a hash of their names, and cut into `SLICES` slices of equal cost, or
more if a slice were longer than `LONGEST`: so tests that try hundreds of kernels leave room for others. Which slice it
is counts the commits. Where tests share what costs more than they do, such as a class that was graded, all tests of the
file are dear, and their turn comes so much more rarely, with more of them. To the slices come tests of what has changed
since the last push, and all right kernels of a puzzle that has. Fewer than four tests of the site, as `-k` of one
puzzle leaves them, are left out.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import os
import subprocess
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from checker.course import ladder

ROOT = Path(__file__).parents[1]
COSTS = Path(__file__).with_name("costs.json")
DEAR = 0.2  # CPU seconds; a function that costs more, for some puzzle, stands in the file
LEAST = 0.0625  # CPU seconds: less is as little as this
SLICES = 24  # of a file's dear tests at least: so many commits run all of them
LONGEST = 0.75  # CPU seconds of a file's slice
MUCH = 2.0  # CPU seconds of what the tests of a file share: more stands in the file, and waits for its turn
SHORT = 0.25  # CPU seconds of a test that stands for its file where no other one's turn has come
SHARED = "fixtures"  # of a file, in the place of a function: what its tests share, once
CHANGED = 12.0  # CPU seconds of those of what has changed
RIGHT = "test_right_kernels_are_accepted"  # a new launch may refuse one: of a puzzle that has changed, all run
OF_THE_JUDGE = ("test_one_line_changed.py", "test_kernels.py")  # what a change of it, or of a launch, may let through
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

    def place(self, number: int = 0) -> str:
        """Where it stands among all tests: a hash, so that a slice has of everything; another for each number."""
        return hashlib.sha256(f"{number or ''}{self.id}".encode()).hexdigest()


Costs = Mapping[str, Mapping[str, Mapping[str, float]]]  # of file, function and puzzle


def read() -> Costs:
    """What is known of costs."""
    found: Costs = json.loads(COSTS.read_text(encoding="utf-8"))
    return found


def cost(test: Item, costs: Costs) -> float:
    """CPU seconds; 0 if it is cheap. Of another puzzle than was measured it costs what most do."""
    of_file = costs.get(test.file, {})
    if not (by_puzzle := of_file.get(test.function)):
        return LEAST if SHARED in of_file else 0.0
    return by_puzzle.get(test.puzzle) or sorted(by_puzzle.values())[len(by_puzzle) // 2]


def shared(file: str, costs: Costs) -> float:
    """CPU seconds of what the tests of a file share."""
    return costs.get(file, {}).get(SHARED, {}).get("", 0.0)


def summed(measured: Iterable[tuple[Item, float]]) -> Costs:
    """Functions that are dear for some puzzle, with the mean of each puzzle's tests, rounded to a power of two.

    Of a file also what its tests share, if that is `MUCH`.
    """
    every: defaultdict[tuple[str, str], defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    of_all: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for test, seconds in measured:
        if test.function == SHARED:
            of_all[test.file][test.id].append(seconds)
        else:
            every[test.file, test.function][test.puzzle].append(seconds)
    costs: dict[str, dict[str, dict[str, float]]] = {}
    for (file, function), by_puzzle in sorted(every.items()):
        means = {puzzle: sum(seconds_of) / len(seconds_of) for puzzle, seconds_of in sorted(by_puzzle.items())}
        if max(means.values()) > DEAR:
            rounded = {puzzle: 2.0 ** round(math.log2(max(mean, LEAST))) for puzzle, mean in means.items()}
            alike = len({*rounded.values()}) == 1
            costs.setdefault(file, {})[function] = {"": max(rounded.values())} if alike else rounded
    for file, by_name in of_all.items():
        if (seconds := sum(sum(each) / len(each) for each in by_name.values())) > MUCH:
            costs.setdefault(file, {})[SHARED] = {"": 2.0 ** round(math.log2(seconds))}
    return costs


def chosen(every: Sequence[Item], costs: Costs, number: int, changed: Collection[str] = ()) -> frozenset[Item]:
    """Those that run as slice `number`. `changed`: rooms, files and puzzles."""
    dear = {item: seconds for item in every if (seconds := cost(item, costs))}
    files: defaultdict[str, list[Item]] = defaultdict(list)
    for item in sorted(dear, key=Item.place):
        files[item.file].append(item)
    now = {item for file, own in files.items() for item in _slice(own, dear, shared(file, costs), number)}
    now |= {item for item in dear if item.function == RIGHT and item.puzzle in changed}
    left, paid = CHANGED, {item.file for item in now}
    for item in sorted(dear.keys() - now, key=lambda item: (item.puzzle not in changed, item.place(number))):
        price = dear[item] + (0.0 if item.file in paid else shared(item.file, costs))
        if price <= left and not {item.room, item.puzzle}.isdisjoint(changed):
            left -= price
            now.add(item)
            paid.add(item.file)
    return frozenset(every) - dear.keys() | now


def _slice(of_file: list[Item], dear: Mapping[Item, float], shared: float, number: int) -> list[Item]:
    """A slice of a file's dear tests; if none begins in it, the next one that does and is `SHORT`, if there is any.

    `shared`: what all of them cost once. There it is seldom a turn, and nothing stands for the file.
    """
    whole = sum(dear[item] for item in of_file)
    slices, wait = turns(whole, shared)
    number += int(Item(of_file[0].file).place(), 16)  # else all files had their first test in slice 0
    if number % wait:
        return []
    this = number // wait % slices
    slice_of, before = {}, 0.0
    for item in of_file:
        slice_of[item] = int(before / whole * slices)
        before += dear[item]
    short = (
        []
        if shared
        else sorted(
            (item for item in of_file if dear[item] <= SHORT), key=lambda item: (slice_of[item] < this, slice_of[item])
        )
    )
    return [item for item in of_file if slice_of[item] == this] or short[:1]


def turns(whole: float, shared: float) -> tuple[int, int]:
    """Into how many slices a file is cut whose dear tests cost so much, and how many runs there are for each turn."""
    if not shared:
        return max(SLICES, math.ceil(whole / LONGEST)), 1
    long = max(MUCH, shared)
    return math.ceil(whole / long), max(2, math.ceil((min(long, whole) + shared) / MUCH))


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
    """What a file is about: the room that it lies in, the puzzle whose name it has, and those that are made of it."""
    path = Path(name)
    if path.parts[:1] in (("checker",), ("tests",)) and len(path.parts) > 1:
        yield path.parts[1]
    if path.parts[:2] in (("checker", "catalog"), ("checker", "judge")):
        yield from OF_THE_JUDGE
    if (start := path.stem.partition("_")[0]) in IDS:
        yield start
    if path.parts[:2] == ("checker", "catalog"):
        yield from (id for id in IDS if path in made_of(next((ROOT / "checker" / "catalog").glob(f"{id}_*.py"))))


@cache
def made_of(module: Path) -> frozenset[Path]:
    """A module of the catalogue and those of it that it imports, and these, from the root on."""
    found: set[Path] = set()
    ahead = [module]
    while ahead:
        found.add((path := ahead.pop()).relative_to(ROOT))
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("checker.catalog"):
                base = ROOT.joinpath(*(node.module or "").split("."))
                paths = (base.with_suffix(".py"), *(base / f"{one.name}.py" for one in node.names))
                ahead += [one for one in paths if one.is_file() and one.relative_to(ROOT) not in found]
    return frozenset(found)


def git(*arguments: str) -> str:
    """What it says; nothing if it is not there, or has failed."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
