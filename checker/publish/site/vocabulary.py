"""Completions for `tl.` in an editor: names that the lint takes, each with a line of help."""

from __future__ import annotations

import re

from checker.submission.vocabulary import TL_FUNCTIONS, TL_TYPES

_MOST = 120  # characters of help


def vocabulary() -> dict[str, str]:
    """Return the first sentence of what Triton says of each function; nothing for types, and where it says nothing."""
    import triton.language as tl  # here alone: it takes long, and `--help` loads this file

    said = {name: _sentence(getattr(getattr(tl, name, None), "__doc__", None) or "") for name in TL_FUNCTIONS}
    return dict(sorted((dict.fromkeys(TL_TYPES, "") | said).items()))


def _sentence(text: str) -> str:
    first = re.sub(r":\w+:`([^`]*)`|``?([^`]*)``?", r"\1\2", " ".join(text.split()).split(". ")[0].split(" :param")[0])
    return first if len(first) <= _MOST else f"{first[:_MOST].rpartition(' ')[0]} …"
