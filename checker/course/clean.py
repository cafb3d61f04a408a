"""Make text that came from a submission harmless to look at, and short."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

LONGEST = 2000  # characters of one text
# Control characters, surrogates, and what reverses the text around it: nothing that a script needs.
ORDERS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
JOINERS = "\u200c\u200d"  # format characters without which Persian is misspelt

T = TypeVar("T")


def clean(text: str, longest: int = LONGEST) -> str:
    """`text` without control, format and unassigned characters (ANSI codes, bidirectional marks,
    surrogates), and with its middle left out if it is long. Line ends, tabs and joiners stay."""
    if len(text) > longest:
        half = longest // 2
        text = f"{text[:half]} […] {text[-half:]}"
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.replace("\n", "").replace("\t", "").isprintable():  # nearly always, and a hundred times as fast
        return text
    return "".join(c if c in "\n\t" + JOINERS or unicodedata.category(c)[0] != "C" else "�" for c in text)


def one_line(text: str, longest: int = 200) -> str:
    """Return the same on one line, for names and sentences."""
    return clean(text, longest).replace("\n", " ")


def cleaned(value: T) -> T:
    """Return a copy of a frozen dataclass with every text in it cleaned, however deep."""
    return _cleaned(value)  # type: ignore[no-any-return]


def _cleaned(value: Any, longest: int = LONGEST) -> Any:
    if isinstance(value, str) and type(value) is str:
        return clean(value, longest)
    if isinstance(value, tuple):
        return tuple(_cleaned(item, longest) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        changes = {f.name: _cleaned(getattr(value, f.name), longest) for f in fields(value)}
        return replace(value, **changes)
    return value
