"""Which puzzles there are, and in which order."""

from __future__ import annotations

import re
from pathlib import Path

from checker.course.status import Misuse

_MODULE = re.compile(r"p([1-9]\d*)_(\w+)")


def stems(folder: Path = Path(__file__).parents[1] / "catalog") -> dict[int, str]:
    """Number → `pN_slug` of every puzzle, in order, without importing any of them."""
    found = {int(m[1]): m[0] for p in folder.glob("p*_*.py") if (m := _MODULE.fullmatch(p.stem))}
    return dict(sorted(found.items()))


def number_of(text: object) -> int:
    """The puzzle that is meant by a word of the command line, or by what was given in a notebook."""
    numbers = {str(number): number for number in stems()}
    if str(text) not in numbers:
        raise Misuse(f"There is no puzzle {text!r}. There is: {', '.join(numbers)}.")
    return numbers[str(text)]
