"""What stands in for Triton's binary where there is none: a browser, macOS, Windows.

The interpreter is Python and NumPy. Of the compiler it only names things: types of MLIR, kinds of caches, passes. So an
attribute of the stand-in is its own name as a text. What a kernel does, it does not touch; what a compiler would say of
it, nobody says.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

CARRIED = Path(__file__).parents[1] / "carried" / "python"  # Triton's Python files, in a wheel of the course
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
    """Whether Triton is not installed here, but the course carries its Python files."""
    return find_spec("triton") is None and CARRIED.is_dir()


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
