"""The launch in progress: its memory, its program, and the line of the submission that it is at. One at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from checker.sandbox.inside.budget import work
from checker.sandbox.inside.memory import Memory
from checker.sandbox.protocol.records import OPERATION


class _Running:
    """The state of the launch, for the code in Triton's place."""

    def __init__(self) -> None:
        self.memory: Memory | None = None  # None: no launch is in progress
        self.program = 0
        self.filename = ""
        self.entered: dict[int, int] = {}  # bodies of the submission, and how often each was entered
        self.launched: dict[str, dict[str, Any]] = {}  # how a PyTorch program launches: `results.Launched`, as data
        self.loops: dict[int, int] = {}  # which of these are loops', and the lines where the loops begin

    def enter(self, body: int) -> None:
        """Count an entry into a body of the submission. Raises TooMuchWork."""
        self.entered[body] = self.entered.get(body, 0) + 1
        work.spend(OPERATION)

    def counted(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the items of a comprehension, each counted. Raises TooMuchWork."""
        for item in items:
            work.spend(OPERATION)
            yield item

    def where(self) -> tuple[int, int]:
        """(program, line of the submission that is being executed; 0 if there is none)."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self.filename:
            frame = frame.f_back  # type: ignore[assignment]
        return self.program, frame.f_lineno if frame is not None else 0

    def bodies(self) -> list[int]:
        """Numbers of the bodies that the last launch has entered."""
        return sorted(number for number in self.entered if type(number) is int)

    def busiest_loop(self) -> tuple[int, int]:
        """(line where it begins, how often it ran) of the loop that ran most often; zeros if none did."""
        often = max(self.loops, key=lambda body: self.entered.get(body, 0), default=None)
        return (0, 0) if often is None else (self.loops[often], self.entered.get(often, 0))

    def lost(self, way: int, line: int = 0) -> None:
        """Note one of WAYS to lose digits or bits, if a launch is in progress."""
        if self.memory is not None:
            self.memory.lost(way, line)


running = _Running()


def memory() -> Memory:
    """The memory of the launch in progress."""
    if running.memory is None:
        raise RuntimeError("memory was touched outside a launch")
    return running.memory
