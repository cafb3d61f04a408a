"""A kernel's text without its names, layout, comments and the spelling of its numbers.

Every run of GRAM tokens becomes a number, in which a name counts only by where it stands in the run. Of these numbers
some are kept, those that winnowing picks (Schleimer, Wilkerson, Aiken 2003): two texts that have GRAM + WINDOW - 1
tokens in common always share one. Nothing is parsed, so any text will do, and the time grows with its length only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from keyword import iskeyword
from typing import NamedTuple

GRAM, WINDOW = 12, 6  # tokens; a line of a kernel has about ten
_KEPT = {"tl", "triton", "range", "float"}  # names that nobody chooses
_LAYOUT = {"(", ")", ";", "\\"}  # parentheses, too: some write more of them
_INFINITY = re.compile(r"""float\(\s*(["'])\s*([+-]?)inf(?:inity)?\s*\1\s*\)""", re.IGNORECASE)
_NAMES_AN_ARGUMENT = re.compile(r"\s*=(?!=)")
_TOKEN = re.compile(
    r"""
      \#[^\n]*
    | [rbuf]{0,2}(?:\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z))
    | [rbuf]{0,2}(?:"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)
    | (?P<number>0[xob][\da-f_]+|(?:\d[\d_]*)?\.?\d[\d_]*\.?(?:e[+-]?\d+)?)
    | (?P<name>[^\W\d]\w*)
    | (?P<sign>[-+*/%@&|^<>=!]=|[*/]{2}=?|[<>]{2}=?|->|:=|[^\s\w])
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


class Token(NamedTuple):
    """A token and where it stands."""

    text: str
    line: int  # counted from 0
    free: bool  # a name that could be any other


def tokens(source: str) -> list[Token]:
    """Return the tokens that count: no comments, strings, parentheses or commas that end a list."""
    source = _INFINITY.sub(r"\2inf", source)
    found: list[Token] = []
    line, at, depth = 0, 0, 0
    for match in _TOKEN.finditer(source):
        line, at = line + source.count("\n", at, match.start()), match.start()
        text, kind = match[0], match.lastgroup
        if kind == "number":
            found.append(Token(_number(text), line, False))
        elif kind == "name":
            attribute = bool(found) and found[-1].text == "."
            argument = depth > 0 and _NAMES_AN_ARGUMENT.match(source, match.end()) is not None
            found.append(Token(text, line, not (attribute or argument or text in _KEPT or iskeyword(text))))
        elif kind == "sign":
            depth = max(0, depth + (text in "([{") - (text in ")]}"))
            if text in ")]}" and found and found[-1].text == ",":
                found.pop()
            if text not in _LAYOUT:
                found.append(Token(text, line, False))
    return found


def _number(text: str) -> str:
    try:
        return f"{float(text):.6g}"
    except ValueError:  # hexadecimal and the like
        return text.lower()


def grams(words: Sequence[Token]) -> list[int]:
    """A number for each run of GRAM tokens, the same whatever its free names are."""
    numbers = []
    for start in range(len(words) - GRAM + 1):
        names: dict[str, str] = {}
        run = [names.setdefault(t.text, f"#{len(names)}") if t.free else t.text for t in words[start : start + GRAM]]
        digest = blake2b(" ".join(run).encode("utf-8", "replace"), digest_size=8)
        numbers.append(int.from_bytes(digest.digest(), "big"))
    return numbers


def winnowed(numbers: Sequence[int]) -> dict[int, list[int]]:
    """Return the fingerprints, and where each stands: of every WINDOW numbers the least, and of several the last."""
    picked: dict[int, list[int]] = {}
    before = -1
    for start in range(max(1, len(numbers) - WINDOW + 1)):
        window = range(start, min(start + WINDOW, len(numbers)))
        least = min(window, key=lambda n: (numbers[n], -n), default=before)
        if least != before:
            picked.setdefault(numbers[least], []).append(least)
            before = least
    return picked
