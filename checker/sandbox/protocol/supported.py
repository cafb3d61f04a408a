"""Versions of Triton that the checker was tried with, and the advice for others."""

from __future__ import annotations

import re

OLDEST, NEWEST = (3, 6), (3, 9)
SUPPORTED = "Triton 3.6 to 3.9"
CHOSEN = "3.7.1"  # what `make` installs


class UnknownTriton(RuntimeError):
    """This version of Triton is not as the checker knows it, and so cannot judge."""


def older(version: str) -> bool:
    """Return whether a version of Triton is older than all that the checker was tried with."""
    return _numbers(version) < OLDEST


def untried(version: str) -> str:
    """Return what to know of a newer one, which may still do; nothing if this is none."""
    if _numbers(version) <= NEWEST:
        return ""
    return f"Triton {version} is newer than what the checker was tried with, {SUPPORTED}."


def instead_of(version: str) -> str:
    """Return the advice for an unsupported version: never to use the one that was refused."""
    if older(version) or untried(version):
        return f"Use {SUPPORTED}."
    use = "" if version == CHOSEN else f", and use Triton {CHOSEN} until it is fixed"
    return f"That is a fault of the checker's: please report it{use}."


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])
