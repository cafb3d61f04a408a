"""The language of a program, and the text that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from checker.course.kernel import Kernel


@dataclass(frozen=True)
class Language:
    """One of the two languages of the course."""

    title: str
    module: str  # what must be imported
    name: str  # and under which name
    line: str  # the stub's line for it
    word: str  # for what is written in it
    decorator: str = ""  # what stands above each function, and nothing else
    layout: str = "Write def on a line of its own, and the body below."
    launches: tuple[str, ...] = ()  # kernels of other puzzles that are imported, and launched


TRITON = Language(
    title="Triton's language",
    module="triton.language",
    name="tl",
    line="import triton.language as tl",
    word="kernel",
    decorator="@triton.jit",
    layout="Write @triton.jit on a line of its own, def on the next one, and the body below.",
)
PYTORCH = Language(title="PyTorch", module="torch", name="torch", line="import torch", word="function")


def language_of(asked: Sequence[Kernel]) -> Language:
    """Return what the kernels of a puzzle are written in."""
    if not any(kernel.pytorch for kernel in asked):
        return TRITON
    return replace(PYTORCH, launches=tuple(name for kernel in asked for name in kernel.launches))
