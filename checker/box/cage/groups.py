"""A control group for each slot: how much of the machine's own memory its processes may take together.

For submissions on a GPU, whose driver does not bear a limit on address space. Needs root, and a kernel
whose memory controller is free to use; in a container it often is not.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
OURS = "flash-puzzles"
MEMORY_BYTES = 16 << 30  # PyTorch itself takes 3 GB
# Joins a group before it becomes what it is told to run; what cannot join does not run.
_JOIN = 'echo $$ > "$0" && exec "$@"'


def place(name: str) -> Path:
    """Where the group `name` is, or would be: in the one hierarchy of version 2, or in memory's own of version 1."""
    return (ROOT if _unified() else ROOT / "memory") / OURS / name


def made(name: str, memory_bytes: int = MEMORY_BYTES) -> Path | None:
    """The group `name` with its limit, made if it is not there; None where that is not possible."""
    group, unified = place(name), _unified()
    if not group.parents[1].is_dir():
        return None
    try:
        group.mkdir(parents=True, exist_ok=True)
        if unified:
            for folder in (ROOT, group.parent):
                (folder / "cgroup.subtree_control").write_text("+memory", encoding="ascii")
        (group / ("memory.max" if unified else "memory.limit_in_bytes")).write_text(str(memory_bytes), encoding="ascii")
        if unified:
            with contextlib.suppress(OSError):  # a machine that does not swap
                (group / "memory.swap.max").write_text("0", encoding="ascii")
    except OSError:
        removed(group)
        return None
    return group


def joined(group: Path, command: list[str]) -> list[str]:
    """What runs `command` in a group."""
    return ["/bin/sh", "-c", _JOIN, str(group / "cgroup.procs"), *command]


def removed(group: Path) -> None:
    """Take a group away, if nothing is in it. The folder of all groups stays: another grader may be about to use it."""
    with contextlib.suppress(OSError):
        group.rmdir()


def _unified() -> bool:
    return (ROOT / "cgroup.controllers").exists()
