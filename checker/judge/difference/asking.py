"""Questions that a report asks about the place of the first difference, whatever the mistake there is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("places.md")  # not beside its own name: there, words of findings have another form
_KERNEL = re.compile(
    r"^## (?P<puzzle>\w+) (?P<kernel>\w+)(?: \(else as (?P<base>\w+ \w+)\))?\n(?P<lines>.*?)(?=^## |\Z)",
    re.DOTALL | re.MULTILINE,
)
_PLACES = re.compile(r"^\* ([^:\n]+): (.+)$", re.MULTILINE)


def question(puzzle_id: str, kernel: str, place: str) -> str:
    """Return the paragraph of a place: "l", "load x_ptr", "store y_ptr" or "loop"; "" if there is none."""
    own, base = questions().get((puzzle_id, kernel), ({}, None))
    return own.get(place) or (question(*base, place) if base else "")


@cache
def questions() -> Mapping[tuple[str, str], tuple[Mapping[str, str], tuple[str, str] | None]]:
    """Return the paragraphs of each kernel by place, and the kernel (puzzle and name) that has the others.

    Raises ValueError for a place with two paragraphs.
    """
    found = {}
    for kernel in _KERNEL.finditer(FILE.read_text(encoding="utf-8")):
        pairs = [(place, text) for places, text in _PLACES.findall(kernel["lines"]) for place in places.split(", ")]
        if len(own := dict(pairs)) < len(pairs):
            raise ValueError(f"{FILE.name}: {kernel['puzzle']} {kernel['kernel']} has a place twice.")
        puzzle_id, _, name = (kernel["base"] or "").partition(" ")
        found[kernel["puzzle"], kernel["kernel"]] = own, (puzzle_id, name) if name else None
    return found
