"""What stands in for Triton's binary where there is none: a browser, macOS, Windows.

The interpreter is Python and NumPy. Of the compiler it only names things: types of MLIR, kinds of caches, passes. So an
attribute of the stand-in is its own name as a text. What a kernel does, it does not touch; what a compiler would say of
it, nobody says.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

CARRIED = Path(__file__).parents[1] / "carried" / "python"  # Triton's Python files, in a wheel of the course
_BINARY = "triton._C.libtriton"
_PARTS = ("ir", "interpreter", "gluon_ir", "passes", "llvm", "nvidia", "amd", "proton", "linear_layout")


class _Names(type):
    """A class each of whose attributes is a text, its own name."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return f"{cls.__name__}.{name}"


class _Part(ModuleType):
    """A module that has every name: as a class of names."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _Names(name, (), {})
        setattr(self, name, made)
        return made


@cache
def needed() -> bool:
    """Whether Triton is not installed here, but the course carries its Python files."""
    return find_spec("triton") is None and CARRIED.is_dir()


def install() -> None:
    """Let `import triton` find the stand-in. Call it before that; Triton's Python files are needed all the same."""
    binary = _Part(_BINARY)
    for name in _PARTS:
        part = _Part(f"{_BINARY}.{name}")
        setattr(binary, name, part)
        sys.modules[part.__name__] = part
    binary.getenv = os.environ.get  # type: ignore[attr-defined]
    binary.getenv_bool = _flag  # type: ignore[attr-defined]
    binary.get_cache_invalidating_env_vars = dict  # type: ignore[attr-defined]
    sys.modules[_BINARY] = binary


def _flag(name: str, default: bool = False) -> bool:
    value = os.environ.get(name)
    return default if value is None else value.lower() in ("1", "true", "on", "yes")
