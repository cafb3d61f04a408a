"""The course's key: made once, for its owner's eyes only, and never where it could be handed out.

Hidden inputs are drawn from it, so who has it can prepare answers. It lies outside of any repository and outside of
the course's folder, because folders like these are shared, copied and released from.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from checker.course.saving import write_new


class KeyProblem(Exception):
    """The key cannot be used: a sentence for the instructor."""


def make(path: Path, course: Path) -> bool:
    """Make the key unless there is one; whether it was made. Raises KeyProblem."""
    _insist_on_place(path, course)
    if path.exists():
        read(path)
        return False
    if path.is_symlink():
        raise KeyProblem(
            f"The key {path} is a link to {path.readlink()}, which is not there. Put it back, or remove the link."
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_new(path, f"{secrets.token_hex(32)}\n".encode(), 0o600)
        path.chmod(0o600)  # also where files are made without some of these rights
    except FileExistsError:  # another one was faster
        return False
    except OSError as error:
        raise KeyProblem(f"The key {path} cannot be written: {error.strerror}.") from error
    return True


def read(path: Path) -> str:
    """Return the key. Raises KeyProblem if it is missing, or if others could have read it."""
    try:
        with path.open(encoding="ascii") as file:
            status = os.fstat(file.fileno())
            key = file.read(1000).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a key"
        raise KeyProblem(
            f"The course's key {path} cannot be read: {reason}. Put back your copy of it; "
            "if there is none, `make course` makes a new one, and everything is judged again."
        ) from error
    if status.st_uid not in (os.geteuid(), 0) or status.st_mode & 0o077:
        raise KeyProblem(
            f"The course's key {path} can be read by others than its owner (mode {status.st_mode & 0o777:03o}). "
            f"If nobody has read it: chmod 600 {path}. Otherwise remove it, and `make course` makes a new one."
        )
    if len(key) < 32:
        raise KeyProblem(f"{path} does not hold a key. Put back your copy of it.")
    return key


def key_id(key: str) -> str:
    """Return a name for a key that tells nothing of it."""
    return hashlib.sha256(b"flash-puzzles key\0" + key.encode()).hexdigest()[:16]


def _insist_on_place(path: Path, course: Path) -> None:
    real = Path(os.path.realpath(path))
    if real.is_relative_to(os.path.realpath(course)):
        raise KeyProblem(f"The key must not lie in the course's folder: {path}. Name another key_file in course.toml.")
    for folder in real.parents:
        if (folder / ".git").exists():
            raise KeyProblem(
                f"The key must not lie in a repository, from which it might be published: {path} is in {folder}. "
                "Name another key_file in course.toml."
            )
