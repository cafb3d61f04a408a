"""Write a file so that nothing is ever lost: whole or not at all, and after a copy of what it replaces."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TextIO

NEW_FILE = 0o644


def reason(error: OSError) -> str:
    """Return what went wrong with which file, as far as the system says so."""
    return ": ".join(str(part) for part in (error.strerror or error, error.filename) if part is not None)


def replace_whole(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a file in one step: whoever reads it, and whatever interrupts us, sees the old or the new one. OSError.

    `mode`: of the new one; None: that of the old one.
    """
    with replacing(path, mode) as file:
        file.buffer.write(data)


@contextlib.contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[TextIO]:
    """The same for a text that is written part by part: a file for it, which takes the place once it is whole."""
    real = Path(os.path.realpath(path))  # a symbolic link stays one
    if mode is None:
        mode = real.stat().st_mode & 0o7777 if real.exists() else NEW_FILE
    descriptor, name = tempfile.mkstemp(prefix=f".{real.name}.", suffix=".tmp", dir=real.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            if hasattr(os, "fchmod"):  # not on every Windows
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())  # or a power cut may leave the new name with nothing behind it
        Path(name).replace(real)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def write_new(path: Path, data: bytes, mode: int = NEW_FILE) -> None:
    """Write a file that is not there yet, whole or not at all. FileExistsError, OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)  # half a file would look like a whole one
        raise


def keep_copy(path: Path, data: bytes) -> Path:
    """Write what a file holds next to it, as .bak, .bak2, …: the first name that is free. OSError."""
    for number in count(1):
        copy = path.with_name(f"{path.name}.bak{number if number > 1 else ''}")
        with contextlib.suppress(FileExistsError):
            write_new(copy, data)
            return copy
    raise AssertionError("there is always a next number")
