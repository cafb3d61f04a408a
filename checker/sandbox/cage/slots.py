"""One unprivileged user for each cage that root starts.

The kernel counts processes by user, and a user may send signals to all that is his: so no two
cages share one. A slot is held by a lock on a file, which the kernel releases however its holder ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

FIRST_USER, SLOTS = 64000, 64  # above what distributions give to people and services, below `nobody`
_PLACES = (Path("/run"), Path("/tmp"))  # the first that can be written to


class NoSlot(Exception):
    """No user is free, or the folder of locks is not to be trusted: a sentence."""


@dataclass(frozen=True)
class Slot:
    """A user that nobody else uses while this is held."""

    uid: int
    lock: BinaryIO

    def release(self) -> None:
        """Let others have it. The file stays: to remove it would let two hold the same slot."""
        self.lock.close()


def claim() -> Slot:
    """Return the first free slot. Needs root."""
    folder = _folder()
    taken = _users_of_processes() | {entry.pw_uid for entry in pwd.getpwall()}
    for uid in range(FIRST_USER, FIRST_USER + SLOTS):
        if uid in taken:
            continue
        lock = open(folder / f"slot-{uid}", "wb")  # noqa: SIM115 (held as long as the slot)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        return Slot(uid, lock)
    raise NoSlot(f"All {SLOTS} users for grading, {FIRST_USER} and up, are taken: wait until other graders have done.")


def _folder() -> Path:
    """Return the folder of locks, which is root's alone."""
    place = next((place for place in _PLACES if os.access(place, os.W_OK)), None)
    if place is None:
        raise NoSlot("Neither /run nor /tmp can be written to, where graders agree on who uses which user.")
    folder = place / "flash-puzzles"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) & 0o077:
        raise NoSlot(f"{folder} is not a folder of root's alone: remove it.")
    return folder


def _users_of_processes() -> set[int]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it ended meanwhile
                found.add(entry.stat().st_uid)
    return found
