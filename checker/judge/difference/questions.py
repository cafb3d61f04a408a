"""Questions that a report asks about the place of the first difference, whatever the mistake there is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("places.md")  # not beside its own name: there, words of findings have another form
_KERNEL = re.compile(r"^## (\w+) (\w+)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_PLACES = re.compile(r"^\* ([^:\n]+): (.+)$", re.MULTILINE)


def question(puzzle_id: str, kernel: str, place: str) -> str:
    """Return the paragraph of a place: "l", "load x_ptr", "store y_ptr" or "loop"; "" if there is none."""
    return questions().get((puzzle_id, kernel, place), "")


@cache
def questions() -> Mapping[tuple[str, str, str], str]:
    """Return all paragraphs by puzzle, kernel and place. Raises ValueError for a place with two of them."""
    found: dict[tuple[str, str, str], str] = {}
    for puzzle_id, kernel, lines in _KERNEL.findall(FILE.read_text(encoding="utf-8")):
        for places, paragraph in _PLACES.findall(lines):
            for place in places.split(", "):
                if (key := (puzzle_id, kernel, place)) in found:
                    raise ValueError(f"{FILE.name}: {' '.join(key)} is there twice.")
                found[key] = paragraph
    return found
