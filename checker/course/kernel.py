"""A kernel that a puzzle asks for, and what marks one that is still to be written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

GAP = "FILL IN"  # marks in a stub what is left to write


@dataclass(frozen=True)
class Kernel:
    """A kernel the student writes: its name and parameters in order."""

    name: str
    parameters: tuple[str, ...]
    constexprs: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()  # kernels that the lesson shows whole: none of them is this one under another name
    pytorch: bool = False  # a plain function of tensors, which is called once and returns its outputs
    launches: tuple[str, ...] = ()  # kernels of other puzzles, each of which it launches once
    atomics: bool = False  # its programs may wait for each other: `while`, and atomic operations on scratch tensors

    @property
    def signature(self) -> str:
        """The `def` line's parentheses, as in the stub."""
        return ", ".join(f"{p}: tl.constexpr" if p in self.constexprs else p for p in self.parameters)


def kernel_of(name: str, *parameters: str, constexprs: str, **more: Any) -> Kernel:
    """Return a kernel whose parameters are the words of some texts, with its constexprs behind them; `more`: other
    fields.
    """
    words = constexprs.split()
    return Kernel(name, (*" ".join(parameters).split(), *words), (*words,), **more)
