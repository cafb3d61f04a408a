"""Problems that a verb meets, as Misuse: a sentence, and exit status 2."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from checker.course.saving import reason
from checker.course.status import Misuse


@contextlib.contextmanager
def as_misuse(*problems: type[Exception]) -> Iterator[None]:
    """Raise Misuse in place of these, each of which is a sentence; around a block, or as a function's decorator."""
    try:
        yield
    except problems as problem:
        raise Misuse(reason(problem) if isinstance(problem, OSError) else str(problem)) from problem


@contextlib.contextmanager
def writing(what: Path | str) -> Iterator[None]:
    """Raise Misuse if a block cannot write this file, or what is named."""
    try:
        yield
    except OSError as error:
        raise Misuse(f"{what} could not be written: {reason(error)}.") from error
