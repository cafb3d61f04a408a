"""Files visible inside a cage: the system's programs and libraries, Python, NumPy, Triton, the sandbox's own code.

Everything is named; nothing else of the disk is there. Homes, courses, keys, solutions and tests are
not hidden but absent, unless they lie inside something that is needed: then they are covered.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

CODE = "/code"  # where the sandbox's own modules stand inside
SCRATCH = "/tmp"  # home, working directory and cache, in memory; gone with the cage
_SCRATCH_BYTES = 256 << 20
_SHARED_MEMORY_BYTES = 64 << 20
_CHECKER = Path(__file__).parents[2]
_ROOT = _CHECKER.parent
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = ("/etc/ld.so.cache", "/etc/alternatives")


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
