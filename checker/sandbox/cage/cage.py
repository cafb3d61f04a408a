"""The cage of grading: bubblewrap around every process that sees a submission.

Tier A: root starts bubblewrap, which becomes an unprivileged user of its own inside (`slots`).
Tier B: an ordinary user starts bubblewrap, in a user namespace.
A cage is granted only after a process inside has looked around and found it closed (`probe`); there is
no way from one tier to a weaker one. A cage that fails later fails the check, not the submission.

In tier A root sets up the mounts and the user changes afterwards, inside, so that Python may lie in a
folder that is closed to others (root's home), and so that hosts which forbid user namespaces can grade.

All that is visible inside is named: the system's programs and libraries, Python, NumPy, Triton, the sandbox's own code.
Homes, courses, keys, solutions and tests are not hidden but absent, unless they lie inside something that is needed:
then they are covered.
"""

from __future__ import annotations

import atexit
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from checker.sandbox.cage import slots
from checker.sandbox.inside import seccomp
from checker.sandbox.processes import Caged, Started, command_of, environment, in_memory

_APART = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
_CLOSED = ("--die-with-parent", "--new-session", "--cap-drop", "ALL")
_TO_CHANGE_USER = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")  # dropped with the change
_PROBE_SECONDS = 60
_proven: set[str] = set()  # tiers that a probe of this process has found closed
CODE = "/code"  # where the sandbox's own modules stand inside
SCRATCH = "/tmp"  # home, working directory and cache, in memory; gone with the cage
_SCRATCH_BYTES = 256 << 20
_SHARED_MEMORY_BYTES = 64 << 20
_CHECKER = Path(__file__).parents[2]
_ROOT = _CHECKER.parent
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = ("/etc/ld.so.cache", "/etc/alternatives")


class NoCage(Exception):
    """Nothing that would hold a submission: what is missing, in sentences."""


@dataclass(frozen=True)
class Cage:
    """A submission's cage in grading. Use as a context manager, or `close` it."""

    tier: str
    bwrap: str
    slot: slots.Slot | None = None  # in tier A

    def described(self) -> str:
        """For the record of a result."""
        user = "a user of its own" if self.slot else "user namespace"  # not which: results do not depend on it
        return f"{self.tier}: bubblewrap, {user}, system-call filter"

    def start(
        self,
        module: str,
        arguments: Sequence[Any],
        variables: dict[str, str],
        pass_fds: Sequence[int] = (),
        **streams: Any,
    ) -> Started:
        """Start `module`'s main inside."""
        shown = view()
        closed = environment(SCRATCH) | {"LD_LIBRARY_PATH": shown.libraries} | variables
        command = [shown.executable, *command_of(module, *arguments, path=shown.path)[1:]]
        told, tell = os.pipe()
        try:
            with in_memory(seccomp.cage_program(platform.machine())) as rules:
                child = Caged(
                    [*self._wrapped(shown, rules, tell), *command],
                    cwd="/",
                    env=closed,
                    pass_fds=(*pass_fds, rules, tell),
                    start_new_session=True,
                    **streams,
                )
        except BaseException:
            os.close(told)
            raise
        finally:
            os.close(tell)
        child.told = told
        return child

    def _wrapped(self, shown: View, rules: int, tell: int) -> list[str]:
        """Return what stands before the command that runs inside."""
        command = [self.bwrap, *_APART, *_CLOSED, *shown.arguments, "--seccomp", str(rules), "--info-fd", str(tell)]
        if self.slot is None:
            return [*command, "--unshare-user", "--disable-userns", "--"]
        for capability in _TO_CHANGE_USER:
            command += ["--cap-add", capability]
        user = str(self.slot.uid)
        change = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"]
        change += ["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--no-new-privs"]
        return [*command, "--", *change]

    def close(self) -> None:
        """Give the slot back."""
        if self.slot is not None:
            self.slot.release()

    def __enter__(self) -> Cage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def claim() -> Cage:
    """Return a cage of the one tier that this user can have; NoCage if it does not hold here."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise NoCage("bubblewrap is not installed (the package is called bubblewrap).")
    if not seccomp.available():
        raise NoCage("This kernel, or this kind of machine, has no system-call filters (seccomp).")
    root = os.geteuid() == 0
    if root and shutil.which("setpriv", path="/usr/bin:/bin") is None:
        raise NoCage("setpriv is not installed (the package is called util-linux).")
    try:
        cage = Cage("A", bwrap, slots.claim()) if root else Cage("B", bwrap)
    except slots.NoSlot as reason:
        raise NoCage(str(reason)) from reason
    if cage.tier not in _proven:
        try:
            _prove(cage)
        except BaseException:
            cage.close()
            raise
        _proven.add(cage.tier)
    return cage


@cache
def held() -> Cage:
    """Return one cage for all that this process checks. Raises NoCage."""
    cage = claim()
    atexit.register(cage.close)
    return cage


def _prove(cage: Cage) -> None:
    """Let a process inside look around. Raises NoCage unless everything is as it must be."""
    try:
        forbidden = must_not_be_seen(view())
        child = cage.start(
            "checker.sandbox.inside.probe",
            [forbidden],
            {},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except (OSError, TooMuchVisible) as reason:
        raise NoCage(f"bubblewrap cannot be started: {reason}") from reason
    try:
        output, complaint = child.communicate(timeout=_PROBE_SECONDS)
        facts = json.loads(output)
    except subprocess.TimeoutExpired as reason:
        raise NoCage("bubblewrap does not finish here.") from reason
    except ValueError as reason:
        lines = complaint.decode(errors="replace").strip().splitlines() or ["it ends without a word"]
        sentence = f"bubblewrap does not work here: {lines[-1].removeprefix('bwrap: ').rstrip('.')}."
        if cage.slot and "Permission denied" in lines[-1]:
            sentence += " Others than you must be able to read Python and the checker: chmod -R o+rX on their folders."
        raise NoCage(sentence) from reason
    finally:
        child.end()
        for stream in (child.stdout, child.stderr):
            if stream is not None:
                stream.close()
    if holes := list(_holes(cage, facts)):
        raise NoCage(f"bubblewrap does not close off what runs in it: {'; '.join(holes)}.")


def _holes(cage: Cage, facts: dict[str, Any]) -> Iterator[str]:
    """Yield what the probe found open."""
    if facts["uid"] != (cage.slot.uid if cage.slot else os.getuid()):
        yield f"its user is {facts['uid']}"
    for name in ("capabilities", "new namespaces"):
        if facts[name]:
            yield f"it has {name}"
    for name in ("no new privileges", "cage filter", "child filter"):
        if not facts[name]:
            yield f"it lacks {name}"
    if facts["network"]:
        yield f"it has a network ({', '.join(facts['network'])})"
    if facts["seen"]:
        yield f"it sees {', '.join(facts['seen'])}"
    if facts["processes"] > 2:  # bubblewrap's own, and the probe
        yield "it sees other processes"


class TooMuchVisible(Exception):
    """Python lies in such a place that more would be seen than may be: a sentence."""


@dataclass(frozen=True)
class View:
    """Files that bubblewrap is told to show, and the path for Python in there."""

    arguments: list[str]
    executable: str
    path: list[str]
    libraries: str  # LD_LIBRARY_PATH


def view() -> View:
    """Return what a cage shows."""
    executable = Path(sys.executable).resolve()
    libraries = [Path(p) for p in os.environ.get("LD_LIBRARY_PATH", "").split(":") if p.startswith("/")]
    libraries = [p for p in libraries if p.is_dir() and not any(_inside(secret, p) for secret in _secrets())]
    needed = [Path(sys.base_prefix), *_packages(), *libraries]
    if not _inside(executable, Path(sys.base_prefix).resolve()):
        needed.append(executable)
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM:
        if (link := Path("/", name)).is_symlink():
            arguments += ["--symlink", str(link.readlink()), str(link)]
        elif link.is_dir():
            arguments += ["--ro-bind", str(link), str(link)]
    for name in _ETC:
        arguments += [*_folders(Path(name)), "--ro-bind-try", name, name]
    arguments += ["--proc", "/proc", "--dev", "/dev"]
    arguments += ["--perms", "1777", "--size", str(_SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm"]
    arguments += ["--remount-ro", "/dev"]  # or else it could be filled
    arguments += ["--perms", "1777", "--size", str(_SCRATCH_BYTES), "--tmpfs", SCRATCH]
    arguments += _shown(needed)
    arguments += _folders(Path(CODE, "checker", "sandbox", "inside"))
    for part in ("__init__.py", "sandbox/__init__.py", "sandbox/protocol", "sandbox/inside"):
        arguments += ["--ro-bind", str(_CHECKER / part), f"{CODE}/checker/{part}"]
    arguments += ["--remount-ro", "/", "--chdir", SCRATCH]
    seen = [*needed, Path("/usr")]
    path = [p for p in sys.path if p and Path(p).resolve() != _ROOT and any(_inside(Path(p), s) for s in seen)]
    return View(arguments, str(executable), [*path, CODE], ":".join(map(str, libraries)))


def must_not_be_seen(shown: View) -> list[str]:
    """Return paths that must stay invisible: the neighbours of the folders that lead to visible ones."""
    named = {Path(word) for word in shown.arguments if word.startswith("/")}
    leading = {folder for path in named for folder in (path, *path.parents)}
    beside = ["/etc/passwd"]
    for folder in (Path("/"), *_secrets()):
        # The checker may be one package among others: then its folder is shown.
        if os.access(folder, os.R_OK | os.X_OK) and (folder == Path("/") or folder not in named):
            beside += [str(path) for path in folder.iterdir() if path not in leading]
    return beside


def _packages() -> list[Path]:
    """Return the folders that hold what the sandbox imports."""
    folders = []
    for name in ("numpy", "triton", "torch"):
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            folders.append(Path(spec.origin).parents[1])
        elif name != "torch":  # few puzzles need it
            raise TooMuchVisible(f"{name} cannot be found.")
    return folders


def _secrets() -> list[Path]:
    """Return what must not be seen, wherever Python lies: the course's own folder and the home folder."""
    home = os.path.expanduser("~")  # noqa: PTH111 (Path.home() raises where nobody has said)
    return [_ROOT.resolve(), *([Path(home).resolve()] if home.startswith("/") else [])]


def _shown(needed: list[Path]) -> list[str]:
    """Arguments that show each of `needed` and cover secrets that would be seen with them."""
    binds = {p for path in needed for p in (path, path.resolve())}
    home = _secrets()[1:]
    if Path("/") in binds or binds.intersection(home):
        raise TooMuchVisible(f"Python's own folder, {sys.base_prefix}, holds more than Python: use a Python elsewhere.")
    covers = {secret for secret in _secrets() if secret not in binds}
    showing = {Path("/usr"): True}  # what was mounted so far, and whether the disk is seen through it
    arguments = []
    for path in sorted(binds | covers, key=lambda p: len(p.parts)):
        nearest = next((p for p in (path, *path.parents) if p in showing), None)
        seen = nearest is not None and showing[nearest]
        if path in covers and seen:
            arguments += ["--perms", "0755", "--tmpfs", str(path)]
            showing[path] = False
        elif path in binds and not seen:
            arguments += [*_folders(path), "--ro-bind", str(path.resolve()), str(path)]
            showing[path] = True
    return arguments


def _folders(path: Path) -> list[str]:
    """Arguments that make the folders above `path`: bubblewrap would copy the modes of those outside."""
    return [word for p in reversed(path.parents) if p != Path("/") for word in ("--perms", "0755", "--dir", str(p))]


def _inside(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents
