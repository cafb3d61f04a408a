"""A folder for each server of the sandbox, and the end of those that a killed check has left behind."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from checker.sandbox.processes import TooLittle

PREFIX = "flash-puzzles-box-"
_BEING_MADE = 60.0  # seconds: a folder that is younger may not be locked yet
_fcntl: Any = import_module("fcntl") if find_spec("fcntl") else None  # not on every system


def place() -> str:
    """Return where temporary files lie. Raises TooLittle."""
    try:
        return tempfile.gettempdir()
    except FileNotFoundError as error:
        raise TooLittle("No folder for temporary files can be written to; TMPDIR may name one.") from error


@contextmanager
def own_folder() -> Iterator[str]:
    """A temporary folder. Whoever has made it holds a lock on it, which the system lifts however that process ends."""
    with suppress(OSError):
        _clear(Path(place()))
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as path:
        if _fcntl is None:
            yield path
            return
        descriptor = os.open(path, os.O_RDONLY)
        try:
            _fcntl.flock(descriptor, _fcntl.LOCK_SH)
            yield path
        finally:
            os.close(descriptor)


def _clear(folder: Path) -> None:
    """Remove folders of ours that nobody holds any more."""
    for path in folder.glob(f"{PREFIX}*") if _fcntl is not None else ():
        with suppress(OSError):
            seen = path.lstat()
            if seen.st_uid != os.getuid() or 0 <= time.time() - seen.st_mtime < _BEING_MADE:
                continue
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                _fcntl.flock(descriptor, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)
