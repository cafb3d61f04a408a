"""A stand-in for Triton's binary where there is none: a browser, macOS, Windows, and Linux with LIGHT=1.

The interpreter is Python and NumPy. Of the compiler it only names things: types of MLIR, kinds of caches, passes. So an
attribute of the stand-in is its own name as a text. What a kernel does, it does not touch; what a compiler would say of
it, nobody says.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZipFile

from checker.sandbox.processes import TooLittle

CARRIED = Path(__file__).parents[1] / "carried" / "python"  # Triton's Python files, in a wheel of the course
FETCHED = Path(__file__).parents[2] / "build" / "triton"  # the same, in a clone of it
_PLATFORMS = ("manylinux_2_27_x86_64", "manylinux_2_28_x86_64")  # of that wheel, whatever runs here
_BINARY = "triton._C.libtriton"


class _Names(type):
    """A class each of whose attributes is a text, its own name."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return f"{cls.__name__}.{name}"


class _Part(ModuleType):
    """A module of the binary. It has every name, as a class of names."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _Names(name, (), {})
        setattr(self, name, made)
        return made


class _Parts(Loader, MetaPathFinder):
    """Makes any module of the binary that is imported."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname.startswith(f"{_BINARY}.") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Part(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing in it to run."""


class _Binary(ModuleType):
    """The binary, whose every name is one of its modules."""

    def __getattr__(self, name: str) -> ModuleType:
        if name.startswith("__"):
            raise AttributeError(name)
        return import_module(f"{_BINARY}.{name}")


@cache
def needed() -> bool:
    """Return whether kernels run on Triton's Python files alone: where it has no wheel, or if LIGHT=1 asks for that."""
    there = CARRIED.is_dir() or FETCHED.is_dir() or sys.platform != "linux"
    return os.environ.get("LIGHT") == "1" or (find_spec("triton") is None and there)


def python_files() -> Path:
    """Return the folder of Triton's Python files; in a clone they are fetched once. Raises TooLittle."""
    if CARRIED.is_dir() or find_spec("triton") is not None:
        return CARRIED
    if not FETCHED.is_dir():
        print("Fetching Triton for its Python files: 190 MB, of which 1 MB stays. This happens once.", file=sys.stderr)
        try:
            _fetch(FETCHED)
        except OSError as error:
            raise TooLittle(f"Triton's Python files could not be fetched: {error}") from error
    return FETCHED


def _fetch(place: Path) -> None:
    """Download the pinned wheel for Linux, keep its Python files and its licence, and delete it. OSError."""
    lock = (place.parents[1] / "locks" / "check.txt").read_text(encoding="utf-8")
    [pinned] = re.findall(r"^triton==(?:.*\\\n)*.*", lock, re.MULTILINE)
    place.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        pin, kept = Path(folder, "pin.txt"), Path(folder, "kept")
        pin.write_text(re.sub(r" ;.*", r" \\", pinned, count=1), encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
        pip += ["--require-hashes", "--only-binary=:all:", *(f"--platform={one}" for one in _PLATFORMS)]
        done = subprocess.run([*pip, "-d", folder, "-r", pin], capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(done.stderr.strip().rpartition("\n")[2])
        [wheel] = Path(folder).glob("triton-*.whl")
        with ZipFile(wheel) as packed:
            wanted = re.compile(r"^triton/.*\.py$|/LICENSE$")
            packed.extractall(kept, [name for name in packed.namelist() if wanted.search(name)])
        if not place.is_dir():  # else another check was faster
            kept.rename(place)


def install() -> None:
    """Let `import triton` find the stand-in. Call it before that; Triton's Python files are needed all the same."""
    sys.meta_path.append(_Parts())
    binary = _Binary(_BINARY)
    binary.__path__ = []  # so that it may have modules
    binary.getenv = os.environ.get  # type: ignore[attr-defined]
    binary.getenv_bool = _flag  # type: ignore[attr-defined]
    binary.get_cache_invalidating_env_vars = dict  # type: ignore[attr-defined]
    sys.modules[_BINARY] = binary


def _flag(name: str, default: bool = False) -> bool:
    value = os.environ.get(name)
    return default if value is None else value.lower() in ("1", "true", "on", "yes")
