"""A class that was made up: submissions right, wrong, hostile and broken, and many that are alike."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from benchmarks.setting import ROOT
from checker.course.ladder import stems
from tests.kernels import kernels

PUZZLES = (1, 2, 3, 4)
STEMS = stems()
# Of a hundred submissions, how many are of each kind. "Own" ones differ from all others, if only in a comment.
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


def submissions(count: int, seed: int = 0) -> Iterator[tuple[str, int, bytes]]:
    """(kind, puzzle, text) of each of `count`."""
    rng = random.Random(seed)
    kinds = list(SHARES)
    every = {number: _texts(number) for number in PUZZLES}
    for position in range(count):
        number = PUZZLES[position % len(PUZZLES)]
        kind = rng.choices(kinds, list(SHARES.values()))[0]
        if kind == "hostile":  # those are of the first puzzle
            number = 1
        if kind == "broken":
            text = rng.choice(BROKEN)
        else:
            text = rng.choice(every[number][kind.partition(",")[0]])
        yield kind, number, text + (f"\n# {seed} {position}\n".encode() if kind.endswith("own") else b"")


def hand_in(folder: Path, made: Iterator[tuple[str, int, bytes]]) -> None:
    """Write them as files of students, each with a folder."""
    for position, (_, number, text) in enumerate(made):
        place = folder / f"student{position:05}"
        place.mkdir(parents=True)
        (place / f"{STEMS[number]}.py").write_bytes(text)


def _texts(number: int) -> dict[str, list[bytes]]:
    return {
        "right": _of("solutions", number) + _of("right", number),
        "wrong": _of("wrong", number),
        "hostile": _of("hostile", number),
        "not started": [(ROOT / "puzzles" / f"{STEMS[number]}.py").read_bytes()],
    }


def _of(folder: str, number: int) -> list[bytes]:
    return [kernel.text.encode() for kernel in kernels(folder) if kernel.puzzle == number]
