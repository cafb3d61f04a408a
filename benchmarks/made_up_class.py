"""A class that was made up: submissions right, wrong, hostile and broken, and many that are alike."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.setting import ROOT
from checker.course.ladder import stems
from tests.kernels import kernels

PUZZLES = ("p1", "p2", "p3", "p4")
STEMS = stems()
# Of a hundred submissions, how many are of each kind. "Own" ones differ from all others, if only in a name.
SHARES = {
    "right, own": 22,
    "right, alike": 34,
    "wrong, own": 14,
    "wrong, alike": 16,
    "not started": 6,
    "hostile": 5,
    "broken": 3,
}
BROKEN = [b"", b"\xff\xfe\x00", b"def naive(:\n", b"{", b"x = (" * 5000, b"import triton\n" * 3]


def submissions(count: int, seed: int = 0) -> Iterator[tuple[str, str, bytes]]:
    """(kind, puzzle, text) of each of `count`."""
    rng = random.Random(seed)
    kinds = list(SHARES)
    every = {puzzle_id: _texts(puzzle_id) for puzzle_id in PUZZLES}
    for position in range(count):
        puzzle_id = PUZZLES[position % len(PUZZLES)]
        kind = rng.choices(kinds, list(SHARES.values()))[0]
        if kind == "hostile":  # those are of p1
            puzzle_id = "p1"
        if kind == "broken":
            text = rng.choice(BROKEN)
        else:
            text = rng.choice(every[puzzle_id][kind.partition(",")[0]])
        yield kind, puzzle_id, with_own_name(text, f"{seed}_{position}") if kind.endswith("own") else text


def with_own_name(text: bytes, suffix: str) -> bytes:
    """The same kernel with another name for its first variable: another program, which is judged by itself."""
    found = re.search(rb"^\s+(\w+) = ", text, re.MULTILINE)
    if found is None:
        return text + b"\n# " + suffix.encode()
    return re.sub(rb"\b%s\b" % found[1], b"%s_%s" % (found[1], suffix.encode()), text)


def hand_in(folder: Path, made: Iterator[tuple[str, str, bytes]]) -> None:
    """Write them as files of students, each with a folder."""
    for position, (_, puzzle_id, text) in enumerate(made):
        place = folder / f"student{position:05}"
        place.mkdir(parents=True)
        (place / f"{STEMS[puzzle_id]}.py").write_bytes(text)


def _texts(puzzle_id: str) -> dict[str, list[bytes]]:
    return {
        "right": _of("solutions", puzzle_id) + _of("right", puzzle_id),
        "wrong": _of("wrong", puzzle_id),
        "hostile": _of("hostile", puzzle_id),
        "not started": [(ROOT / "puzzles" / f"{STEMS[puzzle_id]}.py").read_bytes()],
    }


def _of(folder: str, puzzle_id: str) -> list[bytes]:
    return [kernel.text.encode() for kernel in kernels(folder) if kernel.puzzle == puzzle_id]
