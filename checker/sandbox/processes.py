"""Processes of the checker's own: their start, and their end together with all their children."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
_GONE_SECONDS = 10  # more than the kernel needs to end a namespace


class SandboxFailed(RuntimeError):
    """The sandbox did not start: a sentence with what it complained of."""


class TooLittle(SandboxFailed):
    """The limits of this process are too low to judge the submission: a sentence."""


def environment(folder: str) -> dict[str, str]:
    """Return a closed environment: nothing of the caller's but where shared libraries lie, and which GPU is meant."""
    closed = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    closed |= dict.fromkeys(("HOME", "TMPDIR", "TRITON_CACHE_DIR"), folder)
    closed |= {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    kept = ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")
    return closed | {name: os.environ[name] for name in kept if name in os.environ}


def paths() -> list[str]:
    """Return where a child looks for modules: our own folder last, so that a student's numpy.py does not win."""
    return [p for p in sys.path if p and Path(p).resolve() not in (_ROOT, Path.cwd())] + [str(_ROOT)]


def command_of(module: str, *arguments: Any, path: Sequence[str] | None = None) -> list[str]:
    """Return what starts a child whose `main` stands in `module`, whatever the current folder and environment hold.

    `path`: where it looks for modules, if not where this process does.
    """
    boot = (
        f"import json, sys; path, arguments = json.loads(sys.argv[1]); sys.path[:] = path; "
        f"from {module} import main; main(*arguments)"
    )
    asked = json.dumps([paths() if path is None else path, arguments])
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", boot, asked]


@contextlib.contextmanager
def in_memory(content: bytes) -> Iterator[int]:
    """The descriptor of a file in memory that holds `content`, to be read from its beginning."""
    with os.fdopen(os.memfd_create("content"), "wb") as file:
        file.write(content)
        file.seek(0)
        yield file.fileno()


class Started(subprocess.Popen[bytes]):
    """A process of its own session."""

    def end(self) -> None:
        """End it and all that came of it, also what left its process group, and wait until it is gone."""
        if self.poll() is None:
            while strays := _descendants(self.pid):
                for pid in strays:
                    with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
                        os.kill(pid, signal.SIGKILL)
                time.sleep(0.002)
                if self.poll() is not None:
                    break
        with contextlib.suppress(ProcessLookupError):  # all gone by themselves
            os.killpg(self.pid, signal.SIGKILL)
        self.wait()


class Caged(Started):
    """bubblewrap, which tells through a pipe which process is the first of the namespace inside."""

    told: int = -1  # the pipe's end to read from

    def end(self) -> None:
        """All is gone when the first process of the namespace is; bubblewrap itself may end before."""
        first = self._first()
        super().end()
        if first is not None:
            select.select([first], [], [], _GONE_SECONDS)
            os.close(first)

    def _first(self) -> int | None:
        """Return a descriptor of that process; None if it is gone, or there was none."""
        if self.told == -1:
            return None
        with os.fdopen(self.told, "rb") as pipe:
            self.told = -1
            text = pipe.read()  # comes to an end: bubblewrap writes and closes, or ends
        try:
            pid = int(json.loads(text)["child-pid"])
            inside = re.search(r"^NSpid:.*\t(\d+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
            return os.pidfd_open(pid) if inside and inside[1] == "1" else None
        except (ValueError, KeyError, OSError):
            return None


class Sleep:
    """Idle time of a process and its children since the start, without the time they waited for a CPU.

    Only those count that have started no others: who has, waits for them.
    """

    def __init__(self, pid: int):
        self.pid = pid
        self.disturbed()

    def disturbed(self) -> None:
        """Something came of it: begin anew, with the next look."""
        self._awake: dict[int, float] | None = None
        self._begun = 0.0

    def seconds(self) -> float:
        """So long at least each of them has slept; 0 at the first look, and where the kernel does not tell."""
        now, workers = time.monotonic(), [one for one in _descendants(self.pid) if not _descendants(one)]
        awake = {one: _awake_seconds(one) for one in workers}
        if self._awake is None or awake.keys() != self._awake.keys() or any(map(_waits_for_a_disk, workers)):
            self._awake, self._begun = awake, now
        return min((now - self._begun - (awake[one] - self._awake[one]) for one in awake), default=0.0)


def _waits_for_a_disk(pid: int) -> bool:
    """Return whether it cannot go on before some device has answered, as where memory is short."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "D"
    except (OSError, IndexError):
        return False


def _awake_seconds(pid: int) -> float:
    """Return how long a process has computed, or waited for a processor; if that is not known, it never sleeps."""
    try:
        computed, waited = map(int, Path(f"/proc/{pid}/schedstat").read_text().split()[:2])
    except (OSError, ValueError):
        return time.monotonic()
    return (computed + waited) / 1e9


def _descendants(pid: int) -> list[int]:
    """Children of `pid`, their children, and so on."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = [int(word) for word in file.read().split()]
    except OSError:
        return []
    return children + [grandchild for child in children for grandchild in _descendants(child)]
