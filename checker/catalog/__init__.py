"""One module a puzzle: everything the judge knows about it, and nothing that solves it.

A module named `pN_slug.py` is found by its name and must hold a `PUZZLE`. Adding a puzzle means
adding one file here, one in `puzzles/` and one in `solutions/`.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a puzzle's own module imports numpy; finding puzzles does not need it
    from checker.puzzle import Puzzle

_MODULE = re.compile(r"p([1-9]\d*)_(\w+)")


def stems(folder: Path = Path(__file__).parent) -> dict[int, str]:
    """Number → `pN_slug` of every puzzle, in order, without importing any of them."""
    found = {int(m[1]): m[0] for p in folder.glob("p*_*.py") if (m := _MODULE.fullmatch(p.stem))}
    return dict(sorted(found.items()))


def load(number: int) -> Puzzle:
    """The puzzle with this number. KeyError if there is none."""
    puzzle: Puzzle = importlib.import_module(f"{__name__}.{stems()[number]}").PUZZLE
    return puzzle
