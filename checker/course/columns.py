"""Columns of text, and places where a line may end: a Chinese sign takes two, and needs no space after it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

WIDE = "\u2e80-\u9fff\uff00-\uffef"
# What stays together at the end of a line: a sign of Chinese, a word of Latin, or a few signs in *marks*, with
# its punctuation, and an operator behind it: at the beginning of a line, a + would make a list of it.
_MARKED = r"(?<![^\s，。；：？！（、])\*{1,2}[^\s*]{1,20}\*{1,2}(?=[\s，。；：？！）、]|$)"
_UNIT = re.compile(rf"[（“‘《【]*(?:{_MARKED}|[^\s{WIDE}“”‘’…]+|\S)[，。；：？！）”’》】、…]*\s*(?:[-+*>#=|·≤]+\s+)*")
_APART = re.compile(rf"(?<=[{WIDE}])\s+(?=[{WIDE}])")


def has_wide(text: str) -> bool:
    """Return whether a text has signs of Chinese."""
    return re.search(f"[{WIDE}]", text) is not None


def columns(text: str) -> int:
    """Return how many columns a text takes."""
    return sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text)


def units(text: str) -> list[str]:
    """Return a text in the parts that stay together at the end of a line, each with the space behind it."""
    return _UNIT.findall(text)


def joined(text: str) -> str:
    """Return a paragraph as one line: between two signs of Chinese, a line break was no space."""
    return _APART.sub("", " ".join(text.split()))


def breaks(text: str, width: int) -> Iterator[int]:
    """Yield where a text is broken, so that no line takes more columns than that, and none begins with a comma."""
    begun = len(text) - len(text.lstrip())  # where the line's first unit stands
    column = columns(text[:begun])
    for unit in _UNIT.finditer(text):
        taken = columns(unit[0].rstrip())
        if unit.start() > begun and column + taken > width:
            yield (begun := unit.start())
            column = 0
        if column + taken <= width:
            column += columns(unit[0])
            continue
        for at in range(unit.start(), unit.end()):  # a long path, say
            column += columns(text[at])
            if column > width:
                yield (begun := at)
                column = columns(text[at])
